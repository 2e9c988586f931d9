package rationgrpc_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationgrpc"
)

// A hop is a server that answers each call by making the same call to the next
// server, under a policy of its own.
type hop struct {
	*backend
	events recorder
	conn   *grpc.ClientConn
}

// chain starts a line of servers, each of which calls the next, and the last of
// which is bottom. All retry by p. The client that it returns calls the first,
// under p as well if the caller retries.
func chain(
	t *testing.T, bottom *backend, hops int, p ration.Policy, callerRetries bool,
	opts ...rationgrpc.ServerOption,
) (testpb.TestServiceClient, []*hop) {
	t.Helper()
	next := serve(t, bottom, rationgrpc.ServerOptions(opts...)...)
	line := make([]*hop, hops)
	for i := hops - 1; i >= 0; i-- {
		h := &hop{}
		q := p
		q.OnEvent = h.events.hear
		h.conn = connect(t, next, newGuard(t, q).DialOptions()...)
		client := testpb.NewTestServiceClient(h.conn)
		h.backend = &backend{
			unary: func(ctx context.Context, _ int) error {
				return shapes["unary"](ctx, client)
			},
			stream: func(_ int, s testpb.TestService_StreamingOutputCallServer) error {
				return shapes["server stream"](s.Context(), client)
			},
		}
		next = serve(t, h, rationgrpc.ServerOptions(opts...)...)
		line[i] = h
	}
	var dial []grpc.DialOption
	if callerRetries {
		dial = newGuard(t, p).DialOptions()
	}
	return testpb.NewTestServiceClient(connect(t, next, dial...)), line
}

// C26: in a chain in which every hop retries, a fault at the bottom multiplies, and
// each hop below the first reports from its first attempt on that it retries
// inside the retries of another. With the loop broken the hop next to the fault
// spends its attempts, and its word travels up to whoever else would have retried.
func TestChain(t *testing.T) {
	for _, tc := range []struct {
		name          string
		hops          int
		callerRetries bool
		opts          []rationgrpc.ServerOption
		bottom        int   // calls that reached it
		received      []int // calls that each hop received
		nested        []int // nested retries that each hop reported
	}{
		{"two hops", 2, false, nil, 9, []int{1, 3}, []int{0, 3}},
		{"two hops, broken", 2, false, []rationgrpc.ServerOption{nil, rationgrpc.BreakLoops()},
			3, []int{1, 1}, []int{0, 1}},
		{"two hops and a caller", 2, true, nil, 27, []int{3, 9}, []int{3, 9}},
		{"two hops and a caller, broken", 2, true,
			[]rationgrpc.ServerOption{rationgrpc.BreakLoops()}, 3, []int{1, 1}, []int{1, 1}},
		{"four hops, broken", 4, true,
			[]rationgrpc.ServerOption{rationgrpc.BreakLoops()}, 3, []int{1, 1, 1, 1}, []int{1, 1, 1, 1}},
	} {
		for _, shape := range []string{"unary", "server stream"} {
			t.Run(tc.name+", "+shape, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := failEverything()
					client, line := chain(t, b, tc.hops, plain(), tc.callerRetries, tc.opts...)
					err := shapes[shape](t.Context(), client)
					if status.Code(err) != codes.Unavailable {
						t.Errorf("the caller got %v", err)
					}
					checkCalls(t, b, tc.bottom)
					var received, nested []int
					for _, h := range line {
						received = append(received, len(h.take()))
						nested = append(nested, count(h.events.take(), ration.EventNestedRetry))
					}
					if !slices.Equal(received, tc.received) {
						t.Errorf("received %v, want %v", received, tc.received)
					}
					if !slices.Equal(nested, tc.nested) {
						t.Errorf("nested %v, want %v", nested, tc.nested)
					}
				})
			})
		}
	}
}

