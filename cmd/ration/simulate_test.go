package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ration-go/ration/rationsim"
)

// goldens are whole outputs of the program, by file. The preset trade is in the
// manual.
var goldens = map[string]string{
	"outage.golden":          "simulate --preset outage",
	"partial.golden":         "simulate --preset partial",
	"saturation.golden":      "simulate --preset saturation --seed 7",
	"everything.golden":      "simulate testdata/everything.yaml",
	"everything-json.golden": "simulate --json --seeds 2 testdata/everything.yaml",
	"topology.golden":        "simulate --seeds 2 testdata/topology.yaml",
	"metastable.golden":      "simulate --seeds 1 --preset metastable",
	"backfill.golden":        "simulate --seeds 3 --preset backfill",
	"rivals.golden":          "simulate --seeds 2 --preset throttled --rivals=grpc,aws,none",
	"rivals-json.golden":     "simulate --seeds 2 --preset throttled --rivals=grpc,none --json",
}

func TestGoldens(t *testing.T) {
	skipUnderRace(t)
	for _, name := range slices.Sorted(maps.Keys(goldens)) {
		t.Run(name, func(t *testing.T) {
			out, err, code := console(t, "", strings.Fields(goldens[name])...)
			if code != 0 || err != "" {
				t.Fatalf("%d, %q", code, err)
			}
			golden(t, name, []byte(out))
			if strings.Contains(goldens[name], "--json") {
				return
			}
			for line := range strings.Lines(out) {
				if width(strings.TrimSuffix(line, "\n")) > lineWidth {
					t.Errorf("wider than %d columns: %q", lineWidth, line)
				}
			}
		})
	}
}

// The object that --json promises, in its order.
type contract struct {
	Scenario string        `json:"scenario"`
	Seed     int           `json:"seed"`
	Duration float64       `json:"duration_s"`
	Runs     []contractRun `json:"runs"`
}

type contractRun struct {
	Name           string   `json:"name"`
	Calls          int      `json:"calls"`
	Succeeded      int      `json:"succeeded"`
	Failed         int      `json:"failed"`
	Attempts       int      `json:"attempts"`
	Availability   *float64 `json:"availability"`
	LoadMultiplier *float64 `json:"load_multiplier"`
	Amplification  *float64 `json:"amplification"`
	Latency        *struct {
		P50 float64 `json:"p50"`
		P90 float64 `json:"p90"`
		P99 float64 `json:"p99"`
		Max float64 `json:"max"`
	} `json:"latency_s"`
	BreakerOpens  int      `json:"breaker_opens"`
	TimeToRecover *float64 `json:"time_to_recover_s"`
	Stops         struct {
		Succeeded         int `json:"succeeded"`
		Permanent         int `json:"permanent"`
		AttemptsExhausted int `json:"attempts_exhausted"`
		DeadlineExceeded  int `json:"deadline_exceeded"`
		BudgetExhausted   int `json:"budget_exhausted"`
		Unavailable       int `json:"unavailable"`
	} `json:"stops"`
}

func decodeContract(t *testing.T, text string) contract {
	t.Helper()
	var c contract
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Errorf("more than one object: %v", err)
	}
	// Written back, it is the same text: no key is missing, and the order holds.
	var back bytes.Buffer
	e := json.NewEncoder(&back)
	e.SetIndent("", "  ")
	if err := e.Encode(c); err != nil {
		t.Fatal(err)
	}
	if back.String() != text {
		t.Errorf("%s", firstDifference(strings.Split(back.String(), "\n"), strings.Split(text, "\n")))
	}
	return c
}

