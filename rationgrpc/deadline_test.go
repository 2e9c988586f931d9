package rationgrpc_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/ration-go/ration"
)

// Whose deadline a DeadlineExceeded tells of decides what follows: the attempt's
// own is worth another try, the server's is an answer, and the caller's and the
// policy's end the call without being held against anybody.
func TestDeadlines(t *testing.T) {
	untilCancelled := func(ctx context.Context, _ int) error {
		<-ctx.Done()
		return ctx.Err()
	}
	// A server that gives up some time before its deadline.
	early := func(by time.Duration) func(context.Context, int) error {
		return func(ctx context.Context, _ int) error {
			d, _ := ctx.Deadline()
			pause(ctx, time.Until(d)-by)
			return status.Error(codes.DeadlineExceeded, "the server's")
		}
	}
	deaf := func(context.Context, int) error {
		<-time.After(time.Minute)
		return nil
	}
	own := []error{ration.ErrAttemptTimeout, context.DeadlineExceeded}
	stop := []error{ration.ErrDeadlineExceeded, context.DeadlineExceeded}
	for _, tc := range []struct {
		name     string
		server   func(context.Context, int) error
		caller   time.Duration // 0 = none
		deadline time.Duration // of the policy; 0 = its default
		attempts int
		took     time.Duration
		is       []error
		evidence int // failures that the breaker saw
	}{
		{"the attempt's", untilCancelled, 0, 0, 3, 3300 * ms, own, 3},
		{"the attempt's, server deaf", deaf, 0, 0, 3, 3300 * ms, own, 3},
		{"the attempt's, server first", early(3 * ms), 0, 0, 3, 3300 * ms, own, 3},
		{"the server's", early(50 * ms), 0, 0, 1, 950 * ms, nil, 0},
		{"the server's, at once", always(status.Error(codes.DeadlineExceeded, "")), 0, 0, 1, 0, nil, 0},
		{"the caller's", untilCancelled, 500 * ms, 0, 1, 500 * ms, stop, 0},
		{"the caller's, server deaf", deaf, 500 * ms, 0, 1, 500 * ms, stop, 0},
		{"the caller's, server first", early(3 * ms), 500 * ms, 0, 1, 500 * ms, stop, 0},
		{"the caller's, in the second attempt", deaf, 1500 * ms, 0, 2, 1500 * ms, stop, 1},
		{"the policy's", deaf, 0, 500 * ms, 1, 500 * ms, stop, 0},
		{"the policy's, server first", early(3 * ms), 0, 500 * ms, 1, 500 * ms, stop, 0},
		{"the caller's, in the wait", always(down), 50 * ms, 0, 1, 0, stop, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &backend{unary: tc.server}
				var heard recorder
				p := plain()
				p.AttemptTimeout, p.Deadline, p.OnEvent = time.Second, tc.deadline, heard.hear
				p.Breaker = &ration.BreakerSettings{ConsecutiveFailures: 4}
				client, guard := call(t, b, p)
				ctx := t.Context()
				if tc.caller > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tc.caller)
					defer cancel()
				}
				begin := time.Now()
				_, err := client.EmptyCall(ctx, &testpb.Empty{})
				if got := time.Since(begin); got != tc.took {
					t.Errorf("took %v, want %v", got, tc.took)
				}
				if len(tc.is) > 0 {
					checkIs(t, err, tc.is, nil)
				} else {
					checkIs(t, err, nil, stop)
				}
				if status.Code(err) != codes.DeadlineExceeded {
					t.Errorf("status %v of %v", status.Code(err), err)
				}
				checkCalls(t, b, tc.attempts)

				// What the breaker saw is what is missing until it opens.
				e := guard.Executor().For("grpc.testing.TestService").Once()
				more := 0
				for ; e.Breaker(time.Now()).State == ration.BreakerClosed; more++ {
					e.Run(t.Context(), func(context.Context) error { return ration.Transient(down) })
				}
				if got := 4 - more; got != tc.evidence {
					t.Errorf("the breaker saw %d failures, want %d", got, tc.evidence)
				}
			})
		})
	}
}

// An attempt's own timeout is not for the policy's classifier to judge, as
// elsewhere; the server's is.
func TestTimeoutsAreNotClassified(t *testing.T) {
	for _, tc := range []struct {
		name     string
		server   func(context.Context, int) error
		attempts int
		asked    int
	}{
		{"own", func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() }, 3, 0},
		{"the server's", always(status.Error(codes.DeadlineExceeded, "")), 1, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &backend{unary: tc.server}
				asked := 0
				p := plain()
				p.AttemptTimeout = time.Second
				p.Classify = func(any, error) ration.Verdict {
					asked++
					return ration.Verdict{Kind: ration.VerdictPermanent}
				}
				client, _ := call(t, b, p)
				shapes["unary"](t.Context(), client)
				checkCalls(t, b, tc.attempts)
				if asked != tc.asked {
					t.Errorf("the classifier was asked %d times, want %d", asked, tc.asked)
				}
			})
		})
	}
}

// A context that names a deadline and does not keep it holds nobody up.
func TestBrokenContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plain()
		p.AttemptTimeout, p.Deadline = ration.NoLimit, ration.NoLimit
		ctx := brokenContext{t.Context(), time.Now().Add(ms)}
		n := 0
		err := invoke(ctx, newGuard(t, p), func() error {
			n++
			return status.Error(codes.DeadlineExceeded, "the server's")
		})
		if status.Code(err) != codes.DeadlineExceeded || n != 1 {
			t.Errorf("%v after %d attempts", err, n)
		}
	})
}

