package rationgrpc_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationgrpc"
)

// stub is an invoker that does nothing, so that all that is left is ours.
func stub(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
	return nil
}

// stubCall returns a call through the unary interceptor, with what the default
// policy has: budget, breaker, ceiling, deadlines, marker.
func stubCall(tb testing.TB, opts ...rationgrpc.Option) func(context.Context) {
	guard := newGuard(tb, ration.Policy{}, opts...)
	unary := guard.Unary()
	req, reply := &testpb.Empty{}, &testpb.Empty{}
	static := []grpc.CallOption{grpc.StaticMethod()}
	return func(ctx context.Context) {
		if err := unary(ctx, unaryMethod, req, reply, nil, stub, static...); err != nil {
			tb.Fatal(err)
		}
	}
}

func BenchmarkStub(b *testing.B) {
	call := stubCall(b)
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		call(ctx)
	}
}

// BenchmarkUnary compares a call over a connection in memory with and without the
// interceptor, and with what a careful caller would do by hand: a deadline, and
// one pair of metadata.
func BenchmarkUnary(b *testing.B) {
	for _, bm := range []struct {
		name    string
		guarded bool
		by      time.Duration // 0 = no deadline
	}{
		{"bare", false, 0},
		{"by-hand", false, 10 * time.Second},
		{"guarded", true, 0},
	} {
		b.Run(bm.name, func(b *testing.B) {
			var opts []grpc.DialOption
			if bm.guarded {
				opts = newGuard(b, ration.Policy{}).DialOptions()
			}
			client := testpb.NewTestServiceClient(connect(b, serve(b, echo{}), opts...))
			call := func(ctx context.Context) {
				if bm.by > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, bm.by)
					defer cancel()
					ctx = metadata.NewOutgoingContext(ctx, metadata.Pairs(rationgrpc.RetryingKey, "1"))
				}
				if _, err := client.EmptyCall(ctx, &testpb.Empty{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				call(b.Context())
			}
		})
	}
}

// An echo answers and keeps nothing.
type echo struct {
	testpb.UnimplementedTestServiceServer
}

func (echo) EmptyCall(_ context.Context, in *testpb.Empty) (*testpb.Empty, error) { return in, nil }

// A call that is not retried costs this many allocations above the bare invoker:
// one each for the call, its closure, the attempt's context, and two for the
// metadata in it.
func TestAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	background := context.Background()
	carrying := metadata.NewOutgoingContext(background, metadata.Pairs("authorization", "x"))
	for _, tc := range []struct {
		name string
		ctx  context.Context
		opts []rationgrpc.Option
		want float64
	}{
		{"marker", background, nil, 5},
		{"single-shot", rationgrpc.SingleShot(background), nil, 3},
		{"metadata", carrying, nil, 10},
		{"criticality", background, []rationgrpc.Option{rationgrpc.WithCriticality()}, 10},
	} {
		call := stubCall(t, tc.opts...)
		call(tc.ctx)
		if got := testing.AllocsPerRun(200, func() { call(tc.ctx) }); got > tc.want {
			t.Errorf("%s: %v allocations, want at most %v", tc.name, got, tc.want)
		}
	}
}
