package rationconfig

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationconfig/strict"
)

// write makes files in a fresh directory, the working directory of the test, and
// returns their names. They are a.yaml, b.yaml and so on.
func write(t *testing.T, texts ...string) (names []string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for i, text := range texts {
		name := string(rune('a'+i)) + ".yaml"
		rewrite(t, name, text)
		names = append(names, name)
	}
	return names
}

func rewrite(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, texts ...string) *Set {
	t.Helper()
	s, err := Load(write(t, texts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func executor(t *testing.T, s *Set, name string) *ration.Executor {
	t.Helper()
	e, err := s.Executor(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestLoad(t *testing.T) {
	s := load(t, `
policies:
  payments: {attempts: 4, deadline: 2s, budget: {fraction: 20%}}
  search: {preset: none}
`)
	payments := executor(t, s, "payments")
	if p := payments.Policy(); p.Name != "payments" || p.Attempts != 4 || p.Deadline != 2*time.Second {
		t.Errorf("got %+v", p)
	}
	if got := payments.Budget().Fraction(); got != 0.2 {
		t.Errorf("a fraction of %v", got)
	}
	if payments.For("a").Budget() == payments.For("b").Budget() {
		t.Error("two keys share a bucket that nobody shared")
	}
	if p := executor(t, s, "search").Policy(); p.Attempts != 1 || p.Deadline != ration.NoLimit ||
		p.AttemptTimeout != ration.NoLimit || p.Budget != ration.NoBudget || p.Breaker != ration.NoBreaker {
		t.Errorf("got %+v", p)
	}
	if again := executor(t, s, "payments"); again != payments {
		t.Error("another executor the second time")
	}
}

func TestUnknownPolicy(t *testing.T) {
	s := load(t, "policies: {payments: {}, search: {}}")
	for name, want := range map[string]string{
		"paymets": `rationconfig: unknown policy "paymets"; did you mean payments? There are payments, search`,
		"x":       `rationconfig: unknown policy "x"; allowed are payments, search`,
	} {
		e, err := s.Executor(name)
		if e != nil || !errors.Is(err, ErrUnknownPolicy) || err.Error() != want {
			t.Errorf("got %v, %v", e, err)
		}
	}
}

// TestLayers: a later file goes before those ahead of it, key by key.
func TestLayers(t *testing.T) {
	tests := []struct {
		name  string
		texts []string // of the policy p
		want  string   // the policy that one file would say it with
	}{
		{"one key", []string{"{attempts: 2, deadline: 1s}", "{attempts: 5}"}, "{attempts: 5, deadline: 1s}"},
		{"within a section", []string{"{breaker: {break: 1s, probes: 2}}", "{breaker: {probes: 3}}"},
			"{breaker: {break: 1s, probes: 3}}"},
		{"within a section of a section", []string{"{backoff: {measured: {multiple: 2, spread: 3}}}",
			"{backoff: {measured: {spread: 4}}}"}, "{backoff: {measured: {multiple: 2, spread: 4}}}"},
		{"switched off", []string{"{breaker: {break: 1s}}", "{breaker: {enabled: false}}"}, "{breaker: {enabled: false}}"},
		{"and on again", []string{"{breaker: {break: 1s}}", "{breaker: {enabled: false}}", "{breaker: {enabled: true}}"},
			"{breaker: {break: 1s}}"},
		{"on again with more", []string{"{breaker: {break: 1s}}", "{breaker: {enabled: false}}",
			"{breaker: {enabled: true, probes: 3}}"}, "{breaker: {break: 1s, probes: 3}}"},
		{"a preset starts afresh", []string{"{attempts: 5, breaker: {}}", "{preset: none, deadline: 1s}"},
			"{preset: none, deadline: 1s}"},
		{"a preset stays", []string{"{preset: none}", "{attempts: 2}"}, "{preset: none, attempts: 2}"},
		{"a ratio is taken back", []string{"{breaker: {failureRatio: 50%, window: 1s, minimumCalls: 5}}",
			"{breaker: {failureRatio: 0}}"}, "{breaker: {}}"},
		{"a limit is taken back", []string{"{deadline: 1s}", "{deadline: none}"}, "{deadline: none}"},
		{"one attempt", []string{"{backoff: {transient: 1s}, budget: {fraction: 50%}}", "{attempts: 1}"},
			"{attempts: 1, backoff: {enabled: true}, budget: {}}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			texts := []string{"policies: {p: " + tt.want + "}"}
			for _, text := range tt.texts {
				texts = append(texts, "policies: {p: "+text+"}")
			}
			names := write(t, texts...)
			want, err := Policies(names[0])
			if err != nil {
				t.Fatal(err)
			}
			got, err := Policies(names[1:]...)
			if err != nil {
				t.Fatal(err)
			}
			w, g := want["p"], got["p"]
			if w.Attempts == 1 {
				// Waits between attempts that there are none of do not count.
				w.Backoff, g.Backoff, w.Budget, g.Budget = ration.Backoff{}, ration.Backoff{}, nil, nil
			}
			if !reflect.DeepEqual(g, w) || (g.Breaker == ration.NoBreaker) != (w.Breaker == ration.NoBreaker) {
				t.Errorf("got  %+v\nwant %+v", g, w)
			}
		})
	}
}

// TestLayeredBudget: a bucket is shared or has numbers of its own. The later file says
// which.
func TestLayeredBudget(t *testing.T) {
	const shared, own = "budgets: {layered: {fraction: 30%}}\npolicies: {p: {budget: {shared: layered}}}",
		"policies: {p: {budget: {fraction: 40%}}}"
	if b := executor(t, load(t, shared, own), "p").Budget(); b.Name() != "" || b.Fraction() != 0.4 {
		t.Errorf("%q, %v", b.Name(), b.Fraction())
	}
	if b := executor(t, load(t, own, shared), "p").Budget(); b.Name() != "layered" || b.Fraction() != 0.3 {
		t.Errorf("%q, %v", b.Name(), b.Fraction())
	}
	numbers := "budgets: {layered: {minimumPerSecond: 7}}"
	b := executor(t, load(t, shared, numbers), "p").Budget()
	if b.Fraction() != 0.3 || b.MinimumPerSecond() != 7 {
		t.Errorf("%v, %v", b.Fraction(), b.MinimumPerSecond())
	}
}

// TestLayerFaults: a fault of the whole is reported in the file that brought it.
func TestLayerFaults(t *testing.T) {
	tests := []struct {
		name  string
		texts []string
		want  []string
	}{
		{"settings after enabled: false elsewhere", []string{"policies: {p: {breaker: {enabled: false}}}",
			"policies:\n  p:\n    breaker: {break: 1s}"}, []string{
			"b.yaml:3: policies.p.breaker.break: has no effect, since a.yaml has enabled: false; add enabled: true, or remove it"}},
		{"together", []string{"policies: {p: {ceiling: {floor: 60ms}}}", "policies:\n  p: {attemptTimeout: 50ms}"}, []string{
			"a.yaml:1: policies.p.ceiling.floor: 60ms is not below attemptTimeout 50ms, so the ceiling can never bind"}},
		{"in both", []string{"policies: {p: {attempts: 0}}", "policies: {q: {deadline: 5}}", "polices: {}"}, []string{
			"a.yaml:1: policies.p.attempts: 0 is not a whole number from 1",
			"b.yaml:1: policies.q.deadline: 5 is not a duration above 0, such as 250ms, or none",
			"c.yaml:1: polices: is no key here; did you mean policies?"}},
		{"no policy in any", []string{"budgets: {x: {}}", "budgets: {y: {}}"}, []string{
			"b.yaml:1: policies: names no policy; name at least one"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(write(t, tt.texts...)...)
			if got := faults(t, err); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

func faults(t *testing.T, err error) (lines []string) {
	t.Helper()
	var all *strict.Error
	if !errors.As(err, &all) {
		t.Fatalf("got %v", err)
	}
	for _, p := range all.Problems {
		lines = append(lines, p.String())
	}
	return lines
}

// TestNothingToRead: each path that leads to no text says why, all at once.
func TestNothingToRead(t *testing.T) {
	names := write(t, "policies: {p: {}}")
	if err := os.Mkdir("dir", 0o777); err != nil {
		t.Fatal(err)
	}
	_, err := Load(names[0], "none.yaml", "dir", filepath.Join(names[0], "x"))
	want := []string{
		"none.yaml: does not exist",
		"dir: is not a regular file; name one",
		filepath.Join(names[0], "x") + ": cannot be read: not a directory",
	}
	if got := faults(t, err); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
	if _, err := Load(); err == nil || err.Error() != "rationconfig: there is no file to load; name at least one" {
		t.Errorf("got %v", err)
	}
}
