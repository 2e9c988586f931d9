package ration_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ration-go/ration"
)

// Where libraries of this kind are known to be lax, and this one is not. Each
// subtest is one such point, as a caller of an executor sees it.
func TestStricter(t *testing.T) {
	t.Run("ten successes fund exactly one retry", func(t *testing.T) {
		e := ration.MustNew(ration.Policy{Budget: bucketOf(t, 1), Backoff: ration.NoBackoff})
		e.Budget().Withdraw(epoch, ration.Critical)
		for round := range 1000 {
			for i := range 10 {
				retried := beginAndFail(t, e, epoch).Action == ration.ActWait
				if retried {
					t.Fatalf("round %d: funded after %d successes", round, i)
				}
				call := e.Begin(t.Context(), epoch)
				call.Next(epoch, ok, 0)
			}
			if d := beginAndFail(t, e, epoch); d.Action != ration.ActWait {
				t.Fatalf("round %d: not funded after ten successes: %s", round, describe(d))
			}
		}
	})

	t.Run("a retry that there is no time for costs nothing", func(t *testing.T) {
		b := bucketOf(t, 1)
		e := ration.MustNew(ration.Policy{Budget: b, Deadline: 100 * ms, Backoff: exact})
		expect(t, beginAndFail(t, e, epoch), "stop, deadline_exceeded")
		checkTokens(t, b, epoch, 1)
	})

	t.Run("a retry that does not start is paid back", func(t *testing.T) {
		b := bucketOf(t, 1)
		ctx, cancel := context.WithCancel(t.Context())
		call := ration.MustNew(ration.Policy{Budget: b, Backoff: exact}).Begin(ctx, epoch)
		expect(t, call.Next(epoch, transient, 0), "wait 100ms for attempt 2")
		checkTokens(t, b, epoch, 0)
		cancel()
		expect(t, call.Next(epoch, ok, 0), "stop, canceled")
		checkTokens(t, b, epoch, 1)
	})

	t.Run("a call that opens the breaker pays no token and serves no backoff", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			b := bucketOf(t, 1)
			e := ration.MustNew(ration.Policy{
				Budget:  b,
				Backoff: ration.ConstantBackoff(10 * time.Second),
				Breaker: &ration.BreakerSettings{ConsecutiveFailures: 1},
			})
			err := e.Run(t.Context(), fails(errDown))
			checkIs(t, err, []error{ration.ErrUnavailable, errDown}, nil)
			checkTokens(t, b, time.Now(), 1)
			if took := time.Since(begin); took != 100*ms {
				t.Errorf("took %v: want the pause and no more", took)
			}
		})
	})

	t.Run("a result from before the trip is no probe's", func(t *testing.T) {
		e := ration.MustNew(ration.Policy{Attempts: 1, Breaker: &ration.BreakerSettings{
			ConsecutiveFailures: 1, Break: time.Second, ProbeSuccesses: 1,
		}})
		early, failing := e.Begin(t.Context(), epoch), e.Begin(t.Context(), epoch)
		beginAndFail(t, e, epoch)
		later := epoch.Add(time.Second)
		probe := e.Begin(t.Context(), later)
		early.Next(later, ok, 0)
		failing.Next(later, transient, 0)
		if s := e.Breaker(later).State; s != ration.BreakerHalfOpen {
			t.Errorf("breaker %v while the probe is out", s)
		}
		probe.Next(later, ok, 0)
		if s := e.Breaker(later).State; s != ration.BreakerClosed {
			t.Errorf("breaker %v after the probe", s)
		}
	})

	t.Run("a probe that hangs loses its slot", func(t *testing.T) {
		e := ration.MustNew(ration.Policy{
			Attempts: 1, AttemptTimeout: 5 * time.Second, Deadline: time.Hour,
			Breaker: &ration.BreakerSettings{
				ConsecutiveFailures: 1, Break: time.Second, ProbeSuccesses: 1,
			},
		})
		beginAndFail(t, e, epoch)
		hung := e.Begin(t.Context(), epoch.Add(time.Second))
		refused := e.Begin(t.Context(), epoch.Add(6*time.Second-1))
		expect(t, refused.Decision(), "pause 100ms, unavailable")
		later := epoch.Add(6 * time.Second)
		probe := e.Begin(t.Context(), later)
		expect(t, probe.Decision(), "attempt 1 until 11s")
		hung.Next(later, transient, 0)
		if s := e.Breaker(later).State; s != ration.BreakerHalfOpen {
			t.Errorf("the late result was taken for the probe's: breaker %v", s)
		}
	})

	t.Run("a last attempt killed by the deadline says so", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := ration.MustNew(ration.Policy{Attempts: 1, Deadline: time.Second})
			r := ration.Try(t.Context(), e, func(ctx context.Context) (int, error) {
				return 0, hang(ctx, nil, 0)
			})
			if r.Stop != ration.StopDeadlineExceeded {
				t.Errorf("stopped as %v", r.Stop)
			}
		})
	})

	t.Run("a listener that panics fails no call, and is reported once", func(t *testing.T) {
		log := captureLog(t)
		e := ration.MustNew(ration.Policy{
			OnEvent: func(ration.Event) { panic("listener") }, Backoff: ration.NoBackoff,
		})
		for range 3 {
			// The nested report is an event like any other.
			ctx := ration.WithNestedRetry(t.Context())
			if err := e.Run(ctx, once(errDown)); err != nil {
				t.Error(err)
			}
		}
		if n := strings.Count(log(), "\n"); n != 1 {
			t.Errorf("%d lines:\n%s", n, log())
		}
	})

	t.Run("a cancelled call has a terminal event", func(t *testing.T) {
		var heard recorder
		ctx, cancel := context.WithCancel(t.Context())
		e := ration.MustNew(ration.Policy{OnEvent: heard.hear})
		e.Run(ctx, func(ctx context.Context) error { cancel(); return ctx.Err() })
		if ev := terminal(t, heard.take()); ev.Kind != ration.EventCanceled {
			t.Errorf("ended as %v", ev.Kind)
		}
	})

	t.Run("hints", strictHints)

	t.Run("waits that overflow are the cap", func(t *testing.T) {
		e := ration.MustNew(ration.Policy{
			Attempts: 2000, Deadline: ration.NoLimit, Budget: ration.NoBudget,
			Backoff: ration.Backoff{Factor: 1e6, Jitter: ration.NoJitter},
		})
		call := e.Begin(t.Context(), epoch)
		d := call.Decision()
		for d.Attempt < 2000 {
			d = call.Next(epoch, transient, 0)
			if d.Attempt > 2 && d.Delay != 30*time.Second {
				t.Fatalf("attempt %d waits %v", d.Attempt, d.Delay)
			}
			d = call.Next(epoch, ok, 0)
		}
	})

	t.Run("an update is applied whole or not at all, and history stays", func(t *testing.T) {
		p := ration.Policy{
			Backoff: ration.NoBackoff,
			Breaker: &ration.BreakerSettings{ConsecutiveFailures: 5},
		}
		e := ration.MustNew(p)
		for range 2 {
			beginAndFail(t, e.Once(), epoch)
		}
		spent := e.Budget().UtilizationAt(epoch)
		p.Breaker = &ration.BreakerSettings{ConsecutiveFailures: 3}
		if err := e.Update(p); err != nil {
			t.Fatal(err)
		}
		for _, bad := range []ration.Policy{
			{Attempts: -1}, {Deadline: -2}, {Breaker: &ration.BreakerSettings{FailureRatio: 2}},
		} {
			if err := e.Update(bad); !isConfigError(err) {
				t.Errorf("%+v was accepted: %v", bad, err)
			}
		}
		if now := e.Budget().UtilizationAt(epoch); now != spent {
			t.Errorf("utilization %v, then %v", spent, now)
		}
		// The third in a row: the two before the update count, by its settings.
		beginAndFail(t, e.Once(), epoch)
		if s := e.Breaker(epoch).State; s != ration.BreakerOpen {
			t.Errorf("breaker %v", s)
		}
	})

	t.Run("depth", strictDepth)
}

