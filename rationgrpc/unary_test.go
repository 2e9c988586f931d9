package rationgrpc_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationgrpc"
)

// The header, trailer and peer that reach the caller's options are those of the
// last attempt: of a success, of a failure, and of an attempt that got nowhere.
func TestCallOptions(t *testing.T) {
	for _, tc := range []struct {
		name    string
		answers []error
		cut     int // the connection is refused from this attempt on; 0 = never
		want    string
	}{
		{"success", []error{down, nil}, 0, "header 2, trailer 2, peer bufconn"},
		{"failure", []error{down, down, down}, 0, "header 3, trailer 3, peer bufconn"},
		{"without a stream", []error{down, down, down}, 2, "header , trailer , peer "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &backend{unary: func(ctx context.Context, n int) error {
					grpc.SendHeader(ctx, metadata.Pairs("n", strconv.Itoa(n)))
					grpc.SetTrailer(ctx, metadata.Pairs("n", strconv.Itoa(n)))
					return tc.answers[n-1]
				}}
				guard := newGuard(t, plain())
				n := 0
				refuse := func(
					ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
					invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
				) error {
					if n++; n >= tc.cut && tc.cut > 0 {
						return status.Error(codes.Unavailable, "no connection")
					}
					return invoke(ctx, method, req, reply, cc, opts...)
				}
				conn := connect(t, serve(t, b), append(guard.DialOptions(),
					grpc.WithChainUnaryInterceptor(refuse))...)
				var (
					header, trailer metadata.MD
					from            peer.Peer
				)
				testpb.NewTestServiceClient(conn).EmptyCall(t.Context(), &testpb.Empty{},
					grpc.Header(&header), grpc.Trailer(&trailer), grpc.Peer(&from))
				addr := ""
				if from.Addr != nil {
					addr = from.Addr.String()
				}
				got := fmt.Sprintf("header %s, trailer %s, peer %s", strings.Join(header.Get("n"), " "),
					strings.Join(trailer.Get("n"), " "), addr)
				if got != tc.want {
					t.Errorf("got %q, want %q", got, tc.want)
				}
			})
		})
	}
}

// Calls with any number of options keep them all, and their own slice.
func TestManyOptions(t *testing.T) {
	guard := newGuard(t, plain())
	for n := range 10 {
		opts := make([]grpc.CallOption, n, 20)
		for i := range opts {
			opts[i] = grpc.MaxCallRecvMsgSize(i)
		}
		full := opts[:20]
		err := guard.Unary()(t.Context(), unaryMethod, nil, nil, nil,
			func(_ context.Context, _ string, _, _ any, _ *grpc.ClientConn, got ...grpc.CallOption) error {
				if len(got) != n+1 || cap(got) != n+1 { // whoever appends gets an array of their own
					t.Errorf("%d options with room for %d, want %d and ours", len(got), cap(got), n)
				}
				for i := range n {
					if got[i] != opts[i] {
						t.Errorf("option %d of %d is %v", i, n, got[i])
					}
				}
				return nil
			}, opts...)
		if err != nil || full[n] != nil {
			t.Errorf("%v; beyond the caller's options there is now %v", err, full[n])
		}
	}
}

