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