// beginAndFail starts a call and tells it that its first attempt failed.
func beginAndFail(t *testing.T, e *ration.Executor, now time.Time) ration.Decision {
	t.Helper()
	call := e.Begin(t.Context(), now)
	return call.Next(now, transient, 0)
}

// A hint is obeyed exactly by every curve, up to the maximum; what there is no
// time for ends the call, with the hint as it was given; and what is no hint is
// no reason to come back at once.
func strictHints(t *testing.T) {
	curves := map[string]ration.Backoff{
		"exponential": {Max: time.Minute},
		"constant":    {Transient: ms, Throttled: ms, Factor: 1, Max: time.Minute},
		"none":        ration.NoBackoff,
		"custom":      {Custom: func(ration.Next) time.Duration { return ms }, Max: time.Minute},
	}
	for name, b := range curves {
		t.Run(name, func(t *testing.T) {
			limit := time.Minute
			if name == "none" {
				limit = 30 * time.Second
			}
			for _, o := range []ration.Outcome{transient, throttled} {
				for hint, want := range map[time.Duration]time.Duration{
					17 * time.Second: 17 * time.Second,
					time.Hour:        limit,
				} {
					e := ration.MustNew(ration.Policy{Backoff: b, Deadline: ration.NoLimit})
					call := e.Begin(t.Context(), epoch)
					if d := call.Next(epoch, hinted(o, hint), 0.3); d.Delay != want {
						t.Errorf("hint %v: %s", hint, describe(d))
					}
				}
				e := ration.MustNew(ration.Policy{Backoff: b, Deadline: 10 * time.Second})
				call := e.Begin(t.Context(), epoch)
				d := call.Next(epoch, hinted(o, time.Hour), 0.3)
				expect(t, d, "stop, deadline_exceeded")
				checkHint(t, d.Err, time.Hour, true)
			}
		})
	}
	for _, hint := range []time.Duration{0, -1, -time.Hour} {
		call := ration.MustNew(ration.Policy{Backoff: exact}).Begin(t.Context(), epoch)
		expect(t, call.Next(epoch, hinted(throttled, hint), 0), "wait 1s for attempt 2")
	}
}

