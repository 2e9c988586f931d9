package rationgrpc_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationgrpc"
)

const ms = time.Millisecond

var down = status.Error(codes.Unavailable, "down")

// A backend is a service that answers as a test says, and keeps what it receives.
// n is the number of the call, from 1.
type backend struct {
	testpb.UnimplementedTestServiceServer
	unary  func(ctx context.Context, n int) error
	stream func(n int, s testpb.TestService_StreamingOutputCallServer) error
	upload func(n int, s testpb.TestService_StreamingInputCallServer) error
	chat   func(n int, s testpb.TestService_FullDuplexCallServer) error

	mu    sync.Mutex
	calls []received
}

// A received is a call as the server saw it.
type received struct {
	metadata.MD
	left time.Duration // of its deadline; 0 = none
	size int32         // of the request
}

func (b *backend) receive(ctx context.Context, size int32) (n int) {
	r := received{size: size}
	r.MD, _ = metadata.FromIncomingContext(ctx)
	if d, ok := ctx.Deadline(); ok {
		r.left = time.Until(d)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, r)
	return len(b.calls)
}

// take returns the calls since the last take.
func (b *backend) take() []received {
	b.mu.Lock()
	defer b.mu.Unlock()
	calls := b.calls
	b.calls = nil
	return calls
}

func (b *backend) EmptyCall(ctx context.Context, in *testpb.Empty) (*testpb.Empty, error) {
	if err := b.unary(ctx, b.receive(ctx, 0)); err != nil {
		return nil, err
	}
	return in, nil
}

func (b *backend) StreamingOutputCall(
	in *testpb.StreamingOutputCallRequest, s testpb.TestService_StreamingOutputCallServer,
) error {
	return b.stream(b.receive(s.Context(), int32(len(in.GetPayload().GetBody()))), s)
}

func (b *backend) StreamingInputCall(s testpb.TestService_StreamingInputCallServer) error {
	return b.upload(b.receive(s.Context(), 0), s)
}

func (b *backend) FullDuplexCall(s testpb.TestService_FullDuplexCallServer) error {
	return b.chat(b.receive(s.Context(), 0), s)
}

// message returns a stream's message that says n.
func message(n int) *testpb.StreamingOutputCallResponse {
	return &testpb.StreamingOutputCallResponse{Payload: &testpb.Payload{Body: make([]byte, n)}}
}

func number(m *testpb.StreamingOutputCallResponse) int { return len(m.GetPayload().GetBody()) }

// failing returns a unary answer that fails with the given errors, one a call, and
// then succeeds.
func failing(errs ...error) func(context.Context, int) error {
	return func(_ context.Context, n int) error {
		if n <= len(errs) {
			return errs[n-1]
		}
		return nil
	}
}

// always returns a unary answer that is always the same.
func always(err error) func(context.Context, int) error {
	return func(context.Context, int) error { return err }
}

// pause waits, or not to the end if the context ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// serve starts a server in memory.
func serve(
	t testing.TB, b testpb.TestServiceServer, opts ...grpc.ServerOption,
) *bufconn.Listener {
	t.Helper()
	l := bufconn.Listen(1 << 16)
	s := grpc.NewServer(append(opts, grpc.WaitForHandlers(true))...)
	testpb.RegisterTestServiceServer(s, b)
	go s.Serve(l)
	t.Cleanup(s.Stop)
	return l
}

// connect connects to a server in memory.
func connect(
	t testing.TB, l *bufconn.Listener, opts ...grpc.DialOption,
) *grpc.ClientConn {
	t.Helper()
	opts = append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return l.DialContext(ctx)
		}),
	}, opts...)
	conn, err := grpc.NewClient("passthrough:///memory", opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// newGuard returns an interceptor, by default without what would get into the way
// of an exact test.
func newGuard(
	t testing.TB, p ration.Policy, opts ...rationgrpc.Option,
) *rationgrpc.Interceptor {
	t.Helper()
	guard, err := rationgrpc.New(p, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return guard
}

// plain is a policy with exact waits and neither budget nor breaker nor measured
// terms: 100 ms, or 1 s when throttled, doubled each time.
func plain() ration.Policy {
	return ration.Policy{
		Budget:  ration.NoBudget,
		Breaker: ration.NoBreaker,
		Ceiling: ration.NoCeiling,
		Backoff: ration.Backoff{Jitter: ration.NoJitter},
	}
}

// call starts a server and returns a guarded client of it.
func call(
	t testing.TB, b *backend, p ration.Policy, opts ...rationgrpc.Option,
) (testpb.TestServiceClient, *rationgrpc.Interceptor) {
	t.Helper()
	guard := newGuard(t, p, opts...)
	conn := connect(t, serve(t, b), guard.DialOptions()...)
	return testpb.NewTestServiceClient(conn), guard
}

// A recorder is a listener that keeps what it hears.
type recorder struct {
	mu     sync.Mutex
	events []ration.Event
}

func (r *recorder) hear(ev ration.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, ev)
}

// take returns the events since the last take.
func (r *recorder) take() []ration.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.events
	r.events = nil
	return events
}

// kinds names the kinds of events in order.
func kinds(events []ration.Event) string {
	var names []string
	for _, ev := range events {
		names = append(names, ev.Kind.String())
	}
	return strings.Join(names, " ")
}

// count returns how many events are of a kind.
func count(events []ration.Event, kind ration.EventKind) int {
	return len(slices.DeleteFunc(slices.Clone(events), func(ev ration.Event) bool {
		return ev.Kind != kind
	}))
}

// checkIs compares err with what it must match and what it must not.
func checkIs(t *testing.T, err error, is, isNot []error) {
	t.Helper()
	for _, target := range is {
		if !errors.Is(err, target) {
			t.Errorf("%v does not match %v", err, target)
		}
	}
	for _, target := range isNot {
		if errors.Is(err, target) {
			t.Errorf("%v matches %v", err, target)
		}
	}
}

// goroutines counts them by their stacks. The runtime's own number may include one
// that has ended.
func goroutines() (n int, stacks string) {
	buf := make([]byte, 1<<20)
	stacks = string(buf[:runtime.Stack(buf, true)])
	return strings.Count("\n\n"+stacks, "\n\ngoroutine "), stacks
}

// checkGoroutines compares their number with what it was.
func checkGoroutines(t *testing.T, before int) {
	t.Helper()
	if after, stacks := goroutines(); after > before {
		t.Errorf("%d goroutines, %d before:\n%s", after, before, stacks)
	}
}

// checkCalls compares how many calls the server saw with what it should have.
func checkCalls(t *testing.T, b *backend, want int) {
	t.Helper()
	if got := len(b.take()); got != want {
		t.Errorf("the server saw %d calls, want %d", got, want)
	}
}
