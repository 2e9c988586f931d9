package ration_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ration-go/ration"
)

// spend takes n tokens.
func spend(t *testing.T, b *ration.Budget, n int) {
	t.Helper()
	for range n {
		if !b.Withdraw(time.Now(), ration.Critical) {
			t.Fatal("the budget is spent already")
		}
	}
}

// sleep: in the bubble of each case
func TestHealth(t *testing.T) {
	breaker := &ration.BreakerSettings{ConsecutiveFailures: 1, Break: 15 * time.Second}
	fail := func(e *ration.Executor) {
		_ = e.Once().Run(context.Background(), func(context.Context) error { return errDown })
	}
	for _, tc := range []struct {
		name    string
		p       ration.Policy
		trouble func(*testing.T, *ration.Executor)
		want    string // the beginning of the reason
	}{
		{name: "new"},
		{name: "below the threshold", trouble: func(t *testing.T, e *ration.Executor) {
			spend(t, e.Budget(), 26)
		}},
		{name: "at the threshold", trouble: func(t *testing.T, e *ration.Executor) {
			spend(t, e.Budget(), 27)
		}, want: "the retry budget is spent to 90%"},
		{name: "spent", trouble: func(t *testing.T, e *ration.Executor) {
			spend(t, e.Budget(), 30)
		}, want: "the retry budget is spent to 100%"},
		{name: "refilled", trouble: func(t *testing.T, e *ration.Executor) {
			spend(t, e.Budget(), 30)
			time.Sleep(2 * time.Second)
		}},
		{name: "no budget", p: ration.Policy{Budget: ration.NoBudget},
			trouble: func(_ *testing.T, e *ration.Executor) { fail(e) }},
		{name: "open", p: ration.Policy{Breaker: breaker},
			trouble: func(_ *testing.T, e *ration.Executor) { fail(e) },
			want:    "the breaker is open, for another "},
		{name: "half-open", p: ration.Policy{Breaker: breaker},
			trouble: func(_ *testing.T, e *ration.Executor) {
				fail(e)
				time.Sleep(15 * time.Second)
			}},
		{name: "both", p: ration.Policy{Breaker: breaker},
			trouble: func(t *testing.T, e *ration.Executor) {
				fail(e)
				spend(t, e.Budget(), 30)
			}, want: "the breaker is open, for another "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tc.p.Name = "checkout"
				tc.p.Unlisted = true
				e := ration.MustNew(tc.p)
				if tc.trouble != nil {
					tc.trouble(t, e)
				}
				h := e.Health(time.Now())
				state := ration.HealthOK
				if tc.want != "" {
					state = ration.HealthDegraded
				}
				if h.Name != "checkout" || h.State != state {
					t.Errorf("%+v, want checkout %v", h, state)
				}
				if !strings.HasPrefix(h.Reason, tc.want) || tc.want == "" && h.Reason != "" {
					t.Errorf("reason %q, want %q", h.Reason, tc.want)
				}
				if tc.name == "both" && !strings.HasSuffix(h.Reason, "; the retry budget is spent to 100%") {
					t.Errorf("reason %q does not name both", h.Reason)
				}
			})
		})
	}
}

// The reason of a shared budget names it: it may be another executor's doing.
func TestHealthOfSharedBudget(t *testing.T) {
	shared, err := ration.SharedBudget("health", 0.1, 1)
	if err != nil {
		t.Fatal(err)
	}
	spend(t, shared, 10)
	e := ration.MustNew(ration.Policy{Budget: shared, Unlisted: true})
	want := `the retry budget "health" is spent to `
	if h := e.Health(time.Now()); !strings.HasPrefix(h.Reason, want) {
		t.Errorf("reason %q, want %q", h.Reason, want)
	}
}

func TestCheckHealth(t *testing.T) {
	e := ration.MustNew(ration.Policy{Name: "health of keys"})
	spend(t, e.For("b").Budget(), 30)
	e.For("a")
	unlisted := ration.MustNew(ration.Policy{Name: "health of nobody", Unlisted: true})
	var got []string
	for _, h := range ration.CheckHealth(time.Now()) {
		if strings.HasPrefix(h.Name, "health of") {
			got = append(got, fmt.Sprint(h.Name, "/", h.Key, "/", h.State))
		}
	}
	want := "health of keys//ok, health of keys/a/ok, health of keys/b/degraded"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("%s, want %s", s, want)
	}
	_, _ = e.Budget(), unlisted.Budget() // both are in use until here
}

// A page of an operator, or an alert, asks for what is degraded. A liveness probe
// must not: to restart would throw away what the budget knows.
func ExampleExecutor_Health() {
	e := ration.MustNew(ration.Policy{Name: "inventory"})
	now := time.Now()
	for range 30 {
		e.Budget().Withdraw(now, ration.Critical)
	}
	h := e.Health(now)
	fmt.Printf("%s is %v: %s\n", h.Name, h.State, h.Reason)
	// Output: inventory is degraded: the retry budget is spent to 100%
}
