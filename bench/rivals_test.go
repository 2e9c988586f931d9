package bench

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go/middleware"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/budget"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationsim"
)

// The tests of this file hold the simulator's models of other projects' rules to
// the projects themselves. A storm is drawn once: when each call comes, how each
// of its attempts would end, after how long, and how long the wait behind it
// would be. The real library runs it with goroutines in a bubble, the model runs
// it by itself, and each must make the same number of attempts for every call.
// As the waits are given, what is compared is the rule alone.

// stormAttempts is the most attempts a call makes, one more than anybody's
// default, so that calls hold on to what they were granted more than twice.
const stormAttempts = 4

// A storm is a list of calls in the order in which they come.
type storm []stormCall

type stormCall struct {
	at       time.Duration
	attempts [stormAttempts]stormAttempt
}

type stormAttempt struct {
	end        rationsim.AttemptEnd
	took, wait time.Duration
}

// newStorm draws calls through five phases, in which none, few, most, all and
// few again of the attempts fail. Every length is a random number of
// nanoseconds, so that no two events fall on one instant and their order is the
// same for the library and for the model.
func newStorm(seed uint64, calls int, perSecond float64) storm {
	r := rand.New(rand.NewPCG(seed, 0))
	phases := []float64{0, 0.1, 0.6, 1, 0.05}
	s := make(storm, calls)
	var at time.Duration
	for i := range s {
		at += time.Duration(r.ExpFloat64() / perSecond * float64(time.Second))
		s[i].at = at
		for j := range s[i].attempts {
			s[i].attempts[j] = stormAttempt{
				end:  drawEnd(r, phases[i*len(phases)/calls]),
				took: time.Duration(1e6 + r.Int64N(99e6)),
				wait: time.Duration(50e6 + r.Int64N(100e6)),
			}
		}
	}
	return s
}

// drawEnd returns a failure with probability p: of ten, one is permanent, two are
// throttled and two are timeouts.
func drawEnd(r *rand.Rand, p float64) rationsim.AttemptEnd {
	if r.Float64() >= p {
		return rationsim.AttemptEnd{}
	}
	switch r.IntN(10) {
	case 0:
		return rationsim.AttemptEnd{Verdict: ration.VerdictPermanent}
	case 1, 2:
		return rationsim.AttemptEnd{Verdict: ration.VerdictThrottled}
	case 3, 4:
		return rationsim.AttemptEnd{Verdict: ration.VerdictTransient, TimedOut: true}
	}
	return rationsim.AttemptEnd{Verdict: ration.VerdictTransient}
}

func mayMend(end rationsim.AttemptEnd) bool {
	return end.Verdict == ration.VerdictTransient || end.Verdict == ration.VerdictThrottled
}

// A modelCall is a call that the model has under way, and its next event.
type modelCall struct {
	rationsim.Held
	call    int
	made    int
	at      time.Duration
	working bool // an attempt ends at that time; else one is due
}

// model returns how many attempts the limiter lets each call make.
func (s storm) model(l rationsim.Limiter) []int {
	made := make([]int, len(s))
	var live []*modelCall
	for next := 0; next < len(s) || len(live) > 0; {
		first := 0
		for i, c := range live {
			if c.at < live[first].at {
				first = i
			}
		}
		if next < len(s) && (len(live) == 0 || s[next].at < live[first].at) {
			c := &modelCall{call: next, at: s[next].at}
			next++
			l.Begin(c.at, &c.Held)
			c.attempt(s)
			live = append(live, c)
			continue
		}
		if c := live[first]; !c.step(s, l) {
			made[c.call] = c.made
			live = slices.Delete(live, first, first+1)
		}
	}
	return made
}

func (c *modelCall) attempt(s storm) {
	c.at += s[c.call].attempts[c.made].took
	c.made++
	c.working = true
}

// step lets the call's next event happen, and reports whether there are more.
func (c *modelCall) step(s storm, l rationsim.Limiter) bool {
	last := s[c.call].attempts[c.made-1]
	if !c.working {
		if l.Resume(c.at, &c.Held) {
			c.attempt(s)
			return true
		}
		l.End(c.at, &c.Held, false)
		return false
	}
	c.working = false
	l.Done(c.at, &c.Held, last.end)
	if mayMend(last.end) && c.made < stormAttempts && l.Retry(c.at, &c.Held, last.end) {
		c.at += last.wait
		return true
	}
	l.End(c.at, &c.Held, last.end.Verdict == ration.VerdictOK)
	return false
}