// TestTrade holds the default preset to what it is there to show: without a budget
// the worst second is about twice the load, with one it is about the load, and the
// price is a few points of availability.
func TestTrade(t *testing.T) {
	skipUnderRace(t)
	first, _, _ := console(t, "", "simulate", "--json")
	for _, args := range []string{"simulate --json", "simulate --json --seed 42"} {
		out, _, code := console(t, "", strings.Fields(args)...)
		if args == "simulate --json" && out != first {
			t.Error("two runs differ")
		}
		c := decodeContract(t, out)
		if code != 0 || c.Scenario != "trade" || c.Duration != 300 || len(c.Runs) < 2 {
			t.Fatalf("%s: %d, %+v", args, code, c)
		}
		without, with := c.Runs[0], c.Runs[1]
		if without.Name != "no budget" || with.Name != "budget" {
			t.Errorf("%s: the runs are %q and %q", args, without.Name, with.Name)
		}
		within(t, args+": amplification without a budget", *without.Amplification, 1.95, 2.25)
		within(t, args+": amplification with a budget", *with.Amplification, 1.03, 1.15)
		within(t, args+": cost in points", 100*(*without.Availability-*with.Availability), 3, 9)
		for _, r := range c.Runs {
			s := r.Stops
			sum := s.Permanent + s.AttemptsExhausted + s.DeadlineExceeded + s.BudgetExhausted + s.Unavailable
			if r.Calls != r.Succeeded+r.Failed || s.Succeeded != r.Succeeded || sum != r.Failed {
				t.Errorf("%s: %s: not every call ends once: %+v", args, r.Name, r)
			}
		}
	}
}

func within(t *testing.T, what string, got, least, most float64) {
	t.Helper()
	if !(got >= least && got <= most) {
		t.Errorf("%s is %v, want %v to %v", what, got, least, most)
	}
}

// TestSeed: the flag wins over the file, and either changes the numbers.
func TestSeed(t *testing.T) {
	seeded := strings.Replace(tiny, "{", "{seed: 9, ", 1)
	tests := []struct {
		args, scenario string
		want           int
	}{
		{"", tiny, 1}, {"", seeded, 9}, {"--seed 3", tiny, 3}, {"--seed 3", seeded, 3}, {"--seed 1", seeded, 1},
		{"--seed 9007199254740991", tiny, 1<<53 - 1},
	}
	for _, tt := range tests {
		out, _, _ := console(t, tt.scenario, strings.Fields("simulate --json - "+tt.args)...)
		if c := decodeContract(t, out); c.Seed != tt.want {
			t.Errorf("%q: seed %d, want %d", tt.args, c.Seed, tt.want)
		}
	}
	one, _, _ := console(t, tiny, "simulate", "-", "--seed", "1")
	two, _, _ := console(t, tiny, "simulate", "-", "--seed", "2")
	if strings.TrimPrefix(one, "Scenario stdin, seed 1.") == strings.TrimPrefix(two, "Scenario stdin, seed 2.") {
		t.Error("two seeds make no difference")
	}
}

// TestSeedsExtend: with several seeds, the promised keys are those of the first one,
// byte for byte, and the rest follows.
func TestSeedsExtend(t *testing.T) {
	one, _, _ := console(t, tiny, "simulate", "--json", "-")
	many, _, _ := console(t, tiny, "simulate", "--json", "--seeds", "4", "-")
	rest, ok := strings.CutPrefix(many, strings.TrimSuffix(one, "\n}\n")+",\n")
	if !ok || !strings.HasPrefix(rest, "  \"seeds\": 4,\n  \"bands\": [\n") {
		t.Errorf("got %s", many)
	}
	var out struct {
		Bands     []map[string]any
		Separates []map[string]any
	}
	if err := json.Unmarshal([]byte(many), &out); err != nil {
		t.Fatal(err)
	}
	keys := []string{"amplification", "availability", "load_multiplier", "name", "p99_s", "recovered",
		"time_to_recover_s"}
	if len(out.Bands) != 2 || !slices.Equal(slices.Sorted(maps.Keys(out.Bands[0])), keys) ||
		out.Bands[0]["time_to_recover_s"] != nil {
		t.Errorf("bands: %v", out.Bands)
	}
	keys[3], keys[5] = "p99_s", "policies"
	keys[4] = "p99_s"
	slices.Sort(keys)
	keys = slices.Compact(keys)
	if len(out.Separates) != 1 || !slices.Equal(slices.Sorted(maps.Keys(out.Separates[0])), keys) {
		t.Errorf("separates: %v", out.Separates)
	}
}

