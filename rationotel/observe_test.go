package rationotel_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ration-go/ration"
)

// one returns the only value of a metric with the attributes given.
func (s samples) one(t *testing.T, name string, pairs ...string) float64 {
	t.Helper()
	found := s.of(name, pairs...)
	if len(found) != 1 {
		t.Errorf("%s %v: %d series, want 1", name, pairs, len(found))
		return -1
	}
	return found[0].value
}

func TestBudgetIsObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := attach(t)
		e := ration.MustNew(plain("budget"))
		defer e.Key()
		expect := func(utilization, tokens float64) {
			t.Helper()
			got := m.collect(t)
			if u := got.one(t, "nresilience.budget.utilization", "nresilience.policy", "budget"); u != utilization {
				t.Errorf("utilization %v, want %v", u, utilization)
			}
			if n := got.one(t, "nresilience.budget.tokens", "nresilience.policy", "budget"); n != tokens {
				t.Errorf("tokens %v, want %v", n, tokens)
			}
		}
		expect(0, 30)
		for range 15 {
			e.Budget().Withdraw(time.Now(), ration.Critical)
		}
		expect(0.5, 15)
		time.Sleep(2500 * time.Millisecond) // 3 a second
		expect(0.25, 22.5)
	})
}

// Without a budget or a breaker there is no series that would say all is well.
func TestNothingIsObservedOfNothing(t *testing.T) {
	m := attach(t)
	p := plain("none")
	p.Budget, p.Breaker = ration.NoBudget, ration.NoBreaker
	e := ration.MustNew(p)
	defer e.Key()
	got := m.collect(t)
	for _, name := range []string{
		"nresilience.budget.utilization", "nresilience.budget.tokens", "nresilience.breaker.state",
	} {
		if found := got.of(name, "nresilience.policy", "none"); len(found) != 0 {
			t.Errorf("%s: %v", name, found)
		}
	}
}

func TestBreakerIsObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := attach(t)
		p := plain("breaker")
		p.Breaker = &ration.BreakerSettings{ConsecutiveFailures: 1, ProbeSuccesses: 1, Break: time.Minute}
		e := ration.MustNew(p)
		k := e.For("host")
		defer e.Key()
		expect := func(want float64) {
			t.Helper()
			got := m.collect(t)
			if s := got.one(t, "nresilience.breaker.state", "nresilience.key", "host"); s != want {
				t.Errorf("state %v, want %v", s, want)
			}
		}
		expect(0)
		play(context.Background(), k, time.Now(), transient)
		expect(2)
		time.Sleep(2 * time.Minute)
		expect(1)
		play(context.Background(), k, time.Now(), succeeded)
		expect(0)
	})
}

// Of several executors of one policy, and of the keys past the limit, the worst is
// what is told, whatever their order.
func TestTheWorstIsObserved(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}} {
		m := attach(t)
		var alive []*ration.Executor
		for range order {
			p := plain("twin")
			p.Breaker = &ration.BreakerSettings{ConsecutiveFailures: 1}
			alive = append(alive, ration.MustNew(p))
		}
		for place, i := range order {
			e := alive[place]
			for range 10 * i {
				e.Budget().Withdraw(time.Now(), ration.Critical)
			}
			if i == 2 {
				play(context.Background(), e, time.Now(), transient)
			}
		}
		got := m.collect(t)
		if u := got.one(t, "nresilience.budget.utilization", "nresilience.policy", "twin"); u < 0.6 || u > 0.7 {
			t.Errorf("%v: utilization %v, want 2/3", order, u)
		}
		if n := got.one(t, "nresilience.budget.tokens", "nresilience.policy", "twin"); n < 10 || n > 11 {
			t.Errorf("%v: %v tokens, want 10", order, n)
		}
		if s := got.one(t, "nresilience.breaker.state", "nresilience.policy", "twin"); s != 2 {
			t.Errorf("%v: state %v, want 2", order, s)
		}
		clear(alive) // not to be seen by the next round
		collectGarbage(t)
	}
}

// A budget that all keys draw on is one series, and those of their own are one each.
func TestSharedBudgetIsOneSeries(t *testing.T) {
	m := attach(t)
	b, err := ration.NewBudget(0.1, 3)
	if err != nil {
		t.Fatal(err)
	}
	p := plain("shared")
	p.Budget = b
	shared, own := ration.MustNew(p), ration.MustNew(plain("own"))
	defer func() { shared.Key(); own.Key() }()
	for _, key := range []string{"a", "b"} {
		shared.For(key)
		own.For(key)
	}
	got := m.collect(t)
	for policy, want := range map[string]int{"shared": 1, "own": 3} {
		if n := len(got.of("nresilience.budget.utilization", "nresilience.policy", policy)); n != want {
			t.Errorf("%s: %d series, want %d", policy, n, want)
		}
	}
}