// How each stop reads to code that knows statuses and to code that knows errors.
func TestErrors(t *testing.T) {
	errShutdown := errors.New("shutting down")
	notFound := status.Error(codes.NotFound, "no such thing")
	tight := func(p *ration.Policy) { p.Budget = drained(t) }
	fragile := func(p *ration.Policy) {
		p.Breaker = &ration.BreakerSettings{ConsecutiveFailures: 1, Break: 8 * time.Second}
	}
	for _, tc := range []struct {
		name   string
		answer error
		change func(*ration.Policy)
		ctx    func(context.Context) (context.Context, context.CancelFunc)
		reason ration.StopReason
		code   codes.Code
		is     []error
		isNot  []error
		hint   bool
		same   bool // the status as the server gave it
	}{
		{name: "permanent", answer: notFound, reason: ration.StopPermanent, code: codes.NotFound,
			same: true},
		{name: "exhausted", answer: down, reason: ration.StopAttemptsExhausted,
			code: codes.Unavailable, same: true},
		{name: "exhausted, throttled", answer: status.Error(codes.ResourceExhausted, "slow"),
			reason: ration.StopAttemptsExhausted, code: codes.ResourceExhausted, same: true},
		{name: "budget", answer: down, change: tight, reason: ration.StopBudgetExhausted,
			code: codes.Unavailable, is: []error{ration.ErrBudgetExhausted},
			isNot: []error{ration.ErrUnavailable, context.DeadlineExceeded}},
		{name: "budget, throttled", answer: status.Error(codes.ResourceExhausted, "slow"),
			change: tight, reason: ration.StopBudgetExhausted, code: codes.ResourceExhausted,
			is: []error{ration.ErrBudgetExhausted}},
		{name: "breaker", answer: down, change: fragile, reason: ration.StopUnavailable,
			code: codes.Unavailable, is: []error{ration.ErrUnavailable},
			isNot: []error{ration.ErrBudgetExhausted}, hint: true},
		{name: "deadline", answer: down,
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, 150*ms)
			},
			reason: ration.StopDeadlineExceeded, code: codes.DeadlineExceeded,
			is:    []error{ration.ErrDeadlineExceeded, context.DeadlineExceeded},
			isNot: []error{context.Canceled}},
		// C13: the caller's own reason comes back.
		{name: "cancelled in the wait", answer: down,
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancelCause(ctx)
				stop := time.AfterFunc(50*ms, func() { cancel(errShutdown) })
				return ctx, func() { stop.Stop() }
			},
			reason: ration.StopCanceled, code: codes.Canceled,
			is:    []error{context.Canceled, errShutdown},
			isNot: []error{context.DeadlineExceeded}},
		{name: "cancelled before", answer: down,
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				cancel()
				return ctx, cancel
			},
			reason: ration.StopCanceled, code: codes.Canceled, is: []error{context.Canceled}},
	} {
		for _, shape := range []string{"unary", "server stream"} {
			t.Run(tc.name+", "+shape, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := failEverything()
					b.unary = always(tc.answer)
					b.stream = func(int, testpb.TestService_StreamingOutputCallServer) error {
						return tc.answer
					}
					p := plain()
					p.Name = "test"
					if tc.change != nil {
						tc.change(&p)
					}
					var heard recorder
					p.OnEvent = heard.hear
					client, _ := call(t, b, p)
					ctx := t.Context()
					if tc.ctx != nil {
						var cancel context.CancelFunc
						ctx, cancel = tc.ctx(ctx)
						defer cancel()
					}
					err := shapes[shape](ctx, client)
					events := heard.take()
					if got := events[len(events)-1].Reason; got != tc.reason {
						t.Errorf("stopped for %v, want %v", got, tc.reason)
					}
					if s, ok := status.FromError(err); !ok || s.Code() != tc.code {
						t.Errorf("status %v (%t)", s, ok)
					}
					if s := status.Convert(fmt.Errorf("wrapped: %w", err)); s.Code() != tc.code ||
						!strings.HasPrefix(s.Message(), "wrapped: ") {
						t.Errorf("wrapped, status %v", s)
					}
					checkIs(t, err, tc.is, tc.isNot)
					var stop *ration.Error
					if errors.As(err, &stop) == tc.same {
						t.Errorf("%T holds a stop: %v, want %v", err, stop != nil, !tc.same)
					}
					if tc.same {
						if err.Error() != tc.answer.Error() {
							t.Errorf("the caller got %v, want %v", err, tc.answer)
						}
						return
					}
					if stop.Reason != tc.reason || stop.Attempts != len(b.take()) {
						t.Errorf("%v after %d attempts", stop.Reason, stop.Attempts)
					}
					if last, ok := stop.Last.(interface{ GRPCStatus() *status.Status }); stop.Attempts > 0 &&
						(!ok || last.GRPCStatus().Message() != status.Convert(tc.answer).Message()) {
						t.Errorf("last failure %T %v", stop.Last, stop.Last)
					}
					if !strings.HasPrefix(err.Error(), "ration: test: ") || err.Error() != stop.Error() {
						t.Errorf("text %q", err)
					}
					if got := len(status.Convert(err).Details()) > 0; got != tc.hint {
						t.Errorf("details %v", status.Convert(err).Details())
					}
				})
			})
		}
	}
}

