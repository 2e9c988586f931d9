package ration_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ration-go/ration"
)

var update = flag.Bool("update", false, "rewrite the files in testdata from what is printed now")

// golden compares got with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; make it with go test -update", err)
	}
	if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("%s differs; go test -update shows how. Now:\n%s", file, got)
	}
}

func TestExplain(t *testing.T) {
	budget := func(fraction, floor float64) *ration.Budget {
		b, err := ration.NewBudget(fraction, floor)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	shared, err := ration.SharedBudget("explained", 0.2, 5)
	if err != nil {
		t.Fatal(err)
	}
	breaker := &ration.BreakerSettings{
		FailureRatio: 0.5, MinimumCalls: 50, Break: 10 * time.Second,
	}
	for _, tc := range []struct {
		name string
		p    ration.Policy
		live func(*testing.T, *ration.Executor) *ration.Executor
	}{
		{name: "default"},
		{name: "single attempt", p: ration.Policy{Name: "charge", Attempts: 1}},
		{name: "no budget", p: ration.Policy{Name: "mine", Budget: ration.NoBudget}},
		{name: "no bounds", p: ration.Policy{
			Deadline: ration.NoLimit, AttemptTimeout: ration.NoLimit,
		}},
		{name: "no deadline", p: ration.Policy{
			Deadline: ration.NoLimit, AttemptTimeout: 2 * time.Second, Attempts: 30,
			Backoff: ration.ConstantBackoff(time.Second), Budget: budget(0.05, 0),
		}},
		{name: "deadline binds", p: ration.Policy{
			Name: "hurried", Attempts: 5, Deadline: 4 * time.Second, AttemptTimeout: time.Second,
			Ceiling: ration.NoCeiling, Backoff: exact,
		}},
		{name: "deadline cuts", p: ration.Policy{
			Deadline: 2500 * ms, AttemptTimeout: time.Second, Backoff: ration.NoBackoff,
		}},
		{name: "no time for the wait", p: ration.Policy{
			Deadline: 1050 * ms, AttemptTimeout: time.Second,
		}},
		{name: "timeout above deadline", p: ration.Policy{
			Deadline: time.Second, AttemptTimeout: time.Minute, Ceiling: ration.NoCeiling,
		}},
		{name: "custom", p: ration.Policy{
			Breaker: breaker, Budget: shared,
			Backoff: ration.Backoff{Custom: func(ration.Next) time.Duration {
				t.Error("Explain ran the user's curve")
				return 0
			}},
		}},
		{name: "waits beyond counting", p: ration.Policy{
			Attempts: 6, Deadline: ration.NoLimit, AttemptTimeout: time.Second,
			Backoff: ration.Backoff{Factor: 1e9, Max: ration.NoLimit, Jitter: ration.EqualJitter},
		}},
		{
			name: "warm",
			p: ration.Policy{
				Name:    "payments",
				Backoff: ration.Backoff{Measured: &ration.MeasuredBase{}},
				Ceiling: &ration.Ceiling{Multiple: 2, Floor: 10 * ms},
			},
			live: func(t *testing.T, e *ration.Executor) *ration.Executor {
				warm(t, e, 30, 40960*time.Microsecond)
				return e
			},
		},
		{
			name: "cold measured base",
			p:    ration.Policy{Backoff: ration.Backoff{Measured: &ration.MeasuredBase{}}},
		},
		{
			name: "key with open breaker",
			p: ration.Policy{
				Name: "payments", Breaker: &ration.BreakerSettings{ConsecutiveFailures: 3},
			},
			live: func(t *testing.T, e *ration.Executor) *ration.Executor {
				e = e.For("eu-west-1")
				for range 3 {
					e.Once().Run(t.Context(), fails(errDown))
				}
				return e
			},
		},
		{
			name: "spent budget",
			p:    ration.Policy{Budget: budget(0.1, 1)},
			live: func(_ *testing.T, e *ration.Executor) *ration.Executor {
				for range 10 {
					e.Budget().Withdraw(time.Now(), ration.Critical)
				}
				return e
			},
		},
		{
			name: "once",
			p:    ration.Policy{Name: "payments"},
			live: func(_ *testing.T, e *ration.Executor) *ration.Executor { return e.Once() },
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := ration.MustNew(tc.p)
				if tc.live != nil {
					e = tc.live(t, e)
				}
				file := strings.ReplaceAll(tc.name, " ", "-") + ".txt"
				golden(t, filepath.Join("explain", file), e.Explain())
			})
		})
	}
}

// Explaining takes no probe, spends nothing and tells nobody.
func TestExplainHasNoSideEffects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard recorder
		e := ration.MustNew(ration.Policy{
			OnEvent: heard.hear,
			Backoff: ration.Backoff{Measured: &ration.MeasuredBase{}},
			Breaker: &ration.BreakerSettings{
				ConsecutiveFailures: 1, Break: time.Second, ProbeSuccesses: 1,
			},
		})
		warm(t, e, 30, 40*ms)
		e.Run(t.Context(), fails(errDown))
		time.Sleep(time.Second)
		heard.take()
		before := e.Budget().Utilization()
		if first, second := e.Explain(), e.Explain(); first != second {
			t.Error("the second reading differs from the first")
		}
		if events := heard.take(); len(events) != 0 {
			t.Errorf("events %q", kinds(events))
		}
		if after := e.Budget().Utilization(); after != before {
			t.Errorf("utilization %v, then %v", before, after)
		}
		if err := e.Run(t.Context(), func(context.Context) error { return nil }); err != nil {
			t.Errorf("the probe is gone: %v", err)
		}
	})
}
