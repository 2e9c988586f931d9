package ration

import (
	"errors"
	"sync"
	"testing"
	"time"
)

func TestRetune(t *testing.T) {
	for name, tt := range map[string]struct {
		spend         int
		idle          time.Duration // before the change
		fraction      float64
		floor         float64
		tokens, limit float64
	}{
		"a full bucket stays full":           {0, 0, 0.5, 30, 300, 300},
		"what is left stays":                 {10, 0, 0.5, 30, 20, 300},
		"clamped to the new capacity":        {10, 0, 0.1, 1, 10, 10},
		"accrues at the old floor until now": {25, 2 * time.Second, 0.1, 30, 11, 300},
		"a floor of none keeps one token":    {29, 0, 0.1, 0, 1, 1},
		"spent stays spent":                  {30, 0, 1, 10, 0, 100},
	} {
		t.Run(name, func(t *testing.T) {
			b := mustBudget(t, 0.1, 3)
			now := time.Unix(1000, 0)
			for range tt.spend {
				if !b.Withdraw(now, Critical) {
					t.Fatal("not funded")
				}
			}
			now = now.Add(tt.idle)
			if err := b.Retune(now, tt.fraction, tt.floor); err != nil {
				t.Fatal(err)
			}
			if got := b.Tokens(now); got != tt.tokens {
				t.Errorf("%v tokens, want %v", got, tt.tokens)
			}
			if b.Fraction() != tt.fraction || b.MinimumPerSecond() != tt.floor ||
				b.Capacity() != tt.limit {
				t.Errorf("parameters %v, %v, %v", b.Fraction(), b.MinimumPerSecond(), b.Capacity())
			}
			if full := tt.tokens == tt.limit; b.full.Load() != full {
				t.Errorf("full is %v, want %v", b.full.Load(), full)
			}
			if tt.tokens == tt.limit {
				return
			}
			b.Deposit(now)
			if got := b.Tokens(now); got != min(tt.tokens+tt.fraction, tt.limit) {
				t.Errorf("a deposit makes it %v tokens", got)
			}
			if got := b.Tokens(now.Add(time.Second / 10)); got != min(tt.tokens+tt.fraction+tt.floor/10, tt.limit) {
				t.Errorf("a tenth of a second makes it %v tokens", got)
			}
		})
	}
}

func TestRetuneRefuses(t *testing.T) {
	b := mustBudget(t, 0.1, 3)
	for _, bad := range [][2]float64{{0, 3}, {1.1, 3}, {0.1, -1}, {0.1, 1e9}} {
		if b.Retune(time.Now(), bad[0], bad[1]) == nil {
			t.Errorf("%v: no error", bad)
		}
	}
	if b.Fraction() != 0.1 || b.MinimumPerSecond() != 3 {
		t.Error("a bad change changed something")
	}
	if NoBudget.Retune(time.Now(), 0.1, 3) == nil || (*Budget)(nil).Retune(time.Now(), 0.1, 3) == nil {
		t.Error("no error from a budget that is off")
	}
	if NoBudget.Capacity() != 0 || (*Budget)(nil).Tokens(time.Now()) != 0 || NoBudget.Reserve() != 0 {
		t.Error("a budget that is off has numbers")
	}
}

// The bound holds for each period by itself while somebody turns the knobs.
func TestRetuneConcurrent(t *testing.T) {
	b := mustBudget(t, 0.1, 3)
	now := time.Unix(1000, 0)
	var work sync.WaitGroup
	for i := range 4 {
		work.Go(func() {
			for n := range 1000 {
				switch i {
				case 0:
					if err := b.Retune(now, 0.1+0.2*float64(n%2), float64(3+n%5)); err != nil {
						t.Error(err)
					}
				case 1:
					b.Deposit(now)
				default:
					b.Withdraw(now, Criticality(-2*(n%2)))
					if b.Tokens(now) > 70 || b.UtilizationAt(now) < 0 {
						t.Error("more than the largest capacity")
					}
				}
			}
		})
	}
	work.Wait()
}

func TestPrivateBudget(t *testing.T) {
	if _, err := PrivateBudget(2, 3); err == nil {
		t.Error("no error for a fraction of 2")
	}
	private, err := PrivateBudget(0.2, 5)
	if err != nil {
		t.Fatal(err)
	}
	e := MustNew(Policy{Budget: private})
	a, b := e.For("a"), e.For("b")
	if e.Budget() == a.Budget() || a.Budget() == b.Budget() || e.Budget() == private {
		t.Fatal("a bucket is shared")
	}
	for _, x := range []*Executor{e, a, b} {
		if x.Budget().Fraction() != 0.2 || x.Budget().Capacity() != 50 {
			t.Errorf("%q has %v, %v", x.Key(), x.Budget().Fraction(), x.Budget().Capacity())
		}
	}
	if MustNew(Policy{Budget: private, Attempts: 1}).Budget() == nil {
		t.Error("a policy that names a budget has none")
	}
}

// Whatever a policy's budget turns into, what was spent stays spent, for each key
// by itself.
func TestUpdateTunesEachKey(t *testing.T) {
	private := func(fraction, floor float64) *Budget {
		b, err := PrivateBudget(fraction, floor)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	e := MustNew(Policy{})
	a := e.For("a")
	for range 30 {
		a.Budget().Withdraw(clock().time(), Critical)
	}
	for range 10 {
		e.Budget().Withdraw(clock().time(), Critical)
	}
	bucket := a.Budget()
	check := func(step string, x *Executor, fraction, capacity, least, most float64) {
		t.Helper()
		b, now := x.Budget(), clock().time()
		if got := b.Tokens(now); b.Fraction() != fraction || b.Capacity() != capacity ||
			got < least || got > most {
			t.Errorf("%s, key %q: fraction %v, capacity %v, %v tokens; want %v, %v, %v to %v",
				step, x.Key(), b.Fraction(), b.Capacity(), got, fraction, capacity, least, most)
		}
	}
	update := func(b *Budget) {
		t.Helper()
		if err := e.Update(Policy{Budget: b}); err != nil {
			t.Fatal(err)
		}
	}
	const slack = 2 // the floor's share of the time that this takes
	update(private(0.2, 10))
	check("tuned", a, 0.2, 100, 0, slack)
	check("tuned", e, 0.2, 100, 20, 20+slack)
	check("tuned", e.For("new"), 0.2, 100, 100, 100)
	if a.Budget() != bucket {
		t.Error("the bucket was replaced")
	}
	template := private(0.5, 1)
	update(template)
	check("clamped", e, 0.5, 10, 10, 10)
	if err := template.Retune(clock().time(), 0.4, 2); err != nil {
		t.Fatal(err)
	}
	check("a template reaches new keys alone", a, 0.5, 10, 0, slack)
	check("a template reaches new keys alone", e.For("newer"), 0.4, 20, 20, 20)
	update(template)
	check("until the next update", a, 0.4, 20, 0, slack)
	update(nil)
	check("back to the defaults", a, 0.1, 30, 0, slack)
}

func TestUpdateRefusesZeroBudget(t *testing.T) {
	var config *ConfigError
	if err := MustNew(Policy{}).Update(Policy{Budget: &Budget{}}); !errors.As(err, &config) {
		t.Errorf("got %v", err)
	}
}
