package rationconfig

import (
	"errors"
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