// A refusal after attempts that timed out is no DeadlineExceeded: the caller has
// time left.
func TestRefusalAfterTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &backend{unary: func(ctx context.Context, _ int) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		p := plain()
		p.AttemptTimeout, p.Budget = time.Second, drained(t)
		client, _ := call(t, b, p)
		_, err := client.EmptyCall(t.Context(), &testpb.Empty{})
		checkIs(t, err, []error{ration.ErrBudgetExhausted}, nil)
		if status.Code(err) != codes.Unavailable {
			t.Errorf("status %v", status.Code(err))
		}
	})
}

// Every problem of the policy and of the options is told at once.
func TestNewErrors(t *testing.T) {
	_, err := rationgrpc.New(ration.Policy{Attempts: -1, Name: "bad"}, rationgrpc.WithExecutor(nil), nil)
	var config *ration.ConfigError
	if !errors.As(err, &config) || len(config.Problems) != 1 {
		t.Errorf("got %v", err)
	}
	if err == nil || !strings.Contains(err.Error(), "rationgrpc: WithExecutor") {
		t.Errorf("got %v", err)
	}
}

// What a hook returns ends the call and is returned as it is.
func TestHookError(t *testing.T) {
	errHook := errors.New("no token")
	p := plain()
	p.BeforeAttempt = func(context.Context, int) error { return errHook }
	guard := newGuard(t, p)
	if err := invoke(t.Context(), guard, func() error { return nil }); err != errHook {
		t.Errorf("got %v", err)
	}
}

// C21: a bucket that failures have drained is filled by successes, of every shape
// of call, so that a failure is retried again.
func TestBudgetRefills(t *testing.T) {
	for shape, run := range shapes {
		t.Run(shape, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &backend{}
				answer := func(err error) {
					b.unary = always(err)
					b.stream = func(int, testpb.TestService_StreamingOutputCallServer) error { return err }
					b.upload = func(_ int, s testpb.TestService_StreamingInputCallServer) error {
						if err != nil {
							return err
						}
						return s.SendAndClose(&testpb.StreamingInputCallResponse{})
					}
					b.chat = func(int, testpb.TestService_FullDuplexCallServer) error { return err }
				}
				p := plain()
				p.Budget = drained(t)
				client, _ := call(t, b, p)
				try := func(want int) {
					t.Helper()
					answer(down)
					b.take()
					client.EmptyCall(t.Context(), &testpb.Empty{})
					checkCalls(t, b, want)
				}
				try(1)
				answer(nil)
				for range 10 {
					if err := run(t.Context(), client); err != nil {
						t.Fatal(err)
					}
				}
				try(2)
				try(1)
			})
		})
	}
}

// State is kept for each service: the storm of one spends nothing that another
// needs, and opens no breaker but its own.
func TestScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plain()
		p.Budget, p.Breaker = nil, nil // what both mean here: one for each service
		guard := newGuard(t, p)
		attempts := func(method string, answer error) (n int, err error) {
			err = guard.Unary()(t.Context(), method, nil, nil, nil,
				func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
					n++
					return answer
				})
			return n, err
		}
		for range 20 {
			attempts("/pkg.Bad/A", down)
			attempts("/pkg.Bad/B", down)
		}
		if _, err := attempts("/pkg.Bad/C", nil); !errors.Is(err, ration.ErrUnavailable) {
			t.Errorf("the failing service: %v", err)
		}
		if n, err := attempts("/pkg.Good/A", down); n != 3 || err != down {
			t.Errorf("the other service: %d attempts, %v", n, err)
		}
		var keys []string
		for _, k := range guard.Executor().Keys() {
			keys = append(keys, fmt.Sprint(k.Key(), " ", k.Breaker(time.Now()).State))
		}
		if got := strings.Join(keys, ", "); got != "pkg.Bad open, pkg.Good closed" {
			t.Errorf("keys %s", got)
		}
	})
}

