package rationgrpc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationgrpc"
)

// Protect a connection. Keep the interceptor and the connection as long as the
// process lives.
func ExampleNew() {
	server := flaky(2)
	defer server.stop()

	guard, err := rationgrpc.New(ration.Policy{Name: "inventory"})
	if err != nil {
		panic(err)
	}
	conn, err := grpc.NewClient(server.addr, append(guard.DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		panic(err)
	}
	defer conn.Close()

	client := grpc_health_v1.NewHealthClient(conn)
	resp, err := client.Check(context.Background(), &grpc_health_v1.HealthCheckRequest{})
	fmt.Println(resp.GetStatus(), err, "after", server.calls.Load(), "calls")
	// Output: SERVING <nil> after 3 calls
}

// Tell a refusal from a failure. The error of a call that the library stopped is a
// [ration.Error] and has a status as well.
func ExampleNew_errors() {
	server := flaky(1000)
	defer server.stop()

	budget, err := ration.NewBudget(0.1, 0) // one token at the start
	if err != nil {
		panic(err)
	}
	guard, err := rationgrpc.New(ration.Policy{Name: "inventory", Budget: budget})
	if err != nil {
		panic(err)
	}
	conn, err := grpc.NewClient(server.addr, append(guard.DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		panic(err)
	}
	defer conn.Close()

	client := grpc_health_v1.NewHealthClient(conn)
	_, err = client.Check(context.Background(), &grpc_health_v1.HealthCheckRequest{})
	var stop *ration.Error
	if errors.As(err, &stop) {
		fmt.Println(stop.Reason, "after", stop.Attempts, "attempts")
	}
	fmt.Println(status.Code(err))
	fmt.Println(status.Convert(stop.Last).Message())
	// Output:
	// budget_exhausted after 2 attempts
	// Unavailable
	// try again
}

// A service in the middle: the options of its server read what callers say about
// their retries, and calls made under a request's context pass it on. With
// BreakLoops, a caller that would retry is told when this service has done so
// already.
func ExampleServerOptions() {
	bottom := flaky(1000)
	defer bottom.stop()

	// The service in the middle, which calls the one at the bottom.
	nested := func(ev ration.Event) {
		if ev.Kind == ration.EventNestedRetry {
			fmt.Println("middle: retries inside the retries of its caller")
		}
	}
	guard, err := rationgrpc.New(ration.Policy{Name: "bottom", OnEvent: nested})
	if err != nil {
		panic(err)
	}
	conn, err := grpc.NewClient(bottom.addr, append(guard.DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	middle := listen(&health{next: grpc_health_v1.NewHealthClient(conn)},
		rationgrpc.ServerOptions(rationgrpc.BreakLoops())...)
	defer middle.stop()

	// Its caller, which retries as well.
	top, err := rationgrpc.New(ration.Policy{Name: "middle"})
	if err != nil {
		panic(err)
	}
	up, err := grpc.NewClient(middle.addr, append(top.DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		panic(err)
	}
	defer up.Close()
	_, err = grpc_health_v1.NewHealthClient(up).Check(context.Background(),
		&grpc_health_v1.HealthCheckRequest{})

	fmt.Println(status.Code(err))
	fmt.Println("calls to the bottom:", bottom.calls.Load())
	// Output:
	// middle: retries inside the retries of its caller
	// Unavailable
	// calls to the bottom: 3
}

// A health service that fails a number of times, or asks another one.
type health struct {
	grpc_health_v1.UnimplementedHealthServer
	failures int32
	next     grpc_health_v1.HealthClient

	calls atomic.Int32
	addr  string
	stop  func()
}

func flaky(failures int32) *health { return listen(&health{failures: failures}) }

func listen(h *health, opts ...grpc.ServerOption) *health {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	s := grpc.NewServer(opts...)
	grpc_health_v1.RegisterHealthServer(s, h)
	go s.Serve(l)
	h.addr, h.stop = l.Addr().String(), s.Stop
	return h
}

func (h *health) Check(
	ctx context.Context, req *grpc_health_v1.HealthCheckRequest,
) (*grpc_health_v1.HealthCheckResponse, error) {
	if n := h.calls.Add(1); n <= h.failures {
		return nil, status.Error(codes.Unavailable, "try again")
	}
	if h.next != nil {
		return h.next.Check(ctx, req)
	}
	return &grpc_health_v1.HealthCheckResponse{
		Status: grpc_health_v1.HealthCheckResponse_SERVING,
	}, nil
}
