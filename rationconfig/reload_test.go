package rationconfig

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationconfig/strict"
)

// quietLoader is one that does not log.
func quietLoader() Loader { return Loader{Logger: slog.New(slog.DiscardHandler)} }

// TestReloadEveryField: each setting is edited, reloaded and read back from the
// executor that was there before. A field without a row fails.
func TestReloadEveryField(t *testing.T) {
	type P = ration.Policy
	// %s is the setting; the rest is what it needs beside it.
	tests := map[string]struct {
		text, old, new string
		get            func(p P) any
		want           [2]any
	}{
		"preset":                 {"{preset: %s}", "default", "none", func(p P) any { return p.Attempts }, [2]any{3, 1}},
		"attempts":               {"{attempts: %s}", "2", "5", func(p P) any { return p.Attempts }, [2]any{2, 5}},
		"deadline":               {"{deadline: %s}", "1s", "none", func(p P) any { return p.Deadline }, [2]any{time.Second, ration.NoLimit}},
		"attemptTimeout":         {"{attemptTimeout: %s}", "none", "2s", func(p P) any { return p.AttemptTimeout }, [2]any{ration.NoLimit, 2 * time.Second}},
		"ceiling.enabled":        {"{ceiling: {enabled: %s}}", "true", "false", func(p P) any { return p.Ceiling != ration.NoCeiling }, [2]any{true, false}},
		"ceiling.multiple":       {"{ceiling: {multiple: %s}}", "2", "4", func(p P) any { return p.Ceiling.Multiple }, [2]any{2.0, 4.0}},
		"ceiling.quantile":       {"{ceiling: {quantile: %s}}", "0.5", "0.9", func(p P) any { return p.Ceiling.Quantile }, [2]any{0.5, 0.9}},
		"ceiling.minimumSamples": {"{ceiling: {minimumSamples: %s}}", "5", "6", func(p P) any { return p.Ceiling.MinimumSamples }, [2]any{5, 6}},
		"ceiling.floor":          {"{ceiling: {floor: %s}}", "1ms", "2ms", func(p P) any { return p.Ceiling.Floor }, [2]any{time.Millisecond, 2 * time.Millisecond}},
		"backoff.enabled":        {"{backoff: {enabled: %s}}", "true", "false", func(p P) any { return p.Backoff.Transient }, [2]any{100 * time.Millisecond, time.Duration(0)}},
		"backoff.transient":      {"{backoff: {transient: %s}}", "1ms", "2ms", func(p P) any { return p.Backoff.Transient }, [2]any{time.Millisecond, 2 * time.Millisecond}},
		"backoff.throttled":      {"{backoff: {throttled: %s}}", "1ms", "2ms", func(p P) any { return p.Backoff.Throttled }, [2]any{time.Millisecond, 2 * time.Millisecond}},
		"backoff.factor":         {"{backoff: {factor: %s}}", "3", "1.5", func(p P) any { return p.Backoff.Factor }, [2]any{3.0, 1.5}},
		"backoff.max":            {"{backoff: {max: %s}}", "5s", "none", func(p P) any { return p.Backoff.Max }, [2]any{5 * time.Second, ration.NoLimit}},
		"backoff.jitter":         {"{backoff: {jitter: %s}}", "none", "equal", func(p P) any { return p.Backoff.Jitter }, [2]any{ration.NoJitter, ration.EqualJitter}},
		"backoff.measured.enabled": {"{backoff: {measured: {enabled: %s}}}", "true", "false",
			func(p P) any { return p.Backoff.Measured != nil }, [2]any{true, false}},
		"backoff.measured.multiple": {"{backoff: {measured: {multiple: %s}}}", "2", "3",
			func(p P) any { return p.Backoff.Measured.Multiple }, [2]any{2.0, 3.0}},
		"backoff.measured.minimumSamples": {"{backoff: {measured: {minimumSamples: %s}}}", "2", "3",
			func(p P) any { return p.Backoff.Measured.MinimumSamples }, [2]any{2, 3}},
		"backoff.measured.spread": {"{backoff: {measured: {spread: %s}}}", "2", "3",
			func(p P) any { return p.Backoff.Measured.Spread }, [2]any{2.0, 3.0}},
		"budget.enabled":          {"{budget: {enabled: %s}}", "false", "true", func(p P) any { return p.Budget == ration.NoBudget }, [2]any{true, false}},
		"budget.fraction":         {"{budget: {fraction: %s}}", "20%", "0.3", nil, [2]any{0.2, 0.3}},
		"budget.minimumPerSecond": {"{budget: {minimumPerSecond: %s}}", "0", "7", nil, [2]any{0.0, 7.0}},
		"budget.shared":           {"{budget: {shared: %s}}", "one", "two", nil, [2]any{"one", "two"}},
		"breaker.enabled":         {"{breaker: {enabled: %s}}", "false", "true", func(p P) any { return p.Breaker == ration.NoBreaker }, [2]any{true, false}},
		"breaker.consecutiveFailures": {"{breaker: {consecutiveFailures: %s, failureRatio: 1}}", "7", "none",
			func(p P) any { return p.Breaker.ConsecutiveFailures }, [2]any{7, -1}},
		"breaker.failureRatio": {"{breaker: {failureRatio: %s}}", "0", "50%", func(p P) any { return p.Breaker.FailureRatio }, [2]any{0.0, 0.5}},
		"breaker.window": {"{breaker: {failureRatio: 1, window: %s}}", "1s", "2s",
			func(p P) any { return p.Breaker.Window }, [2]any{time.Second, 2 * time.Second}},
		"breaker.minimumCalls": {"{breaker: {failureRatio: 1, minimumCalls: %s}}", "8", "9",
			func(p P) any { return p.Breaker.MinimumCalls }, [2]any{8, 9}},
		"breaker.break":          {"{breaker: {break: %s}}", "1s", "2s", func(p P) any { return p.Breaker.Break }, [2]any{time.Second, 2 * time.Second}},
		"breaker.maxBreak":       {"{breaker: {maxBreak: %s}}", "60s", "70s", func(p P) any { return p.Breaker.MaxBreak }, [2]any{time.Minute, 70 * time.Second}},
		"breaker.probes":         {"{breaker: {probes: %s}}", "2", "3", func(p P) any { return p.Breaker.Probes }, [2]any{2, 3}},
		"breaker.probeSuccesses": {"{breaker: {probeSuccesses: %s}}", "3", "4", func(p P) any { return p.Breaker.ProbeSuccesses }, [2]any{3, 4}},
	}
	// A bucket is read where it is used, on the executor and on one of its keys.
	buckets := map[string]func(b *ration.Budget) any{
		"budget.fraction":         func(b *ration.Budget) any { return b.Fraction() },
		"budget.minimumPerSecond": func(b *ration.Budget) any { return b.MinimumPerSecond() },
		"budget.shared":           func(b *ration.Budget) any { return b.Name() },
	}
	for _, key := range leaves("", reflect.TypeFor[Policy]()) {
		t.Run(key, func(t *testing.T) {
			tt, ok := tests[key]
			if !ok {
				t.Fatal("has no row in this test")
			}
			text := func(setting string) string {
				return "budgets: {one: {}, two: {}}\npolicies: {p: " + fmt.Sprintf(tt.text, setting) + "}"
			}
			names := write(t, text(tt.old))
			s, err := quietLoader().Load(names...)
			must(t, err)
			e := executor(t, s, "p")
			k := e.For("key")
			for i, setting := range []string{tt.old, tt.new} {
				rewrite(t, names[0], text(setting))
				must(t, s.Reload())
				for _, e := range []*ration.Executor{e, k} {
					var got any
					if get := buckets[key]; get != nil {
						got = get(e.Budget())
					} else {
						got = tt.get(e.Policy())
					}
					if got != tt.want[i] {
						t.Errorf("%s of %q: got %v, want %v", setting, e.Key(), got, tt.want[i])
					}
				}
			}
			if st := s.Status(); st.Reloads != 1 || st.Failures != 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// leaves returns the paths of all keys below a struct that hold no section.
func leaves(path string, s reflect.Type) (keys []string) {
	for i := range s.NumField() {
		f := s.Field(i)
		key := path + strict.Key(f.Name)
		if _, isSection := sectionSwitch(reflect.New(f.Type.Elem()).Elem()); isSection {
			keys = append(keys, leaves(key+".", f.Type.Elem())...)
			continue
		}
		keys = append(keys, key)
	}
	return keys
}

var errDown = errors.New("down")

// fail makes calls that fail.
func fail(e *ration.Executor, calls int) {
	for range calls {
		_ = e.Run(context.Background(), func(context.Context) error { return ration.Transient(errDown) })
	}
}

// TestReloadKeepsState: a breaker stays open as long as it was to, and a bucket stays
// spent, through a reload with other numbers and a bad one.
//
// C32: a reload loses state.
func TestReloadKeepsState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := func(failures, fraction string) string {
			return "policies: {p: {attempts: 100, deadline: none, backoff: {enabled: false}, breaker: {consecutiveFailures: " +
				failures + ", break: 30s}, budget: {fraction: " + fraction + ", minimumPerSecond: 0}}}"
		}
		names := write(t, text("5", "10%"))
		s, err := quietLoader().Load(names...)
		must(t, err)
		e := executor(t, s, "p")
		fail(e, 5)
		start := time.Now()
		open := e.Breaker(time.Now())
		if open.State != ration.BreakerOpen || e.Budget().Tokens(time.Now()) > 0 {
			t.Fatalf("%+v, %v tokens", open, e.Budget().Tokens(time.Now()))
		}
		bucket := e.Budget()

		time.Sleep(10 * time.Second)
		rewrite(t, names[0], text("7", "50%"))
		must(t, s.Reload())
		time.Sleep(2 * time.Second)
		rewrite(t, names[0], text("0", "50%"))
		if err := s.Reload(); err == nil {
			t.Error("a bad file is loaded")
		}
		now := time.Now()
		if b := e.Budget(); b != bucket || b.Fraction() != 0.5 || b.Tokens(now) != 0 {
			t.Errorf("a bucket with %v tokens and a fraction of %v", b.Tokens(now), b.Fraction())
		}
		if got := e.Policy().Breaker.ConsecutiveFailures; got != 7 {
			t.Errorf("trips after %d", got)
		}
		if got := e.Breaker(now); got.State != ration.BreakerOpen || got.Since != open.Since ||
			got.Break != open.Break-now.Sub(start) {
			t.Errorf("got %+v, before %+v", got, open)
		}
		bucket.Deposit(now)
		bucket.Deposit(now)
		if got := bucket.Tokens(now); got != 1 {
			t.Errorf("two successes at the new fraction are %v tokens", got)
		}
	})
}

// TestReloadKeepsEstimates: what has been measured stays known.
func TestReloadKeepsEstimates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := write(t, "policies: {p: {ceiling: {multiple: 2, minimumSamples: 5}}}")
		s, err := quietLoader().Load(names...)
		must(t, err)
		e := executor(t, s, "p")
		for range 5 {
			_ = e.Run(t.Context(), func(context.Context) error { time.Sleep(time.Second); return nil })
		}
		before, _ := e.MeasuredCeiling(time.Now())
		rewrite(t, names[0], "policies: {p: {ceiling: {multiple: 4, minimumSamples: 5}}}")
		must(t, s.Reload())
		time.Sleep(2 * time.Second) // an estimate serves for a second
		after, state := e.MeasuredCeiling(time.Now())
		if state != ration.EstimateWarm || after < before*19/10 || after > before*21/10 {
			t.Errorf("%v, then %v (%v)", before, after, state)
		}
	})
}

