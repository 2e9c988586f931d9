package rationconfig

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/ration-go/ration"
)

// TestCustomize: code has the last word, also in what it does with a budget, and a
// policy that it spoils is refused.
func TestCustomize(t *testing.T) {
	names := write(t, "budgets: {custom: {}}\npolicies: {p: {budget: {shared: custom}}, q: {budget: {shared: custom}}}")
	attempts := 7
	l := quietLoader()
	l.Customize = func(name string, p *ration.Policy) {
		if name != p.Name {
			t.Errorf("%q has the name %q", name, p.Name)
		}
		if name == "q" {
			p.Attempts, p.Budget = attempts, ration.NoBudget
		}
	}
	s, err := l.Load(names...)
	must(t, err)
	if b := executor(t, s, "p").Budget(); b.Name() != "custom" {
		t.Errorf("p has the bucket %q", b.Name())
	}
	q := executor(t, s, "q")
	if q.Policy().Attempts != 7 || q.Budget() != nil {
		t.Errorf("%+v", q.Policy())
	}
	attempts = -1
	rewrite(t, names[0], "policies: {p: {attempts: 4}, q: {}}")
	err = s.Reload()
	var config *ration.ConfigError
	if !errors.As(err, &config) || !strings.HasPrefix(err.Error(), `rationconfig: policy "q" after Customize: `) {
		t.Errorf("got %v", err)
	}
	if got := executor(t, s, "p").Policy().Attempts; got != 3 {
		t.Errorf("p has %d attempts of a bad reload", got)
	}
}

// TestUserPanics: neither function of the user ends the process.
func TestUserPanics(t *testing.T) {
	names := write(t, "policies: {p: {}}")
	l := quietLoader()
	l.Customize = func(string, *ration.Policy) { panic("no") }
	if _, err := l.Load(names...); err == nil || err.Error() != `rationconfig: Customize panics at policy "p": no` {
		t.Errorf("got %v", err)
	}
	l = quietLoader()
	l.OnReload = func(Reload) { panic("no") }
	s, err := l.Load(names...)
	must(t, err)
	rewrite(t, names[0], "policies: {p: {attempts: 5}}")
	must(t, s.Reload())
}

// TestUserMayCall: no lock is held while the user's functions run.
func TestUserMayCall(t *testing.T) {
	names := write(t, "policies: {p: {}}")
	var s *Set
	within := 0
	call := func() {
		if s == nil {
			return
		}
		if within++; within < 3 {
			s.Status()
			_, _ = s.Executor("p")
			_ = s.Reload()
		}
	}
	l := quietLoader()
	l.Customize = func(string, *ration.Policy) { call() }
	l.OnReload = func(Reload) { call() }
	s, err := l.Load(names...)
	must(t, err)
	rewrite(t, names[0], "policies: {p: {attempts: 5}}")
	must(t, s.Reload())
	if within == 0 || executor(t, s, "p").Policy().Attempts != 5 {
		t.Errorf("%d calls, %+v", within, s.Status())
	}
}

// TestLog: a reload is one line, and a failure that stays is one line as well.
func TestLog(t *testing.T) {
	var text strings.Builder
	l := Loader{Logger: slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "files" {
				return slog.Attr{}
			}
			return a
		},
	}))}
	names := write(t, policy(2))
	s, err := l.Load(names...)
	must(t, err)
	many := "policies:\n" + strings.Repeat("  - 0\n", 2) + "x: 1\ny: 2"
	for _, step := range []struct{ text, want string }{
		{policy(2), ""},
		{policy(3), `level=INFO msg="rationconfig: policies reloaded" changed=[p] added=[] missing=[]`},
		{policy(0), `level=ERROR msg="rationconfig: policies not reloaded; those in force stay so" ` +
			`problems="[a.yaml:1: policies.p.attempts: 0 is not a whole number from 1]"`},
		{policy(0) + " # still", ""},
		{many, `level=ERROR msg="rationconfig: policies not reloaded; those in force stay so" ` +
			`problems="[a.yaml:2: policies: a list is not a mapping from names to what they stand for ` +
			`a.yaml:4: x: is no key here; allowed are budgets, policies a.yaml:5: y: is no key here; allowed are budgets, policies]"`},
		{policy(0), `level=ERROR msg="rationconfig: policies not reloaded; those in force stay so" ` +
			`problems="[a.yaml:1: policies.p.attempts: 0 is not a whole number from 1]"`},
		{"policies: {q: {}}", `level=WARN msg="rationconfig: policies reloaded" changed=[] added=[q] missing=[p]`},
		{policy(0), `level=ERROR msg="rationconfig: policies not reloaded; those in force stay so" ` +
			`problems="[a.yaml:1: policies.p.attempts: 0 is not a whole number from 1]"`},
	} {
		text.Reset()
		rewrite(t, names[0], step.text)
		_ = s.Reload()
		if got := strings.TrimSuffix(text.String(), "\n"); got != step.want {
			t.Errorf("%s: got\n%s\nwant\n%s", step.text, got, step.want)
		}
	}
	text.Reset()
	rewrite(t, names[0], "policies:\n"+strings.Repeat("  p: {attempts: 0}\n", 100))
	_ = s.Reload()
	if got := text.String(); strings.Count(got, "a.yaml:") != 20 || !strings.Contains(got, " and more]") {
		t.Errorf("got %s", got)
	}
}

// held loads a policy of two attempts, and holds up the first reload that finds three
// until it is released.
func held(t *testing.T, load func(l Loader, names ...string) (*Set, error)) (s *Set, entered, release chan struct{}) {
	t.Helper()
	entered, release = make(chan struct{}), make(chan struct{})
	names := write(t, policy(2))
	l := quietLoader()
	l.Customize = func(_ string, p *ration.Policy) {
		if p.Attempts == 3 {
			close(entered)
			<-release
		}
	}
	s, err := load(l, names...)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s, entered, release
}

// TestCloseWhileReloading: a reload that has read the file when the set is closed is
// not applied.
func TestCloseWhileReloading(t *testing.T) {
	s, entered, release := held(t, Loader.Watch)
	rewrite(t, "a.yaml", policy(3))
	<-entered
	must(t, s.Close())
	close(release)
	<-s.watch.done
	if got := executor(t, s, "p").Policy().Attempts; got != 2 {
		t.Errorf("%d attempts", got)
	}
}

// TestReloadOvertaken: a reload that began earlier, and has read an older file, does
// not undo one that began later.
func TestReloadOvertaken(t *testing.T) {
	s, entered, release := held(t, Loader.Load)
	rewrite(t, "a.yaml", policy(3))
	slow := make(chan error)
	go func() { slow <- s.Reload() }()
	<-entered
	rewrite(t, "a.yaml", policy(4))
	must(t, s.Reload())
	close(release)
	must(t, <-slow)
	if got := executor(t, s, "p").Policy().Attempts; got != 4 || s.Status().Reloads != 1 {
		t.Errorf("%d attempts, %+v", got, s.Status())
	}
}