// TestFewCalls (C39): no calls, one call, no success, two samples. Nothing is divided
// by zero, JSON stays JSON, and what there is no number for is null or a dash.
func TestFewCalls(t *testing.T) {
	const down = "outages: [{from: 0s, for: 1h}]"
	tests := []struct {
		name, duration, rate, more string
		calls                      int
	}{
		{"none", "1s", "0.001", "", 0},
		{"none, and an outage", "1s", "0.001", down, 0},
		{"none in a moment", "1ns", "500", "", 0},
		{"one", "1s", "1", "", 1},
		{"one, and no success", "1s", "1", down, 1},
		{"two", "2s", "1", "", 2},
		{"two, and no success", "2s", "1", down, 2},
	}
	for _, tt := range tests {
		text := "{duration: " + tt.duration + ", rate: " + tt.rate +
			", dependency: {latency: {p50: 10ms, p99: 20ms}, " + tt.more + "}}"
		t.Run(tt.name, func(t *testing.T) {
			out, err, code := console(t, text, "simulate", "--json", "--seed", fewSeed(t, text, tt.calls), "-")
			if code != 0 {
				t.Fatal(err)
			}
			for _, r := range decodeContract(t, out).Runs {
				if r.Calls != tt.calls {
					t.Fatalf("%d calls", r.Calls)
				}
				if some := r.Calls > 0; (r.Availability != nil) != some || (r.Latency != nil) != some ||
					(r.Amplification != nil) != some || (r.LoadMultiplier != nil) != some {
					t.Errorf("with %d calls: %+v", r.Calls, r)
				}
				if l := r.Latency; l != nil && r.Calls == 1 && (l.P50 != l.Max || l.P99 != l.Max) {
					t.Errorf("quantiles of one call differ: %+v", l)
				}
				if l := r.Latency; l != nil && l.P99 != l.Max {
					t.Errorf("the last quantile of few is not the largest: %+v", l)
				}
			}
			for _, args := range []string{"simulate -", "simulate --seeds 3 -", "simulate --seeds 3 --json -"} {
				out, err, code := console(t, text, strings.Fields(args)...)
				if code != 0 || strings.Contains(out, "NaN") || strings.Contains(out, "Inf") {
					t.Errorf("%s: %d, %s%s", args, code, err, out)
				}
				if strings.Contains(args, "json") && !json.Valid([]byte(out)) {
					t.Errorf("%s: no JSON: %s", args, out)
				}
			}
		})
	}
}