type brokenContext struct {
	context.Context
	deadline time.Time
}

func (c brokenContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Each attempt's deadline goes out as grpc-timeout. One that the caller has set
// stands where it is tighter, for all attempts together.
func TestTimeoutOnTheWire(t *testing.T) {
	for _, tc := range []struct {
		name    string
		attempt time.Duration
		call    time.Duration
		caller  time.Duration
		want    []time.Duration // 0 = none
	}{
		{"attempt", time.Second, 0, 0, []time.Duration{time.Second, time.Second, time.Second}},
		{"caller", time.Second, 0, 800 * ms, []time.Duration{800 * ms, 700 * ms, 500 * ms}},
		{"policy", time.Second, 1150 * ms, 0, []time.Duration{time.Second, time.Second, 850 * ms}},
		{"none", ration.NoLimit, ration.NoLimit, 0, []time.Duration{0, 0, 0}},
		{"caller alone", ration.NoLimit, ration.NoLimit, time.Hour,
			[]time.Duration{time.Hour, time.Hour - 100*ms, time.Hour - 300*ms}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &backend{unary: always(down)}
				p := plain()
				p.AttemptTimeout, p.Deadline = tc.attempt, tc.call
				client, _ := call(t, b, p)
				ctx := t.Context()
				if tc.caller > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tc.caller)
					defer cancel()
				}
				client.EmptyCall(ctx, &testpb.Empty{})
				calls := b.take()
				if len(calls) != len(tc.want) {
					t.Fatalf("%d attempts, want %d", len(calls), len(tc.want))
				}
				for i, c := range calls {
					// gRPC rounds up to what eight digits hold.
					if c.left < tc.want[i] || c.left > tc.want[i]+ms {
						t.Errorf("attempt %d had %v left, want %v", i+1, c.left, tc.want[i])
					}
				}
			})
		})
	}
}

// A stream outlives its attempt, so that only the caller's deadline goes out.
func TestTimeoutOfStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &backend{stream: func(int, testpb.TestService_StreamingOutputCallServer) error { return down }}
		client, _ := call(t, b, plain())
		recv(t.Context(), client)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		recv(ctx, client)
		calls := b.take()
		if len(calls) != 6 {
			t.Fatalf("%d attempts", len(calls))
		}
		for _, c := range calls[:3] {
			if c.left != 0 {
				t.Errorf("%v left, want no deadline", c.left)
			}
		}
		for _, c := range calls[3:] {
			if c.left < 59*time.Minute {
				t.Errorf("%v left of the caller's hour", c.left)
			}
		}
	})
}

// recv opens a stream and receives once.
func recv(
	ctx context.Context, client testpb.TestServiceClient,
) (*testpb.StreamingOutputCallResponse, error) {
	s, err := client.StreamingOutputCall(ctx, &testpb.StreamingOutputCallRequest{})
	if err != nil {
		return nil, err
	}
	return s.Recv()
}

// C25: no moment at which the deadline can pass leaves a call hanging, between
// attempts or within one. In virtual time the deadline hits every boundary
// exactly.
func TestDeadlineSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sweep(t, func(deadline, took time.Duration, name string, err error) {
			if took > deadline {
				t.Errorf("%s: returned after %v, deadline %v", name, took, deadline)
			}
			if !errors.Is(err, ration.ErrDeadlineExceeded) || status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("%s: deadline %v: %v", name, deadline, err)
			}
		})
	})
}

// The same by the clock on the wall, where all that is certain is that every call
// ends, and with what status. Whether it is the executor that says so is not: on a
// busy machine the server's word that the deadline has passed may arrive well
// before it has passed here.
func TestDeadlineSweepInRealTime(t *testing.T) {
	sweep(t, func(deadline, _ time.Duration, name string, err error) {
		if status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("%s: deadline %v: %v", name, deadline, err)
		}
	})
}

// sweep makes calls with deadlines from 0 to 60 ms, all at once, against attempts
// of 10 ms with waits of 10 ms between them.
func sweep(t *testing.T, check func(deadline, took time.Duration, name string, err error)) {
	b := &backend{
		unary: func(ctx context.Context, _ int) error {
			pause(ctx, 10*ms)
			return down
		},
		stream: func(_ int, s testpb.TestService_StreamingOutputCallServer) error {
			pause(s.Context(), 10*ms)
			return down
		},
	}
	p := plain()
	p.Attempts, p.Backoff = 100, ration.Backoff{Transient: 10 * ms, Factor: 1, Jitter: ration.NoJitter}
	client, _ := call(t, b, p)
	var wg sync.WaitGroup
	for deadline := time.Duration(0); deadline <= 60*ms; deadline += ms / 4 {
		run := func(name string, call func(context.Context) error) {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), deadline)
				defer cancel()
				begin := time.Now()
				err := call(ctx)
				check(deadline, time.Since(begin), name, err)
			})
		}
		run("unary", func(ctx context.Context) error {
			_, err := client.EmptyCall(ctx, &testpb.Empty{})
			return err
		})
		run("stream", func(ctx context.Context) error {
			_, err := recv(ctx, client)
			return err
		})
	}
	wg.Wait()
}