// What makes a server say that its caller must not retry: its own retries were
// spent or refused, for this very call, and the caller would retry.
func TestBreakLoops(t *testing.T) {
	throughout := []rationgrpc.ServerOption{rationgrpc.BreakLoops()}
	for _, tc := range []struct {
		name   string
		change func(*ration.Policy)
		bottom error
		marker string
		opts   []rationgrpc.ServerOption
		said   string
		answer bool // the server has an answer all the same
	}{
		{"spent", nil, down, "1", throughout, "-1", false},
		{"budget", func(p *ration.Policy) { p.Budget = drained(t) }, down, "1", throughout, "-1", false},
		{"breaker", func(p *ration.Policy) {
			p.Breaker = &ration.BreakerSettings{ConsecutiveFailures: 1}
		}, down, "1", throughout, "-1", false},
		{"permanent", nil, status.Error(codes.NotFound, ""), "1", throughout, "", false},
		{"success", nil, nil, "1", throughout, "", false},
		{"no retries of its own", func(p *ration.Policy) { p.Attempts = 1 }, down, "1", throughout, "", false},
		{"caller does not retry", nil, down, "", throughout, "", false},
		{"not asked for", nil, down, "1", nil, "", false},
		{"answered all the same", nil, down, "1", throughout, "", true},
	} {
		for _, shape := range []string{"unary", "server stream"} {
			t.Run(tc.name+", "+shape, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := failEverything()
					b.unary = always(tc.bottom)
					b.stream = func(int, testpb.TestService_StreamingOutputCallServer) error { return tc.bottom }
					p := plain()
					if tc.change != nil {
						tc.change(&p)
					}
					client, line := chain(t, b, 1, p, false, tc.opts...)
					if tc.answer {
						unary, stream := line[0].unary, line[0].stream
						line[0].unary = func(ctx context.Context, n int) error {
							unary(ctx, n)
							return nil
						}
						line[0].stream = func(n int, s testpb.TestService_StreamingOutputCallServer) error {
							stream(n, s)
							return nil
						}
					}
					ctx := t.Context()
					if tc.marker != "" {
						ctx = metadata.AppendToOutgoingContext(ctx, rationgrpc.RetryingKey, tc.marker)
					}
					var trailer metadata.MD
					if shape == "unary" {
						client.EmptyCall(ctx, &testpb.Empty{}, grpc.Trailer(&trailer))
					} else {
						s, err := client.StreamingOutputCall(ctx, request(1))
						if err != nil {
							t.Fatal(err)
						}
						s.Recv()
						trailer = s.Trailer()
					}
					if got := strings.Join(trailer.Get("grpc-retry-pushback-ms"), " "); got != tc.said {
						t.Errorf("said %q, want %q", got, tc.said)
					}
				})
			})
		}
	}
}

// A server's word that forbids a retry is passed on by every shape of call.
func TestForbiddenTravels(t *testing.T) {
	for shape, run := range shapes {
		t.Run(shape, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := pushing(down, []string{"-1"})
				b.upload = func(_ int, s testpb.TestService_StreamingInputCallServer) error {
					s.SetTrailer(metadata.Pairs("grpc-retry-pushback-ms", "-1"))
					return down
				}
				b.chat = func(_ int, s testpb.TestService_FullDuplexCallServer) error {
					s.SetTrailer(metadata.Pairs("grpc-retry-pushback-ms", "-1"))
					return down
				}
				client, _ := call(t, b, plain())
				var gaveUp ration.GiveUp
				run(ration.WithGiveUp(t.Context(), &gaveUp), client)
				if !gaveUp.Marked() {
					t.Error("the word was not passed on")
				}
				checkCalls(t, b, 1)
			})
		})
	}
}

