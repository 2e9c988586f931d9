package rationotel_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationhttp"
)

// tally is what a test counts by hand.
type tally struct {
	calls, attempts, refused int
	outcomes                 map[string]int
}

func (c *tally) end(outcome string) {
	c.calls++
	if c.outcomes == nil {
		c.outcomes = make(map[string]int)
	}
	c.outcomes[outcome]++
}

// outcomeOf reads an outcome off an error, as a caller would.
func outcomeOf(err error, last error) string {
	var stop *ration.Error
	switch {
	case err == nil:
		return "succeeded"
	case errors.As(err, &stop):
		return map[ration.StopReason]string{
			ration.StopDeadlineExceeded: "deadline_exceeded",
			ration.StopBudgetExhausted:  "budget_exhausted",
			ration.StopUnavailable:      "dependency_unavailable",
			ration.StopCanceled:         "canceled",
		}[stop.Reason]
	case errors.Is(last, errPermanent):
		return "permanent"
	}
	return "attempts_exhausted"
}

var (
	errDown      = errors.New("down")
	errPermanent = errors.New("bad request")
)

// Calls and attempts agree with a count by hand whatever becomes of them, also if
// the caller cancels, the function panics, or the attempt is refused locally.
func TestCountsAreExact(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			m := attach(t)
			dice := rand.New(rand.NewPCG(seed, 1))
			p := ration.Policy{
				Name:           "exact",
				Deadline:       20 * time.Second,
				AttemptTimeout: time.Second,
				Breaker:        &ration.BreakerSettings{},
			}
			if seed%2 == 0 { // else there is rarely more than one attempt
				p.Breaker, p.Budget = nil, ration.NoBudget
			}
			e := ration.MustNew(p)
			var want tally
			for range 100 {
				switch dice.IntN(3) {
				case 0:
					byDo(dice, e, &want)
				case 1:
					byHand(dice, e, &want)
				case 2:
					byHTTP(t, dice, p, &want)
				}
			}
			got := m.collect(t)
			if n := got.sum("nresilience.calls"); n != want.calls {
				t.Errorf("seed %d: %d calls, want %d", seed, n, want.calls)
			}
			if n := got.sum("nresilience.attempts"); n != want.attempts {
				t.Errorf("seed %d: %d attempts, want %d", seed, n, want.attempts)
			}
			if n := got.sum("nresilience.local_refusals"); n != want.refused {
				t.Errorf("seed %d: %d local refusals, want %d", seed, n, want.refused)
			}
			for outcome, n := range want.outcomes {
				if got := got.sum("nresilience.calls", "nresilience.outcome", outcome); got != n {
					t.Errorf("seed %d: %d calls %s, want %d", seed, got, outcome, n)
				}
			}
			rejected := want.outcomes["budget_exhausted"] + want.outcomes["dependency_unavailable"]
			if n := got.sum("nresilience.rejections"); n != rejected {
				t.Errorf("seed %d: %d rejections, want %d", seed, n, rejected)
			}
			if n := got.sum("nresilience.call.duration"); n != want.calls {
				t.Errorf("seed %d: %d call durations, want %d", seed, n, want.calls)
			}
			cut := got.sum("nresilience.attempts", "nresilience.verdict", "abandoned")
			if n := got.sum("nresilience.attempt.duration"); n != want.attempts-cut {
				t.Errorf("seed %d: %d attempt durations, want %d", seed, n, want.attempts-cut)
			}
		})
	}
}

// byDo makes one call by Do.
func byDo(dice *rand.Rand, e *ration.Executor, want *tally) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if dice.IntN(5) == 0 {
		time.AfterFunc(time.Duration(dice.IntN(int(2*time.Second))), cancel)
	}
	var last error
	defer func() {
		if recover() != nil {
			want.end("abandoned")
		}
	}()
	_, err := ration.Do(ctx, e, func(ctx context.Context) (struct{}, error) {
		want.attempts++
		last = errDown
		switch dice.IntN(10) {
		case 0:
			panic("a fault of the function")
		case 1: // hangs until its timer, or the caller, ends it
			<-ctx.Done()
			return struct{}{}, ctx.Err()
		case 2:
			want.attempts--
			want.refused++
			return struct{}{}, ration.Refused(errDown, 0)
		case 3:
			last = errPermanent
			return struct{}{}, ration.Permanent(errPermanent)
		case 4, 5, 6:
			return struct{}{}, ration.Transient(errDown)
		}
		return struct{}{}, nil
	})
	want.end(outcomeOf(err, last))
}

// byHand drives one call, and gives up now and then.
//
// sleep: runs in the bubble of the test
func byHand(dice *rand.Rand, e *ration.Executor, want *tally) {
	call := e.Begin(context.Background(), time.Now())
	verdict := ration.Verdict{}
	for d := call.Decision(); d.Action != ration.ActStop; {
		if d.Action == ration.ActAttempt {
			want.attempts++
		}
		if dice.IntN(8) == 0 {
			call.Abandon(time.Now())
			if d.Action == ration.ActPause { // the refusal has been told
				want.end(outcomeOf(call.Decision().Err, nil))
				return
			}
			want.end("abandoned")
			return
		}
		if d.Action != ration.ActAttempt {
			time.Sleep(d.Delay)
			d = call.Next(time.Now(), ration.Outcome{}, dice.Float64())
			continue
		}
		time.Sleep(time.Duration(dice.IntN(int(time.Second))))
		o := ration.Outcome{}
		switch dice.IntN(4) {
		case 0:
			o.Err, o.Verdict = errDown, ration.Verdict{Kind: ration.VerdictTransient}
		case 1:
			o.TimedOut = true
		case 2:
			o.Err, o.Verdict = errDown, ration.Verdict{Kind: ration.VerdictPermanent}
		}
		verdict = o.Verdict
		d = call.Next(time.Now(), o, dice.Float64())
	}
	last := errDown
	if verdict.Kind == ration.VerdictPermanent {
		last = errPermanent
	}
	want.end(outcomeOf(call.Decision().Err, last))
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// byHTTP sends one request.
func byHTTP(t *testing.T, dice *rand.Rand, p ration.Policy, want *tally) {
	status := 0
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		want.attempts++
		status = []int{200, 404, 503, 429}[dice.IntN(4)]
		return &http.Response{
			StatusCode: status, Request: r, Body: io.NopCloser(strings.NewReader("")),
		}, nil
	})
	transport, err := rationhttp.NewTransport(base, p)
	if err != nil {
		t.Fatal(err)
	}
	method := []string{http.MethodGet, http.MethodPost}[dice.IntN(2)] // a POST is not repeated
	req := httptest.NewRequest(method, "http://host.example/", http.NoBody)
	resp, err := transport.RoundTrip(req)
	switch {
	case err != nil:
		want.end(outcomeOf(err, nil))
		return
	case status < 500 && status != 429: // 404 is an answer too
		want.end("succeeded")
	default:
		want.end("attempts_exhausted")
	}
	resp.Body.Close()
}
