package rationhttp_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationhttp"
)

type limiterFunc func() bool

func (f limiterFunc) Allow() bool { return f() }

// A local refusal is tried again after the throttled wait or the limiter's own,
// is free of charge and no evidence, and never reaches the server.
func TestLimiter(t *testing.T) {
	calls, cancelled := 0, 0
	refusals := 2
	reserve := func(delay time.Duration, ok bool) func() (bool, time.Duration, func()) {
		return func() (bool, time.Duration, func()) {
			if calls++; calls <= refusals {
				return ok, delay, func() { cancelled++ }
			}
			return true, 0, func() { cancelled++ }
		}
	}
	for _, tc := range []struct {
		name      string
		opt       rationhttp.Option
		want      time.Duration // of each wait
		hint      time.Duration
		cancelled int
	}{
		{"allow", rationhttp.WithLimiter(limiterFunc(func() bool { calls++; return calls > refusals })),
			time.Second, 0, 0},
		{"reservation", rationhttp.WithReservation(reserve(7*time.Second, true)),
			7 * time.Second, 7 * time.Second, 2},
		{"never", rationhttp.WithReservation(reserve(1<<62, false)), time.Second, 0, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls, cancelled, refusals = 0, 0, 2
				budget, err := ration.NewBudget(0.1, 1)
				if err != nil {
					t.Fatal(err)
				}
				r := &recorder{}
				p := ration.Policy{Budget: budget, OnEvent: r.hear}
				p.Breaker = &ration.BreakerSettings{ConsecutiveFailures: 1}
				p.Backoff.Jitter, p.Backoff.Factor = ration.NoJitter, 1
				base := newScript(steps(200)...)
				rt := newTransport(t, base, p, tc.opt)
				start := time.Now()
				status, _, err := send(t, rt, get(t))
				if status != 200 || err != nil || base.attempts() != 1 || cancelled != tc.cancelled {
					t.Errorf("%d, %v after %d requests, %d reservations cancelled",
						status, err, base.attempts(), cancelled)
				}
				if took := time.Since(start); took != 2*tc.want {
					t.Errorf("took %v, want two waits of %v", took, tc.want)
				}
				if v := r.all()[0].Verdict; !v.SelfImposed || v.Kind != ration.VerdictThrottled {
					t.Errorf("verdict %v", v)
				}
				if u := budget.Utilization(); u != 0 {
					t.Errorf("budget utilization %v", u)
				}

				calls, refusals = 0, 1000
				_, _, err = send(t, rt, get(t))
				var limited *rationhttp.LimitedError
				if !errors.As(err, &limited) || limited.RetryAfter != tc.hint || calls != 3 {
					t.Errorf("error %v after %d refusals", err, calls)
				}
				if s := rt.Hosts()[0].Breaker.State; s != ration.BreakerClosed {
					t.Errorf("breaker %v", s)
				}
			})
		})
	}
}