// real returns how many attempts a library makes for each call. It is given, for
// one call, the function that makes an attempt.
func (s storm) real(t *testing.T, run func(ctx context.Context, attempt func() error)) []int {
	made := make([]int, len(s))
	synctest.Test(t, func(t *testing.T) {
		var calls sync.WaitGroup
		for i := range s {
			calls.Go(func() {
				time.Sleep(s[i].at)
				run(t.Context(), func() error {
					a := s[i].attempts[made[i]]
					made[i]++
					time.Sleep(a.took)
					if a.end.Verdict == ration.VerdictOK {
						return nil
					}
					return &stormError{a}
				})
			})
		}
		calls.Wait()
	})
	return made
}

// A stormError is a failed attempt. It speaks the language of the AWS SDK, where
// codes and Timeout say what an error is.
type stormError struct{ stormAttempt }

func (e *stormError) Error() string { return e.ErrorCode() }

func (e *stormError) ErrorCode() string {
	switch e.end.Verdict {
	case ration.VerdictPermanent:
		return "AccessDenied"
	case ration.VerdictThrottled:
		return "ThrottlingException"
	}
	return "RequestTimeout"
}

func (e *stormError) Timeout() bool { return e.end.TimedOut }

func waitAfter(err error) time.Duration {
	var failed *stormError
	if !errors.As(err, &failed) {
		return 0
	}
	return failed.wait
}

// conform compares the library with the model on several storms, and checks that
// each was one in which the rule had something to say.
func conform(
	t *testing.T, rival string, perSecond float64,
	library func() func(ctx context.Context, attempt func() error),
) {
	r, ok := rationsim.RivalNamed(rival)
	if !ok {
		t.Fatalf("no rival %q", rival)
	}
	none, _ := rationsim.RivalNamed("none")
	for seed := range uint64(5) {
		s := newStorm(seed, 5000, perSecond)
		got, want := s.model(r.New()), s.real(t, library())
		for i := range s {
			if got[i] != want[i] {
				t.Fatalf("seed %d, call %d of %d at %v: the model makes %d attempts, the library %d",
					seed, i, len(s), s[i].at, got[i], want[i])
			}
		}
		calls, all, made := len(s), total(s.model(none.New())), total(want)
		t.Logf("seed %d: %d calls, %d retries of %d", seed, calls, made-calls, all-calls)
		if made == calls || made == all {
			t.Errorf("seed %d: the rule granted nothing or everything", seed)
		}
	}
}

func total(made []int) (sum int) {
	for _, n := range made {
		sum += n
	}
	return sum
}

// TestFailsafeConforms compares the budget of failsafe-go, in its retry policy,
// with the model of it.
func TestFailsafeConforms(t *testing.T) {
	for _, perSecond := range []float64{20, 500} {
		conform(t, "failsafe", perSecond, func() func(context.Context, func() error) {
			policy := retrypolicy.NewBuilder[any]().
				WithMaxAttempts(stormAttempts).
				HandleIf(func(_ any, err error) bool {
					var failed *stormError
					return errors.As(err, &failed) && mayMend(failed.end)
				}).
				WithDelayFunc(func(e failsafe.ExecutionAttempt[any]) time.Duration {
					return waitAfter(e.LastError())
				}).
				WithBudget(budget.New()).
				Build()
			e := failsafe.With(policy)
			return func(ctx context.Context, attempt func() error) {
				_ = e.WithContext(ctx).Run(attempt)
			}
		})
	}
}

// TestAWSConforms compares the standard retryer of the AWS SDK, in the middleware
// that every client has, with the model of the rules of 2026.
func TestAWSConforms(t *testing.T) {
	conform(t, "aws", 100, func() func(context.Context, func() error) {
		r := retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts = stormAttempts
			o.Backoff = retry.BackoffDelayerFunc(func(_ int, err error) (time.Duration, error) {
				return waitAfter(err), nil
			})
		})
		m := retry.NewAttemptMiddleware(r, func(request any) any { return request })
		return func(ctx context.Context, attempt func() error) {
			_, _, _ = m.HandleFinalize(ctx, middleware.FinalizeInput{}, awsHandler(
				func(context.Context) (int, error) { return 0, attempt() }))
		}
	})
}
