package bench

import (
	"context"
	"net"
	"testing"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/failsafegrpc"
	"github.com/failsafe-go/failsafe-go/timeout"
	"github.com/ration-go/ration/rationgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/test/bufconn"
)

// A unary call to a server in the same process, over a buffer in memory: for us
// with the zero policy, for gRPC's own retries with the throttling that its
// documentation shows.
var grpcGroup = group{"GRPC", []row{{name: "unary", peers: []peer{
	{ours, func(tb testing.TB) func(int) {
		i, err := rationgrpc.New(rationPolicy(tb, timed))
		if err != nil {
			tb.Fatal(err)
		}
		return unary(tb, i.DialOptions()...)
	}, 180},
	{name: "failsafe-go", prepare: func(tb testing.TB) func(int) {
		return unary(tb, grpc.WithUnaryInterceptor(failsafegrpc.NewUnaryClientInterceptor(
			failsafeGRPC(timed)...)))
	}},
	{name: "grpc-retry-policy", prepare: func(tb testing.TB) func(int) {
		return unary(tb, grpc.WithDefaultServiceConfig(retryPolicy))
	}},
	{name: "bare", prepare: func(tb testing.TB) func(int) { return unary(tb) }},
}}}}

const retryPolicy = `{
	"methodConfig": [{
		"name": [{}],
		"timeout": "10s",
		"retryPolicy": {
			"maxAttempts": 3, "initialBackoff": "0.1s", "maxBackoff": "30s",
			"backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]
		}
	}],
	"retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1}
}`

func failsafeGRPC(p plan) []failsafe.Policy[any] {
	return []failsafe.Policy[any]{
		failsafeRetry(failsafegrpc.NewRetryPolicyBuilder[any](), p),
		failsafeBreaker[any](),
		timeout.New[any](attemptTimeout),
	}
}

func unary(tb testing.TB, opts ...grpc.DialOption) func(int) {
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	go server.Serve(listener)
	tb.Cleanup(server.Stop)
	conn, err := grpc.NewClient("passthrough:///bufconn", append(opts,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return listener.DialContext(ctx)
		}))...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close() })
	client, req := grpc_health_v1.NewHealthClient(conn), &grpc_health_v1.HealthCheckRequest{}
	return repeat(func() {
		if _, err := client.Check(context.Background(), req); err != nil {
			tb.Fatal(err)
		}
	})
}