func TestScopeOptions(t *testing.T) {
	for _, tc := range []struct {
		name string
		opt  rationgrpc.Option
		want string
	}{
		{"service", nil, "a.S b.S "},
		{"one", rationgrpc.WithScope(nil), ""},
		{"method", rationgrpc.WithScope(func(m string) string { return m }), "/a.S/M /b.S/M /b.S/N odd "},
	} {
		guard := newGuard(t, plain(), tc.opt)
		for _, method := range []string{"/a.S/M", "/b.S/M", "/b.S/N", "odd"} {
			guard.Unary()(t.Context(), method, nil, nil, nil,
				func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
					return nil
				})
		}
		var keys strings.Builder
		for _, k := range guard.Executor().Keys() {
			if k.Key() != "odd" || tc.name == "method" {
				keys.WriteString(k.Key() + " ")
			}
		}
		if keys.String() != tc.want {
			t.Errorf("%s: keys %q, want %q", tc.name, keys.String(), tc.want)
		}
	}
}

// C35: what one call does to its context is nothing to another. Of 100 calls at
// once, exactly the 50 that are cancelled end so, and each attempt sees the
// values of its own call.
func TestCallsAreIndependent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		b := &backend{unary: func(ctx context.Context, n int) error {
			pause(ctx, time.Duration(rand.N(200))*ms)
			if n%3 == 0 {
				return down
			}
			pause(ctx, 300*ms)
			return ctx.Err()
		}}
		p := plain()
		p.Attempts = 20
		guard := newGuard(t, p)
		var crossed atomic.Int32
		look := func(
			ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
			invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
		) error {
			md, _ := metadata.FromOutgoingContext(ctx)
			if got := md.Get("id"); len(got) != 1 || got[0] != ctx.Value(key{}) {
				crossed.Add(1)
			}
			return invoke(ctx, method, req, reply, cc, opts...)
		}
		conn := connect(t, serve(t, b), append(guard.DialOptions(),
			grpc.WithChainUnaryInterceptor(look))...)
		client := testpb.NewTestServiceClient(conn)
		var (
			wg        sync.WaitGroup
			cancelled atomic.Int32
		)
		for i := range 100 {
			wg.Go(func() {
				id := strconv.Itoa(i)
				ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, id))
				defer cancel()
				ctx = metadata.AppendToOutgoingContext(ctx, "id", id)
				if i%2 == 0 {
					time.AfterFunc(time.Duration(rand.N(250))*ms, cancel)
				}
				_, err := client.EmptyCall(ctx, &testpb.Empty{})
				switch {
				case i%2 == 0 && status.Code(err) == codes.Canceled && errors.Is(err, context.Canceled):
					cancelled.Add(1)
				case err != nil:
					t.Errorf("call %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		if cancelled.Load() != 50 || crossed.Load() != 0 {
			t.Errorf("%d ended as cancelled, %d crossed", cancelled.Load(), crossed.Load())
		}
	})
}

// C31, C38: events and errors carry nothing of what is in a call but the names of
// its service and policy.
func TestNoSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard recorder
		p := plain()
		p.Name, p.OnEvent, p.Budget, p.Breaker = "test", heard.hear, nil, nil
		client, _ := call(t, failEverything(), p, rationgrpc.WithCriticality())
		keys := map[string]bool{}
		for i := range 200 {
			ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "S3CRET", "id", strconv.Itoa(i))
			for _, run := range shapes {
				err := run(ctx, client)
				if strings.Contains(fmt.Sprintf("%v %+v", err, err), "S3CRET") {
					t.Fatal(err)
				}
			}
			for _, ev := range heard.take() {
				if strings.Contains(fmt.Sprintf("%+v %v", ev, ev.Err), "S3CRET") {
					t.Fatal(ev)
				}
				keys[ev.Policy+"/"+ev.Key] = true
			}
		}
		if len(keys) != 1 || !keys["test/grpc.testing.TestService"] {
			t.Errorf("labels %v", keys)
		}
	})
}
