package rationgrpc_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationgrpc"
)

const (
	unaryMethod  = "/grpc.testing.TestService/EmptyCall"
	streamMethod = "/grpc.testing.TestService/StreamingOutputCall"
)

// failEverything is a server on which every call fails.
func failEverything() *backend {
	return &backend{
		unary:  always(down),
		stream: func(int, testpb.TestService_StreamingOutputCallServer) error { return down },
		upload: func(int, testpb.TestService_StreamingInputCallServer) error { return down },
		chat:   func(int, testpb.TestService_FullDuplexCallServer) error { return down },
	}
}

// shapes makes a call of each shape, and returns how it ended.
var shapes = map[string]func(context.Context, testpb.TestServiceClient) error{
	"unary": func(ctx context.Context, c testpb.TestServiceClient) error {
		_, err := c.EmptyCall(ctx, &testpb.Empty{})
		return err
	},
	"server stream": func(ctx context.Context, c testpb.TestServiceClient) error {
		_, err := recv(ctx, c)
		return end(err)
	},
	"client stream": func(ctx context.Context, c testpb.TestServiceClient) error {
		s, err := c.StreamingInputCall(ctx)
		if err != nil {
			return err
		}
		s.Send(&testpb.StreamingInputCallRequest{}) // its error is that of the end
		_, err = s.CloseAndRecv()
		return err
	},
	"bidi stream": func(ctx context.Context, c testpb.TestServiceClient) error {
		s, err := c.FullDuplexCall(ctx)
		if err != nil {
			return err
		}
		s.CloseSend()
		_, err = s.Recv()
		return end(err)
	},
}

func end(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// What the server receives on each attempt of each shape of call. Keys are set and
// not added to what the caller's context carries, which else arrives as it was.
func TestMarkersOnTheWire(t *testing.T) {
	type wire struct{ retrying, previous, criticality, own string }
	// A proxy that hands on what it was sent: markers of another hop's retries.
	proxied := metadata.Pairs(rationgrpc.RetryingKey, "1", rationgrpc.PreviousAttemptsKey, "7",
		rationgrpc.CriticalityKey, "Sheddable", "own", "a", "own", "b")
	retried := []wire{{retrying: "1"}, {"1", "1", "", ""}, {"1", "2", "", ""}}
	for _, tc := range []struct {
		name    string
		ctx     func(context.Context) context.Context
		opts    []rationgrpc.Option
		attempt int // of the policy; 0 = 3
		shapes  string
		want    []wire
	}{
		{name: "retried", shapes: "unary, server stream", want: retried},
		{name: "not retried", shapes: "client stream, bidi stream", want: []wire{{}}},
		{name: "one attempt", attempt: 1, shapes: "unary, server stream", want: []wire{{}}},
		{name: "single-shot", ctx: rationgrpc.SingleShot, shapes: "unary, server stream",
			want: []wire{{}}},
		{name: "declared not repeatable", shapes: "unary, server stream", want: []wire{{}},
			opts: []rationgrpc.Option{rationgrpc.WithRepeatable(func(string) bool { return false })}},
		{name: "proxied", shapes: "unary, server stream",
			ctx: func(ctx context.Context) context.Context {
				return metadata.NewOutgoingContext(ctx, proxied)
			},
			want: []wire{{"1", "", "Sheddable", "a b"}, {"1", "1", "Sheddable", "a b"},
				{"1", "2", "Sheddable", "a b"}}},
		{name: "appended", shapes: "unary, server stream",
			ctx: func(ctx context.Context) context.Context {
				ctx = metadata.NewOutgoingContext(ctx, metadata.Pairs("own", "a"))
				return metadata.AppendToOutgoingContext(ctx, "X-NResilience-Retrying", "1", "Own", "b")
			},
			want: []wire{{"1", "", "", "a b"}, {"1", "1", "", "a b"}, {"1", "2", "", "a b"}}},
		{name: "proxied, not retried", shapes: "client stream, bidi stream",
			ctx: func(ctx context.Context) context.Context {
				return metadata.NewOutgoingContext(ctx, proxied)
			},
			want: []wire{{"1", "7", "Sheddable", "a b"}}},
		{name: "criticality, unlabelled", shapes: "unary, server stream",
			opts: []rationgrpc.Option{rationgrpc.WithCriticality()},
			want: []wire{{"1", "", "Critical", ""}, {"1", "1", "Critical", ""}, {"1", "2", "Critical", ""}}},
		{name: "criticality", shapes: "unary, server stream",
			opts: []rationgrpc.Option{rationgrpc.WithCriticality()},
			ctx: func(ctx context.Context) context.Context {
				ctx = metadata.NewOutgoingContext(ctx, proxied)
				return ration.WithCriticality(ctx, ration.CriticalPlus)
			},
			want: []wire{{"1", "", "CriticalPlus", "a b"}, {"1", "1", "CriticalPlus", "a b"},
				{"1", "2", "CriticalPlus", "a b"}}},
		{name: "criticality, not retried", shapes: "client stream, bidi stream",
			opts: []rationgrpc.Option{rationgrpc.WithCriticality()},
			ctx: func(ctx context.Context) context.Context {
				return ration.WithCriticality(ctx, ration.SheddablePlus)
			},
			want: []wire{{criticality: "SheddablePlus"}}},
	} {
		for shape := range strings.SplitSeq(tc.shapes, ", ") {
			t.Run(tc.name+", "+shape, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := failEverything()
					p := plain()
					p.Attempts = tc.attempt
					client, _ := call(t, b, p, tc.opts...)
					ctx := t.Context()
					if tc.ctx != nil {
						ctx = tc.ctx(ctx)
					}
					shapes[shape](ctx, client)
					var got []wire
					for _, c := range b.take() {
						got = append(got, wire{
							strings.Join(c.Get(rationgrpc.RetryingKey), " "),
							strings.Join(c.Get(rationgrpc.PreviousAttemptsKey), " "),
							strings.Join(c.Get(rationgrpc.CriticalityKey), " "),
							strings.Join(c.Get("own"), " "),
						})
					}
					if !slices.Equal(got, tc.want) {
						t.Errorf("received %v, want %v", got, tc.want)
					}
				})
			})
		}
	}
	if len(proxied) != 4 || proxied.Get(rationgrpc.PreviousAttemptsKey)[0] != "7" {
		t.Errorf("the caller's metadata has become %v", proxied)
	}
}

