package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationconfig"
	"github.com/ration-go/ration/rationconfig/strict"
	"github.com/ration-go/ration/rationsim"
)

func TestScenario(t *testing.T) {
	const text = `
name: x
duration: 1m
rate: 12.5
seed: 4
dependency:
  latency: {p50: 1ms, p99: 2ms}
  failureRate: 3%
  brownouts: [{from: 0s, for: 1s, slower: 2}, {from: 2s, for: 3s, slower: 1.5}]
  outages: [{from: 4s, for: 5s}]
  concurrency: 6
  queue: 7
policies:
- name: a
  attempts: 1
- name: b
  budget: {enabled: false}
`
	got, err := readScenario("f.yaml", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(4)
	want := &comparison{
		scenario: rationsim.Scenario{
			Name: "x", Duration: time.Minute, Rate: 12.5,
			Dependency: rationsim.Dependency{
				Latency:     rationsim.Latency{P50: time.Millisecond, P99: 2 * time.Millisecond},
				FailureRate: 0.03,
				Brownouts: []rationsim.Brownout{
					{From: 0, For: time.Second, Slower: 2}, {From: 2 * time.Second, For: 3 * time.Second, Slower: 1.5},
				},
				Outages:     []rationsim.Outage{{From: 4 * time.Second, For: 5 * time.Second}},
				Concurrency: 6,
				Queue:       7,
			},
		},
		configs: []rationsim.Config{
			{Name: "a", Policy: ration.Policy{Name: "a", Attempts: 1}},
			{Name: "b", Policy: ration.Policy{Name: "b", Budget: ration.NoBudget}},
		},
		seed: &seed,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// TestScenarioDefaults: what a scenario may leave out.
func TestScenarioDefaults(t *testing.T) {
	got, err := readScenario("/tmp/storm.test.yaml", strings.NewReader(tiny))
	if err != nil {
		t.Fatal(err)
	}
	if got.scenario.Name != "storm.test" || got.seed != nil {
		t.Errorf("name %q, seed %v", got.scenario.Name, got.seed)
	}
	want := []rationsim.Config{
		{Name: "no budget", Policy: ration.Policy{Budget: ration.NoBudget}},
		{Name: "budget"},
	}
	if !reflect.DeepEqual(got.configs, want) {
		t.Errorf("policies %+v", got.configs)
	}
}

// TestScenarioJSON: the same scenario in JSON is the same scenario.
func TestScenarioJSON(t *testing.T) {
	const text = `{
	"name": "tiny", "duration": "2s", "rate": 50,
	"dependency": {"latency": {"p50": "10ms", "p99": "20ms"}, "failureRate": 0.5},
	"policies": [{"name": "a", "budget": {"fraction": "20%"}}]
}`
	fromJSON, err := readScenario("a.json", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	fromYAML, err := readScenario("a.yaml", strings.NewReader("name: tiny\nduration: 2s\nrate: 50\n"+
		"dependency:\n  latency:\n    p50: 10ms\n    p99: 20ms\n  failureRate: 50%\n"+
		"policies:\n- name: a\n  budget:\n    fraction: 0.2\n"))
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprintf("%+v", fromJSON.scenario) != fmt.Sprintf("%+v", fromYAML.scenario) ||
		fromJSON.configs[0].Policy.Budget.Fraction() != 0.2 ||
		fromYAML.configs[0].Policy.Budget.Fraction() != 0.2 {
		t.Errorf("got %+v and %+v", fromJSON, fromYAML)
	}
}

// base is a scenario in order, to which tests add what is not. It has 6 lines.
const base = `duration: 1m
rate: 50
dependency:
  latency:
    p50: 10ms
    p99: 20ms
`

// TestBadScenarios: every fault has its line, its key, and what is allowed instead;
// standard error gets one line, the exit status is 2 and nothing is simulated.
func TestBadScenarios(t *testing.T) {
	const (
		needDuration = "duration: is missing; say how long calls arrive, such as 5m"
		needRate     = "rate: is missing; say how many calls arrive a second, such as 500"
		needLatency  = "dependency.latency: is missing; say how fast it is, such as {p50: 20ms, p99: 200ms}"
		noDuration   = " is not a duration such as 250ms, above 0"
		idle         = "has no effect beside enabled: false; remove one of them"
	)
	policy := func(text string) string { return base + "policies:\n- name: a\n  " + text + "\n" }
	tests := []struct {
		name, text string
		want       []string // without the name of the file
	}{
		{"nothing known", "{}", []string{"1: " + needDuration, "1: " + needRate, "1: " + needLatency}},
		{"a list", "- a", []string{"1: a list is not a mapping with the keys name, duration, rate, seed, " +
			"dependency, policies, question, entries, services, variants"}},
		{"no latency", "rate: 1\nduration: 1s\ndependency: {}", []string{"3: " + needLatency}},
		{"one latency", "rate: 1\nduration: 1s\n\ndependency:\n  latency: {p50: 1s}", []string{
			"5: dependency.latency.p99: is missing; say how long 99 of 100 attempts take at most"}},
		{"no value", "rate: 1\nduration:\ndependency: {latency: {p50: 1s, p99: 1s}}", []string{
			"2: duration: has no value; give it one or remove the key"}},

		{"unknown keys", base + "dependencys: {}\npolicies: [{name: a, retries: 3}]", []string{
			"7: dependencys: is no key here; did you mean dependency?",
			"8: policies[0].retries: is no key here; allowed are name, preset, attempts, deadline, attemptTimeout, " +
				"ceiling, backoff, budget, breaker"}},
		{"negative rate", "rate: -1\nduration: 1s\ndependency: {latency: {p50: 1s, p99: 1s}}", []string{
			"1: rate: -1 is not a number above 0"}},
		{"rate of zero", "rate: 0\nduration: 1s\ndependency: {latency: {p50: 1s, p99: 1s}}", []string{
			"1: rate: 0 is not a number above 0"}},
		{"no number", "rate: .nan\nduration: .inf\ndependency: {latency: {p50: NaN, p99: 1s}}", []string{
			"1: rate: .nan is not a number above 0", "2: duration: .inf" + noDuration,
			"3: dependency.latency.p50: NaN" + noDuration}},
		{"too many calls", "rate: 1e6\nduration: 100h\ndependency: {latency: {p50: 1s, p99: 1s}}", []string{
			"1: rate: 1e+06 for 100h0m0s is more than 50000000 calls"}},
		{"quantiles crossed", "rate: 1\nduration: 1s\ndependency:\n  latency:\n    p50: 2s\n    p99: 1s", []string{
			"6: dependency.latency.p99: 1s is below p50 2s"}},
		{"seed", base + "seed: -1", []string{
			"7: seed: -1 is not a whole number from 0 up to 9007199254740991"}},
		{"shares", strings.Replace(base, "  latency", "  failureRate: 101%\n  latency", 1), []string{
			"4: dependency.failureRate: 101% is not a share such as 0.1 or 10%, from 0 up to 1"}},
		{"queue alone", strings.Replace(base, "  latency", "  queue: 5\n  latency", 1), []string{
			"4: dependency.queue: 5 has no effect without a concurrency"}},
		{"concurrency", strings.Replace(base, "  latency", "  concurrency: 20000000\n  latency", 1), []string{
			"4: dependency.concurrency: 20000000 is not a whole number from 0 up to 10000000"}},
		{"brownouts", strings.Replace(base, "  latency", "  brownouts:\n  - {for: 0s, slower: 0.5}\n"+
			"  - {from: -1s, for: 1s}\n  latency", 1), []string{
			"5: dependency.brownouts[0].for: 0s" + noDuration,
			"5: dependency.brownouts[0].slower: 0.5 is not a number from 1 up to 1000000",
			"5: dependency.brownouts[0].from: is missing; say when it begins, such as 30s",
			"6: dependency.brownouts[1].from: -1s is not a duration such as 250ms, from 0",
			"6: dependency.brownouts[1].slower: is missing; say how many times slower, such as 8"}},
		{"outage", strings.Replace(base, "  latency", "  outages: [{}]\n  latency", 1), []string{
			"4: dependency.outages[0].from: is missing; say when it begins, such as 30s",
			"4: dependency.outages[0].for: is missing; say how long it lasts, such as 1m"}},
		{"too late", strings.Replace(base, "  latency", "  outages: [{from: 60s, for: 1s}]\n"+
			"  brownouts: [{from: 1h, for: 1s, slower: 2}]\n  latency", 1), []string{
			"4: dependency.outages[0].from: 1m is not before the end of the run at 1m",
			"5: dependency.brownouts[0].from: 1h is not before the end of the run at 1m"}},

		{"names", "name: ' x'\n" + base + "policies:\n- name: a\n- name: \"\\e[31m\"\n- name: a\n- name: ''\n- name: " +
			strings.Repeat("x", 41), []string{
			`1: name: " x" is empty or has space around it`,
			`10: policies[1].name: "\x1b[31m" holds what cannot be printed`,
			`11: policies[2].name: "a" is also that of policies[0]; change one`,
			`12: policies[3].name: "" is empty or has space around it`,
			`13: policies[4].name: is longer than 40 characters`}},
		{"no name", base + "policies:\n- attempts: 1\n- {}", []string{
			"8: policies[0].name: is missing; it heads the column of the table",
			"9: policies[1].name: is missing; it heads the column of the table"}},
		{"no policies", base + "policies: []", []string{
			"7: policies: is an empty list; name at least one, or leave the key out to compare the default " +
				"policy with and without a budget"}},
		{"policies are no list", base + "policies: {name: a}", []string{"7: policies: a mapping is not a list"}},
		{"a policy is no mapping", base + "policies: [budget]", []string{
			"7: policies[0]: budget is not a mapping with the keys name, preset, attempts, deadline, attemptTimeout, " +
				"ceiling, backoff, budget, breaker"}},

		{"attempts", policy("attempts: 0"), []string{"9: policies[0].attempts: 0 is not a whole number from 1"}},
		{"deadline", policy("deadline: -1s"), []string{
			"9: policies[0].deadline: -1s is not a duration above 0, such as 250ms, or none"}},
		{"fraction", policy("budget: {fraction: 2, minimumPerSecond: -1}"), []string{
			"9: policies[0].budget.fraction: 2 is not a share such as 0.1 or 10%, above 0 up to 1",
			"9: policies[0].budget.minimumPerSecond: -1 is not a number from 0 up to 100000000"}},
		{"jitter", policy("backoff: {jitter: some}"), []string{
			"9: policies[0].backoff.jitter: some is not full, equal or none"}},
		{"trip", policy("breaker: {consecutiveFailures: 0}"), []string{
			"9: policies[0].breaker.consecutiveFailures: 0 is not a whole number from 1, or none"}},
		{"switched off", policy("budget: {enabled: false, fraction: 0.1}\n  breaker: {enabled: false, probes: 1}\n" +
			"  backoff: {measured: {enabled: false, spread: 2}}"), []string{
			"9: policies[0].budget.fraction: " + idle,
			"10: policies[0].breaker.probes: " + idle,
			"11: policies[0].backoff.measured.spread: " + idle}},
		{"nothing trips", policy("breaker:\n    consecutiveFailures: none\n    window: 1s\n    minimumCalls: 5"), []string{
			"10: policies[0].breaker.consecutiveFailures: none needs a failureRatio, since nothing else trips the " +
				"breaker; for no breaker write enabled: false",
			"11: policies[0].breaker.window: has no effect without a failureRatio; add one or remove it",
			"12: policies[0].breaker.minimumCalls: has no effect without a failureRatio; add one or remove it"}},
		{"what the core says", policy("attemptTimeout: 40ms\n  ceiling:\n    floor: 50ms\n" +
			"  breaker:\n    break: 2s\n    maxBreak: 1s\n    window: 1ms\n    failureRatio: 0.5"), []string{
			"11: policies[0].ceiling.floor: 50ms is not below attemptTimeout 40ms, so the ceiling can never bind",
			"14: policies[0].breaker.maxBreak: 1s is below break 2s",
			"15: policies[0].breaker.window: 1ms is below 10ms"}},
	}
	t.Chdir(t.TempDir())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.WriteFile("f.yaml", []byte(tt.text), 0o666); err != nil {
				t.Fatal(err)
			}
			_, err := openScenario("f.yaml", nil)
			var all *strict.Error
			if !errors.As(err, &all) {
				t.Fatalf("got %v", err)
			}
			var got []string
			for _, p := range all.Problems {
				got = append(got, strings.TrimPrefix(p.String(), "f.yaml:"))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
			want := "f.yaml:" + tt.want[0]
			if n := len(tt.want) - 1; n > 0 {
				want += fmt.Sprintf(" (and %d more)", n)
			}
			out, stderr, code := console(t, "", "simulate", "f.yaml")
			if out != "" || stderr != want+"\n" || code != statusUnusable {
				t.Errorf("%d, %q, %q", code, out, stderr)
			}
		})
	}
}

// TestEveryKey: the help and the page of the documentation show every key, and
// testdata/everything.yaml sets each.
func TestEveryKey(t *testing.T) {
	text := map[string]string{"help": page("scenario")}
	for _, file := range []string{"testdata/everything.yaml", "../../docs/scenario.md"} {
		read, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text[filepath.Base(file)] = string(read)
	}
	several, err := os.ReadFile("testdata/topology.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text["everything.yaml"] += string(several)
	for name, text := range text {
		for _, key := range keysOf(reflect.TypeFor[scenarioFile]()) {
			if key == "shared" {
				continue // names what only a file of policies has
			}
			if !regexp.MustCompile(`\b` + key + `\b`).MatchString(text) {
				t.Errorf("%s does not have the key %s", name, key)
			}
		}
	}
}

// keysOf returns the keys of a struct and of all below it.
func keysOf(s reflect.Type) (keys []string) {
	for i := range s.NumField() {
		f := s.Field(i).Type
		for f.Kind() == reflect.Pointer || f.Kind() == reflect.Slice {
			f = f.Elem()
		}
		if !s.Field(i).Anonymous {
			keys = append(keys, strict.Key(s.Field(i).Name))
		}
		if _, scalar := reflect.New(f).Interface().(strict.Scalar); f.Kind() == reflect.Struct && !scalar {
			keys = append(keys, keysOf(f)...)
		}
	}
	return keys
}

// TestHelpScenario: the example in the help is a scenario, and the defaults that it
// lists are the defaults.
func TestHelpScenario(t *testing.T) {
	var yaml [4]string
	n := -1
	inside := false
	for line := range strings.Lines(page("scenario")) {
		text, indented := strings.CutPrefix(line, "  ")
		if indented && !inside {
			n++
		}
		if inside = indented; inside {
			yaml[n] += text
		}
	}
	services := strings.ReplaceAll(yaml[2], "policyFile: policies.yaml", "policyFile: testdata/policies/policies.yaml")
	for _, text := range []string{yaml[0], services} {
		if _, err := readScenario("help", strings.NewReader(text)); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
	}
	var defaults rationconfig.Policy
	// A switched-off section does not take settings; here they are for show.
	d, err := strict.Read("help", strings.NewReader(strings.ReplaceAll(yaml[1], "enabled: false", "enabled: true")))
	if err != nil {
		t.Fatal(err)
	}
	d.Decode(&defaults)
	if err := d.Err(); err != nil {
		t.Fatalf("%v in\n%s", err, yaml[1])
	}
	got, err := defaults.Build()
	if err != nil {
		t.Fatal(err)
	}
	want := resolved(ration.Policy{})
	if got.Attempts != want.Attempts || got.Deadline != want.Deadline || got.AttemptTimeout != want.AttemptTimeout ||
		*got.Ceiling != *want.Ceiling || got.Budget.Fraction() != want.Budget.Fraction() ||
		got.Budget.MinimumPerSecond() != want.Budget.MinimumPerSecond() {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if got.Backoff.Transient != want.Backoff.Transient || got.Backoff.Throttled != want.Backoff.Throttled ||
		got.Backoff.Factor != want.Backoff.Factor || got.Backoff.Max != want.Backoff.Max {
		t.Errorf("got %+v\nwant %+v", got.Backoff, want.Backoff)
	}
}

// TestDocumentedYAML: what docs/scenario.md shows as YAML can be read.
func TestDocumentedYAML(t *testing.T) {
	text, err := os.ReadFile("../../docs/scenario.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range regexp.MustCompile("(?s)( *)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		part := strings.ReplaceAll("\n"+m[2], "\n"+m[1], "\n")
		if _, err := readScenario("docs", strings.NewReader(base+part)); err != nil {
			t.Errorf("%v in%s", err, part)
		}
		n++
	}
	if n == 0 {
		t.Error("there is none")
	}
}

// FuzzScenario: whatever the file, it is either refused with problems on its lines or
// it is one that the simulator takes.
func FuzzScenario(f *testing.F) {
	for _, file := range []string{"testdata/everything.yaml", "testdata/manual/checkout.yaml", "testdata/manual/wrong.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add(tiny)
	f.Add(base + "policies:\n- &a {name: a, breaker: {}}\n- {<<: *a, name: b, budget: {fraction: 10%}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := readScenario("f.yaml", strings.NewReader(text))
		var refused *strict.Error
		if err != nil {
			if !errors.As(err, &refused) {
				t.Fatalf("%T: %v", err, err)
			}
			for _, p := range refused.Problems {
				if p.Line < 1 && len(text) < 1<<20 || p.Line > 1+strings.Count(text, "\n")+strings.Count(text, "\r") ||
					strings.ContainsAny(p.String(), "\n\r\x1b") {
					t.Errorf("%q", p.String())
				}
			}
			return
		}
		if err := c.scenario.Check(); err != nil {
			t.Error(err)
		}
		for _, config := range c.configs {
			if _, err := ration.New(config.Policy); err != nil {
				t.Error(err)
			}
		}
	})
}
