package rationgrpc_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/ration-go/ration"
)

// Over sockets, a server that dies in the middle of a call and comes back on the
// same port is one failure and one retry to the caller, whatever the shape of the
// call, and leaves nothing behind.
func TestServerComesBack(t *testing.T) {
	for _, shape := range []string{"unary", "server stream"} {
		t.Run(shape, func(t *testing.T) {
			before, _ := goroutines()
			survive(t, shape)
			for range 1000 {
				if after, _ := goroutines(); after <= before {
					return
				}
				<-time.After(ms)
			}
			checkGoroutines(t, before)
		})
	}
}

func survive(t *testing.T, shape string) {
	var (
		server  *grpc.Server
		stopped sync.WaitGroup
		calls   atomic.Int32
	)
	die := func(ctx context.Context) error {
		if calls.Add(1) > 1 {
			return nil
		}
		stopped.Go(server.Stop)
		<-ctx.Done()
		return ctx.Err()
	}
	b := &backend{
		unary: func(ctx context.Context, _ int) error { return die(ctx) },
		stream: func(_ int, s testpb.TestService_StreamingOutputCallServer) error {
			return die(s.Context())
		},
	}
	start := func(addr string) string {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		server = grpc.NewServer()
		testpb.RegisterTestServiceServer(server, b)
		go server.Serve(l)
		return l.Addr().String()
	}
	addr := start("127.0.0.1:0")

	p := plain()
	p.Attempts = 100 // until the connection is up again
	p.Backoff = ration.Backoff{Transient: 10 * ms, Factor: 1}
	p.BeforeAttempt = func(_ context.Context, n int) error {
		if n == 2 {
			stopped.Wait()
			start(addr)
		}
		return nil
	}
	soon := backoff.Config{BaseDelay: ms, Multiplier: 1, MaxDelay: 10 * ms}
	conn, err := grpc.NewClient(addr, append(newGuard(t, p).DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: soon, MinConnectTimeout: time.Second}))...)
	if err != nil {
		t.Fatal(err)
	}
	if err := shapes[shape](t.Context(), testpb.NewTestServiceClient(conn)); err != nil {
		t.Error(err)
	}
	if n := calls.Load(); n != 2 {
		t.Errorf("the servers saw %d calls", n)
	}
	conn.Close()
	server.Stop()
	stopped.Wait()
}

// A server that nobody listens for is unavailable, and the breaker learns so.
func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	p := plain()
	p.Attempts, p.Breaker = 1, &ration.BreakerSettings{ConsecutiveFailures: 4}
	conn, err := grpc.NewClient(l.Addr().String(), append(newGuard(t, p).DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := testpb.NewTestServiceClient(conn)
	for shape, run := range shapes {
		err := run(t.Context(), client)
		if status.Code(err) != codes.Unavailable || errors.Is(err, ration.ErrUnavailable) {
			t.Errorf("%s: %v", shape, err)
		}
	}
	for _, run := range shapes {
		checkIs(t, run(t.Context(), client), []error{ration.ErrUnavailable}, nil)
	}
}