// A marker that a proxy hands on makes the call a nested one, if it is retried.
func TestNestedByMetadata(t *testing.T) {
	for _, tc := range []struct {
		marker []string
		ctx    func(context.Context) context.Context
		nested int
	}{
		{marker: nil, nested: 0},
		{marker: []string{"1"}, nested: 1},
		{marker: []string{"0"}, nested: 0},
		{marker: []string{""}, nested: 0},
		{marker: []string{"true"}, nested: 0},
		{marker: []string{"1", "1"}, nested: 0},
		{marker: []string{"1"}, ctx: rationgrpc.SingleShot, nested: 0},
		{marker: []string{"1"}, ctx: ration.WithNestedRetry, nested: 1},
		{marker: nil, ctx: ration.WithNestedRetry, nested: 1},
	} {
		t.Run(fmt.Sprint(tc.marker), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var heard recorder
				p := plain()
				p.OnEvent = heard.hear
				client, _ := call(t, failEverything(), p)
				ctx := metadata.NewOutgoingContext(t.Context(),
					metadata.MD{rationgrpc.RetryingKey: tc.marker})
				if tc.ctx != nil {
					ctx = tc.ctx(ctx)
				}
				for _, shape := range []string{"unary", "server stream"} {
					shapes[shape](ctx, client)
					events := heard.take()
					if got := count(events, ration.EventNestedRetry); got != tc.nested {
						t.Errorf("%s: %d nested retries reported, want %d", shape, got, tc.nested)
					}
					if tc.nested > 0 && events[0].Kind != ration.EventNestedRetry {
						t.Errorf("%s: reported after %v", shape, events[0].Kind)
					}
				}
			})
		})
	}
}

// Two interceptors on one connection: the inner one retries inside the outer one's
// attempts, and says so.
func TestNestedInterceptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := failEverything()
		var outside, inside recorder
		p := plain()
		p.Attempts, p.AttemptTimeout, p.Deadline = 2, ration.NoLimit, ration.NoLimit
		p.OnEvent = outside.hear
		outer := newGuard(t, p)
		p.OnEvent = inside.hear
		inner := newGuard(t, p)
		conn := connect(t, serve(t, b), append(outer.DialOptions(), inner.DialOptions()...)...)
		for _, shape := range []string{"unary", "server stream"} {
			shapes[shape](t.Context(), testpb.NewTestServiceClient(conn))
			checkCalls(t, b, 4)
			if n := count(outside.take(), ration.EventNestedRetry); n != 0 {
				t.Errorf("%s: the outer one reported %d", shape, n)
			}
			if n := count(inside.take(), ration.EventNestedRetry); n != 2 {
				t.Errorf("%s: the inner one reported %d, want one for each of its calls", shape, n)
			}
		}
	})
}