// TestReloadInFlight: a call finishes under the policy that it began with; the next one
// begins with the new.
func TestReloadInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := write(t, "policies: {p: {attempts: 3, backoff: {transient: 1s, jitter: none, factor: 1}}}")
		s, err := quietLoader().Load(names...)
		must(t, err)
		e := executor(t, s, "p")
		attempts := func() (n int) {
			_ = e.Run(t.Context(), func(context.Context) error {
				n++
				return ration.Transient(errDown)
			})
			return n
		}
		first := make(chan int)
		go func() { first <- attempts() }()
		synctest.Wait()
		rewrite(t, names[0], "policies: {p: {preset: none}}")
		must(t, s.Reload())
		if n := attempts(); n != 1 {
			t.Errorf("%d attempts after the reload", n)
		}
		if n := <-first; n != 3 {
			t.Errorf("%d attempts of the call that had begun", n)
		}
	})
}

// TestReloadShared: a bucket stays shared, by policies and with code, and takes the
// numbers of the file that names it.
func TestReloadShared(t *testing.T) {
	name := t.Name()
	code, err := ration.SharedBudget(name, 0.9, 9)
	must(t, err)
	text := func(numbers string) string {
		return "budgets: {" + name + ": " + numbers + "}\npolicies:\n  p: &p {budget: {shared: " + name + "}}\n  q: *p"
	}
	names := write(t, text("{fraction: 20%, minimumPerSecond: 10}"))
	s, err := quietLoader().Load(names...)
	must(t, err)
	p, q := executor(t, s, "p"), executor(t, s, "q")
	now := time.Now()
	check := func(fraction, perSecond, tokens float64) {
		t.Helper()
		for _, b := range []*ration.Budget{p.Budget(), q.Budget(), p.For("key").Budget()} {
			if b != code {
				t.Error("another bucket")
			}
		}
		got := [3]float64{code.Fraction(), code.MinimumPerSecond(), code.Tokens(now)}
		if want := [3]float64{fraction, perSecond, tokens}; got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	check(0.2, 10, 100)
	for range 40 {
		code.Withdraw(now, ration.Critical)
	}
	check(0.2, 10, 60)
	rewrite(t, names[0], text("{fraction: 30%, minimumPerSecond: 5}")) // which holds 50
	must(t, s.Reload())
	now = time.Now()
	check(0.3, 5, 50)
}

// TestReloadAllOrNothing: a fault anywhere leaves everything as it is, budgets that
// only a good file would have made included.
func TestReloadAllOrNothing(t *testing.T) {
	good := "budgets: {whole: {fraction: 20%}}\npolicies: {p: {attempts: 2, budget: {shared: whole}}, q: {attempts: 2}}"
	names := write(t, good)
	s, err := quietLoader().Load(names...)
	must(t, err)
	p, q := executor(t, s, "p"), executor(t, s, "q")
	bad := []string{
		"budgets: {whole: {fraction: 40%}, other: {fraction: 50%}}\npolicies: {p: {attempts: 5}, q: {attempts: 0}, r: {}}",
		"budgets: {whole: {fraction: 40%}}\npolicies: {p: {attempts: 5}, q: {breaker: {window: 1s}}}",
		"budgets: {whole: {fraction: 40%}}\npolicies: {p: {attempts: 5}, q: {attem",
		"",
		"policies: {}",
		strings.Repeat("#", strict.MaxSize+1),
		good[:len(good)-1],
	}
	check := func() {
		t.Helper()
		if p.Policy().Attempts != 2 || q.Policy().Attempts != 2 || p.Budget().Fraction() != 0.2 || p.Budget().Name() != "whole" {
			t.Errorf("%+v, %+v", p.Policy(), q.Policy())
		}
		if _, err := s.Executor("r"); err == nil {
			t.Error("a policy of a bad file is there")
		}
	}
	for i, text := range bad {
		rewrite(t, names[0], text)
		err := s.Reload()
		if st := s.Status(); err == nil || !errors.Is(st.Err, err) || st.Failures != uint64(i+1) || st.FailedAt.IsZero() {
			t.Errorf("%.50q: %v, %+v", text, err, st)
		}
		if again := s.Reload(); !errors.Is(again, err) || s.Status().Failures != uint64(i+1) {
			t.Errorf("the second time: %v, %+v", again, s.Status())
		}
		check()
	}
	must(t, os.Remove(names[0]))
	if err := s.Reload(); err == nil || err.Error() != "a.yaml: does not exist" {
		t.Errorf("got %v", err)
	}
	check()
	if other, _ := ration.SharedBudget("other", 0.7, 0); other.Fraction() != 0.7 {
		t.Error("a bad file has made a budget")
	}
	rewrite(t, names[0], good)
	must(t, s.Reload())
	if st := s.Status(); st.Err != nil || st.Reloads != 1 {
		t.Errorf("%+v", st)
	}
}

// TestReloadUnchanged: where nothing changed nothing is done, so that what code has
// changed meanwhile stays, too.
func TestReloadUnchanged(t *testing.T) {
	names := write(t, "policies: {p: {attempts: 2}, q: {}}")
	reloads := 0
	l := quietLoader()
	l.OnReload = func(Reload) { reloads++ }
	s, err := l.Load(names...)
	must(t, err)
	e := executor(t, s, "p")
	must(t, e.Update(ration.Policy{Attempts: 9}))
	check := func(want int) {
		t.Helper()
		must(t, s.Reload())
		if got := e.Policy().Attempts; got != 9 || reloads != want || s.Status().Reloads != uint64(want) {
			t.Errorf("%d attempts after %d reloads, %+v", got, reloads, s.Status())
		}
	}
	check(0)
	rewrite(t, names[0], "policies: {p: {attempts: 2}, q: {}}")
	check(0)
	rewrite(t, names[0], "policies: {q: {}, p: {attempts: 2}} # a comment")
	check(1)
	rewrite(t, names[0], "policies: {q: {attempts: 4}, p: {attempts: 2}}")
	check(2)
}

// TestReloadComesAndGoes: a policy may come with a reload, and one that goes stays in
// force until it is back.
func TestReloadComesAndGoes(t *testing.T) {
	names := write(t, "policies: {p: {attempts: 2}, q: {}}")
	var got []Reload
	l := quietLoader()
	l.OnReload = func(r Reload) { got = append(got, r) }
	s, err := l.Load(names...)
	must(t, err)
	p := executor(t, s, "p")
	for _, text := range []string{
		"policies: {q: {attempts: 4}, r: {}}",
		"policies: {p: {attempts: 2}, q: {attempts: 4}, r: {}}",
		"policies: {p: {attempts: 5}, q: {attempts: 4}}",
	} {
		rewrite(t, names[0], text)
		must(t, s.Reload())
		if executor(t, s, "p") != p {
			t.Error("another executor")
		}
	}
	want := []Reload{
		{Changed: []string{"q"}, Added: []string{"r"}, Missing: []string{"p"}},
		{},
		{Changed: []string{"p"}, Missing: []string{"r"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if st := s.Status(); !reflect.DeepEqual(st.Policies, []string{"p", "q", "r"}) ||
		!reflect.DeepEqual(st.Missing, []string{"r"}) || p.Policy().Attempts != 5 {
		t.Errorf("%+v", st)
	}
}

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

// TestReloadConcurrent: reloads that overlap end with the file as it is last.
func TestReloadConcurrent(t *testing.T) {
	names := write(t, policy(2))
	s, err := quietLoader().Load(names...)
	must(t, err)
	e := executor(t, s, "p")
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 50 {
				file := fmt.Sprintf("new%d", g)
				if os.WriteFile(file, []byte(policy(10+i)), 0o666) != nil || os.Rename(file, names[0]) != nil {
					t.Error("cannot write")
				}
				if err := s.Reload(); err != nil {
					t.Error(err)
				}
				if err := e.Run(context.Background(), func(context.Context) error { return nil }); err != nil {
					t.Error(err)
				}
				s.Status()
			}
		})
	}
	wg.Wait()
	rewrite(t, names[0], policy(7))
	must(t, s.Reload())
	if got := e.Policy().Attempts; got != 7 {
		t.Errorf("%d attempts", got)
	}
}