// fewSeed finds a seed with which a scenario has so many calls.
func fewSeed(t *testing.T, text string, calls int) string {
	t.Helper()
	c, err := readScenario("test", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(1000) {
		if r, err := rationsim.Run(c.scenario, c.configs[0], seed); err == nil && r.Calls == calls {
			return count(int(seed))
		}
	}
	t.Fatalf("no seed has %d calls", calls)
	return ""
}

// TestVerdict: each way in which a policy can compare with the first.
func TestVerdict(t *testing.T) {
	band := func(x float64) rationsim.Band { return rationsim.Band{Min: x, Median: x, Max: x} }
	wide := func(x float64) rationsim.Band { return rationsim.Band{Min: x - 0.5, Median: x, Max: x + 0.5} }
	bands := func(name string, seeds int, load, share rationsim.Band) *rationsim.Bands {
		b := &rationsim.Bands{Name: name, Amplification: load, Availability: share}
		for range seeds {
			b.Reports = append(b.Reports, &rationsim.Report{Calls: 1})
		}
		return b
	}
	tests := []struct {
		name  string
		seeds int
		load  func(float64) rationsim.Band
		share func(float64) rationsim.Band
		to    [2]float64 // from an amplification of 2 and an availability of 0.9
		want  string
	}{
		{"cuts and costs", 1, band, band, [2]float64{1.1, 0.84},
			`Compared with "a", "b" cuts the worst second from 2.00x to 1.10x and costs 6.00 points of ` +
				`availability (90.00% to 84.00%).`},
		{"raises and gains", 1, band, band, [2]float64{2.006, 0.90006},
			`Compared with "a", "b" raises the worst second from 2.00x to 2.01x and gains 0.01 points of ` +
				`availability (90.00% to 90.01%).`},
		{"same", 1, band, band, [2]float64{2.004, 0.90004},
			`Compared with "a", "b" leaves the worst second at 2.00x at the same availability of 90.00%.`},
		{"apart", 3, band, band, [2]float64{1.1, 0.84},
			`By medians over 3 seeds, and compared with "a", "b" cuts the worst second from 2.00x to 1.10x ` +
				`and costs 6.00 points of availability (90.00% to 84.00%), both bands apart.`},
		{"load apart", 3, band, wide, [2]float64{1.1, 0.84},
			`By medians over 3 seeds, and compared with "a", "b" cuts the worst second from 2.00x to 1.10x ` +
				`and costs 6.00 points of availability (90.00% to 84.00%), though the bands of availability ` +
				`overlap.`},
		{"availability apart", 3, wide, band, [2]float64{1.1, 0.84},
			`By medians over 3 seeds, and compared with "a", "b" cuts the worst second from 2.00x to 1.10x ` +
				`and costs 6.00 points of availability (90.00% to 84.00%), though the bands of the worst second ` +
				`overlap.`},
		{"chance", 3, wide, wide, [2]float64{1.1, 0.84},
			`By medians over 3 seeds, and compared with "a", "b" cuts the worst second from 2.00x to 1.10x ` +
				`and costs 6.00 points of availability (90.00% to 84.00%), but both bands overlap, so it may be ` +
				`chance.`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &result{bands: []*rationsim.Bands{
				bands("a", tt.seeds, tt.load(2), tt.share(0.9)),
				bands("b", tt.seeds, tt.load(tt.to[0]), tt.share(tt.to[1])),
			}}
			if got := r.verdict(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	one := &result{bands: []*rationsim.Bands{bands("a", 1, band(1), band(1))}}
	if got := one.verdict(); !strings.Contains(got, "only one policy") {
		t.Errorf("alone: %s", got)
	}
}

func TestNumbers(t *testing.T) {
	tests := []struct{ got, want string }{
		{percent(1), "100.00%"}, {percent(0.999999), ">99.99%"}, {percent(0), "0.00%"},
		{percent(0.000001), "<0.01%"}, {percent(0.12345), "12.35%"},
		{seconds(0), "0s"}, {seconds(0.0268133), "26.8ms"}, {seconds(0.9996), "1s"}, {seconds(3.3510), "3.35s"},
		{seconds(72.04), "1m12s"}, {seconds(0.0000012), "1.2µs"}, {seconds(36000), "10h"}, {seconds(3660), "1h1m"},
		{seconds(math.Pow(10, 8)), "27777h46m40s"},
		{count(0), "0"}, {count(999), "999"}, {count(1000), "1,000"}, {count(1234567), "1,234,567"},
		{decimal(0.1), "0.1"}, {decimal(100 * 0.07), "7"}, {decimal(1e6), "1000000"}, {decimal(100 * 0.999), "99.9"},
		{times(1.005), "1.00x"}, {times(12.345), "12.35x"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
}

// TestTable: columns line up whatever is in them, and go below when they do not fit.
func TestTable(t *testing.T) {
	tb := &table{heads: []string{"one", "ein größeres", "日本"}}
	tb.add("calls", "1", "22", "333")
	tb.add("")
	tb.add("a longer label", "-", "1.00x", "0s")
	const want = `
                 one   ein größeres   日本
calls              1             22    333

a longer label     -          1.00x     0s
`
	if got := "\n" + tb.String(); got != want {
		t.Errorf("got %s", got)
	}

	broad := &table{}
	var cells []string
	for range 5 {
		broad.heads = append(broad.heads, strings.Repeat("x", 30))
		cells = append(cells, "1")
	}
	broad.add("calls", cells...)
	got := broad.String()
	if n := strings.Count(got, "calls"); n != 3 {
		t.Errorf("%d blocks in\n%s", n, got)
	}
	for line := range strings.Lines(got) {
		if width(strings.TrimSuffix(line, "\n")) > lineWidth {
			t.Errorf("too wide: %q", line)
		}
	}
}

func TestWrap(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", ""},
		{"a b", "a b"},
		{"aaaa bbbb cccc", "aaaa bbbb\n  cccc"},
		{"aaaaaaaaaaaaaaa b", "aaaaaaaaaaaaaaa\n  b"},
		{"aaaaaaaaaaaaaaa bbbbb cccc d", "aaaaaaaaaaaaaaa\n  bbbbb cccc\n  d"},
	}
	for _, tt := range tests {
		if got := wrap(tt.text, 10, 2); got != tt.want {
			t.Errorf("wrap(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}