// An executor that makes one attempt is not taken for one that retries because its
// policy would, nor do the executors of its services retry.
func TestOnceExecutor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := failEverything()
		e := ration.MustNew(plain())
		for _, opts := range [][]rationgrpc.Option{
			{rationgrpc.WithExecutor(e.Once())},
			{rationgrpc.WithExecutor(e.Once()), rationgrpc.WithScope(nil)},
		} {
			client, _ := call(t, b, ration.Policy{}, opts...)
			for _, shape := range []string{"unary", "server stream"} {
				shapes[shape](t.Context(), client)
				calls := b.take()
				if len(calls) != 1 || len(calls[0].Get(rationgrpc.RetryingKey)) != 0 {
					t.Errorf("%s: %d calls, the first with %v", shape, len(calls), calls[0].MD)
				}
			}
		}
	})
}

// The repeatable rule is asked for the full name of the method.
func TestRepeatable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := failEverything()
		client, _ := call(t, b, plain(), nil, rationgrpc.WithRepeatable(func(method string) bool {
			return method == streamMethod
		}), rationgrpc.WithRepeatable(nil))
		shapes["unary"](t.Context(), client)
		checkCalls(t, b, 1)
		shapes["server stream"](t.Context(), client)
		checkCalls(t, b, 3)
	})
}

// What an interceptor within the attempts sees: the marks of each, in metadata
// that it may keep and whose copies it may change, and the flag for executors in
// there.
func TestMarksWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, ctx := range []context.Context{
			t.Context(),
			metadata.NewOutgoingContext(t.Context(), metadata.Pairs("own", "a")),
		} {
			var attempts []context.Context
			look := func(ctx context.Context) {
				attempts = append(attempts, ctx)
				if !ration.IsNestedRetry(ctx) {
					t.Error("the attempt is not known to be one that is retried")
				}
				md, _ := metadata.FromOutgoingContext(ctx)
				md.Set(rationgrpc.RetryingKey, "2")
				md.Set("more", "x")
			}
			guard := newGuard(t, plain())
			guard.Unary()(ctx, unaryMethod, nil, nil, nil,
				func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
					look(ctx)
					return down
				})
			s, _ := guard.Stream()(ctx, &grpc.StreamDesc{ServerStreams: true}, nil, streamMethod,
				func(ctx context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
					look(ctx)
					return nil, down
				})
			s.CloseSend()
			s.RecvMsg(nil)
			var got []string
			for _, ctx := range attempts {
				md, _ := metadata.FromOutgoingContext(ctx)
				got = append(got, fmt.Sprint(md.Get(rationgrpc.RetryingKey),
					md.Get(rationgrpc.PreviousAttemptsKey), md.Get("more")))
			}
			want := "[1] [] [], [1] [1] [], [1] [2] [], [1] [] [], [1] [1] [], [1] [2] []"
			if got := strings.Join(got, ", "); got != want {
				t.Errorf("attempts had %s, want %s", got, want)
			}
		}
	})
}

// While a marked call is served, it can be asked who will retry it.
func TestRetryingCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var marked, unmarked ration.RetryingCaller
		known := false
		calls := 0
		b := &backend{unary: func(ctx context.Context, _ int) error {
			if calls++; calls == 1 {
				marked, known = ration.RetryingCallerOf(ctx)
			} else {
				unmarked, _ = ration.RetryingCallerOf(ctx)
			}
			return nil
		}}
		conn := connect(t, serve(t, b, rationgrpc.ServerOptions()...), grpc.WithUserAgent("shop/2"))
		client := testpb.NewTestServiceClient(conn)
		for _, ctx := range []context.Context{
			metadata.AppendToOutgoingContext(t.Context(), rationgrpc.RetryingKey, "1"), t.Context(),
		} {
			if _, err := client.EmptyCall(ctx, &testpb.Empty{}); err != nil {
				t.Fatal(err)
			}
		}
		if !known || marked.Peer != "bufconn" || !strings.HasPrefix(marked.Agent, "shop/2 ") ||
			marked.Route != "/grpc.testing.TestService/EmptyCall" {
			t.Errorf("marked: %+v, %t", marked, known)
		}
		if unmarked != (ration.RetryingCaller{}) {
			t.Errorf("unmarked: %+v", unmarked)
		}
	})
}