// The honest form of the bound: through a chain in which every layer retries,
// about 1 + depth x fraction at the bottom, and 1 + fraction where a layer that
// gave up says so and is believed.
func strictDepth(t *testing.T) {
	const calls, depth = 4000, 3
	measure := func(t *testing.T, budget, honour bool) float64 {
		layers := make([]*ration.Executor, depth)
		for i := range layers {
			p := ration.Policy{
				Backoff: ration.NoBackoff, Budget: ration.NoBudget, Ceiling: ration.NoCeiling,
			}
			if budget {
				p.Budget = bucketOf(t, 1)
			}
			layers[i] = ration.MustNew(p)
		}
		random := rand.New(rand.NewPCG(1, 2))
		bottom := 0
		var call func(ctx context.Context, layer int) error
		call = func(ctx context.Context, layer int) error {
			if layer == depth {
				bottom++
				if random.Float64() < 0.3 {
					return errDown
				}
				return nil
			}
			var g ration.GiveUp
			inner := ration.WithGiveUp(ctx, &g)
			err := layers[layer].Run(inner, func(ctx context.Context) error {
				return call(ctx, layer+1)
			})
			if err == nil {
				return nil
			}
			// What a server says in place of its own error.
			err = ration.Transient(fmt.Errorf("layer %d: 503", layer))
			if honour && g.Marked() {
				err = ration.Unrepeatable(err)
				ration.GiveUpOf(ctx).Mark()
			}
			return err
		}
		for range calls {
			call(t.Context(), 0)
		}
		return float64(bottom) / calls
	}
	for _, tc := range []struct {
		name           string
		budget, honour bool
		least, most    float64
	}{
		// By attempts alone each layer adds its own 0.3 of what is left over.
		{"no budget", false, false, 1.40, 1.50},
		{"budget", true, false, 1.05, 1.30},
		{"budget, and the word is passed on", true, true, 1.05, 1.11},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := measure(t, tc.budget, tc.honour)
				t.Logf("%.3f attempts at the bottom for each call", got)
				if got < tc.least || got > tc.most {
					t.Errorf("%.3f, want within [%v, %v]", got, tc.least, tc.most)
				}
			})
		})
	}
	t.Run("Explain says so", func(t *testing.T) {
		text := ration.MustNew(ration.Policy{}).Explain()
		if !strings.Contains(text, "1 + depth x 0.1") {
			t.Errorf("no word of depth in\n%s", text)
		}
	})
}