// What a handler's context says of its caller.
func TestInbound(t *testing.T) {
	for _, tc := range []struct {
		name  string
		md    []string
		opts  []rationgrpc.ServerOption
		want  ration.Criticality
		retry bool
	}{
		{"nothing", nil, nil, ration.Critical, false},
		{"retrying", []string{"x-nresilience-retrying", "1"}, nil, ration.Critical, true},
		{"retrying, other case", []string{"X-NResilience-Retrying", "1"}, nil, ration.Critical, true},
		{"not 1", []string{"x-nresilience-retrying", "true"}, nil, ration.Critical, false},
		{"twice", []string{"x-nresilience-retrying", "1", "x-nresilience-retrying", "1"}, nil,
			ration.Critical, false},
		{"sheddable", []string{"x-criticality", "Sheddable"}, nil, ration.Sheddable, false},
		{"any case", []string{"x-criticality", "sheddablePLUS"}, nil, ration.SheddablePlus, false},
		{"promoted", []string{"x-criticality", "CriticalPlus"}, nil, ration.Critical, false},
		{"unknown", []string{"x-criticality", "urgent"}, nil, ration.Critical, false},
		{"number", []string{"x-criticality", "-2"}, nil, ration.Critical, false},
		{"two", []string{"x-criticality", "Sheddable", "x-criticality", "Sheddable"}, nil,
			ration.Critical, false},
		{"ignored", []string{"x-criticality", "Sheddable", "x-nresilience-retrying", "1"},
			[]rationgrpc.ServerOption{rationgrpc.IgnoreCriticality()}, ration.Critical, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := failEverything()
				check := func(ctx context.Context) {
					if got := ration.CriticalityOf(ctx); got != tc.want {
						t.Errorf("level %v, want %v", got, tc.want)
					}
					if got := ration.IsNestedRetry(ctx); got != tc.retry {
						t.Errorf("nested %t, want %t", got, tc.retry)
					}
				}
				b.unary = func(ctx context.Context, _ int) error { check(ctx); return nil }
				b.stream = func(_ int, s testpb.TestService_StreamingOutputCallServer) error {
					check(s.Context())
					return nil
				}
				b.chat = func(_ int, s testpb.TestService_FullDuplexCallServer) error {
					check(s.Context())
					return nil
				}
				conn := connect(t, serve(t, b, rationgrpc.ServerOptions(tc.opts...)...))
				ctx := metadata.AppendToOutgoingContext(t.Context(), tc.md...)
				for _, shape := range []string{"unary", "server stream", "bidi stream"} {
					if err := shapes[shape](ctx, testpb.NewTestServiceClient(conn)); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// What a remote caller gets of an error that a handler returns.
func TestOutbound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := func(p ration.Policy, ctx context.Context, err error) error {
			e := ration.MustNew(p)
			e.Run(t.Context(), func(context.Context) error { return err })
			got := e.Run(ctx, func(context.Context) error { return err })
			var is *ration.Error
			if !errors.As(got, &is) {
				t.Fatalf("%v is no stop", got)
			}
			return got
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		p := plain()
		p.Name, p.Budget = "db", drained(t)
		budget := stop(p, t.Context(), ration.Transient(errors.New("no connection")))
		budgetOverStatus := stop(p, t.Context(), ration.Transient(status.Error(codes.Aborted, "conflict")))
		p.Budget = nil
		p.Breaker = &ration.BreakerSettings{ConsecutiveFailures: 1}
		breaker := stop(p, t.Context(), ration.Transient(errors.New("no connection")))
		canceled := stop(p, cancelled, ration.Transient(down))
		p.Breaker, p.Deadline = nil, 50*ms
		deadline := stop(p, t.Context(), ration.Transient(down))
		client, _ := call(t, failEverything(), ration.Policy{Name: "db", Budget: drained(t)})
		ours := shapes["unary"](t.Context(), client)

		for _, tc := range []struct {
			name string
			err  error
			code codes.Code
			text string
			hint bool
		}{
			{"no stop", errors.New("odd"), codes.Unknown, "odd", false},
			{"a status", status.Error(codes.NotFound, "no"), codes.NotFound, "no", false},
			{"a context error", context.DeadlineExceeded, codes.DeadlineExceeded,
				"context deadline exceeded", false},
			{"budget", budget, codes.Unavailable,
				"ration: db: retry budget exhausted after 1 attempt: no connection", false},
			{"budget, wrapped", fmt.Errorf("load: %w", budget), codes.Unavailable,
				"load: ration: db: retry budget exhausted after 1 attempt: no connection", false},
			{"budget, over a status", budgetOverStatus, codes.Aborted,
				"ration: db: retry budget exhausted after 1 attempt: " +
					"rpc error: code = Aborted desc = conflict", false},
			{"breaker", breaker, codes.Unavailable, "ration: db: breaker open before the first attempt", true},
			{"breaker, wrapped", fmt.Errorf("load: %w", breaker), codes.Unavailable,
				"load: ration: db: breaker open before the first attempt", true},
			{"cancelled, over a status", canceled, codes.Canceled,
				"ration: db: canceled before the first attempt", false},
			{"deadline, over a status", deadline, codes.DeadlineExceeded,
				"ration: db: deadline exceeded after 1 attempt: rpc error: code = Unavailable desc = down", false},
			{"of another gRPC call", ours, codes.Unavailable, ours.Error(), false},
			{"with a status of the handler's own", translated{budget}, codes.FailedPrecondition, "translated",
				false},
			{"of another gRPC call, wrapped", fmt.Errorf("load: %w", ours), codes.Unavailable,
				"load: " + ours.Error(), false},
		} {
			b := failEverything()
			b.unary = always(tc.err)
			b.stream = func(int, testpb.TestService_StreamingOutputCallServer) error { return tc.err }
			conn := connect(t, serve(t, b, rationgrpc.ServerOptions()...))
			for _, shape := range []string{"unary", "server stream"} {
				got := status.Convert(shapes[shape](t.Context(), testpb.NewTestServiceClient(conn)))
				if got.Code() != tc.code || got.Message() != tc.text {
					t.Errorf("%s, %s: %v %q, want %v %q", tc.name, shape, got.Code(), got.Message(),
						tc.code, tc.text)
				}
				if hinted := len(got.Details()) == 1; hinted != tc.hint {
					t.Errorf("%s, %s: details %v", tc.name, shape, got.Details())
				}
			}
		}
	})
}

// A translated error has a status of its own.
type translated struct{ error }

func (t translated) Unwrap() error { return t.error }
func (translated) GRPCStatus() *status.Status {
	return status.New(codes.FailedPrecondition, "translated")
}

// A refusal's hint crosses the wire as RetryInfo, and is obeyed there like any
// other: the caller comes back when the break is over, and not before.
func TestRefusalHintsAtTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &backend{unary: failing(down)}
		p := plain()
		p.Breaker = &ration.BreakerSettings{ConsecutiveFailures: 1, Break: 4 * time.Second}
		var heard recorder
		client, line := chain(t, b, 1, p, false)
		shapes["unary"](t.Context(), client)
		q := plain()
		q.OnEvent = heard.hear
		conn := connect(t, serve(t, line[0], rationgrpc.ServerOptions()...), newGuard(t, q).DialOptions()...)
		if err := shapes["unary"](t.Context(), testpb.NewTestServiceClient(conn)); err != nil {
			t.Fatal(err)
		}
		checkCalls(t, b, 2)
		for _, ev := range heard.take() {
			if ev.Kind != ration.EventRetrying {
				continue
			}
			info, ok := status.Convert(ev.Err).Details()[0].(*errdetails.RetryInfo)
			if !ok || info.GetRetryDelay().AsDuration() != ev.Delay || ev.Delay < time.Second {
				t.Errorf("waits %v, told %v", ev.Delay, info)
			}
		}
	})
}
