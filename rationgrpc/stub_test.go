package rationgrpc_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"weak"

	"google.golang.org/grpc"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/ration-go/ration"
)

// A stubStream is a stream of another interceptor's, for moments at which gRPC
// itself cannot be caught. It notes what it is asked for.
type stubStream struct {
	ctx  context.Context
	recv func(s *stubStream, n int) error // n is how often it was asked, from 1

	mu    sync.Mutex
	n     int
	asked []string
}

func (s *stubStream) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, what)
}

func (s *stubStream) SendMsg(any) error            { s.note("send"); return nil }
func (s *stubStream) CloseSend() error             { s.note("close"); return nil }
func (s *stubStream) Header() (metadata.MD, error) { s.note("header"); return metadata.MD{}, nil }
func (s *stubStream) Trailer() metadata.MD         { s.note("trailer"); return nil }
func (s *stubStream) Context() context.Context     { s.note("context"); return context.Background() }

func (s *stubStream) RecvMsg(any) error {
	s.note("receive")
	s.n++
	return s.recv(s, s.n)
}

// stubbed opens a guarded stream over stubs, one for each attempt.
func stubbed(
	t *testing.T, p ration.Policy, ctx context.Context, desc grpc.StreamDesc,
	recv func(s *stubStream, n int) error,
) (s grpc.ClientStream, attempts *[]*stubStream) {
	t.Helper()
	attempts = new([]*stubStream)
	s, err := newGuard(t, p).Stream()(ctx, &desc, nil, streamMethod,
		func(ctx context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
			a := &stubStream{ctx: ctx, recv: recv}
			*attempts = append(*attempts, a)
			return a, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return s, attempts
}

// A message that arrives when the attempt is over already is dropped, and the
// stream is ended before the wait: what it writes to the caller's options must
// not come later.
func TestLateMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plain()
		p.AttemptTimeout = 100 * ms
		var attempts *[]*stubStream
		ended := 0
		p.OnEvent = func(ev ration.Event) {
			if ev.Kind != ration.EventRetrying {
				return
			}
			a := (*attempts)[len(*attempts)-1]
			if a.ctx.Err() != nil && a.n == 3 && !slices.Contains(a.asked, "trailer") {
				ended++
			}
		}
		var s grpc.ClientStream
		s, attempts = stubbed(t, p, t.Context(), grpc.StreamDesc{ServerStreams: true},
			func(s *stubStream, n int) error {
				<-s.ctx.Done()
				if n < 3 { // one that was waited for, and one that was on its way
					return nil
				}
				return status.FromContextError(s.ctx.Err()).Err()
			})
		s.SendMsg(request(1))
		err := s.RecvMsg(message(0))
		checkIs(t, err, []error{ration.ErrAttemptTimeout}, nil)
		if len(*attempts) != 3 || ended != 2 {
			t.Errorf("%d attempts, %d ended before the wait", len(*attempts), ended)
		}
		if a := (*attempts)[2]; a.ctx.Err() == nil || a.n != 3 {
			t.Errorf("the last one goes on: received %d times", a.n)
		}
	})
}

// A first message that arrives as the caller leaves is delivered: finished work is
// not thrown away.
func TestMessageAsTheCallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s, attempts := stubbed(t, plain(), ctx, grpc.StreamDesc{ServerStreams: true},
			func(*stubStream, int) error {
				cancel()
				synctest.Wait()
				return nil
			})
		s.SendMsg(request(1))
		if err := s.RecvMsg(message(0)); err != nil || len(*attempts) != 1 {
			t.Errorf("%v after %d attempts", err, len(*attempts))
		}
	})
}

// An error of RecvMsg ends the stream, also when an interceptor has made it up.
func TestErrorsEndTheStream(t *testing.T) {
	s, attempts := stubbed(t, plain(), t.Context(), grpc.StreamDesc{ServerStreams: true},
		func(_ *stubStream, n int) error {
			if n == 1 {
				return nil
			}
			return errors.New("a validator's")
		})
	s.SendMsg(request(1))
	s.RecvMsg(message(0))
	a := (*attempts)[0]
	if a.ctx.Err() != nil {
		t.Error("ended after the first message")
	}
	s.RecvMsg(message(0))
	if a.ctx.Err() == nil {
		t.Error("goes on after an error")
	}
}

// A request is kept until there can be no other attempt.
func TestRequestIsLetGo(t *testing.T) {
	s, _ := stubbed(t, plain(), t.Context(), grpc.StreamDesc{ServerStreams: true},
		func(*stubStream, int) error { return nil })
	send := func() weak.Pointer[testpb.StreamingOutputCallRequest] {
		m := request(1 << 10)
		s.SendMsg(m)
		return weak.Make(m)
	}
	kept := send()
	runtime.GC()
	if kept.Value() == nil {
		t.Error("gone before the first attempt")
	}
	s.RecvMsg(message(0))
	runtime.GC()
	if kept.Value() != nil {
		t.Error("kept after the first message")
	}
	runtime.KeepAlive(s)
}

// gRPC sends a call again by itself if it never reached the server, until somebody
// asks for the stream's context or trailer. Opening a stream and reading from it
// must not.
func TestWatchedStreamsLeaveRetriesToGRPC(t *testing.T) {
	s, attempts := stubbed(t, plain(), t.Context(), grpc.StreamDesc{ClientStreams: true},
		func(*stubStream, int) error { return nil })
	s.SendMsg(nil)
	s.CloseSend()
	s.RecvMsg(nil)
	if got := (*attempts)[0].asked; !slices.Equal(got, []string{"send", "close", "receive"}) {
		t.Errorf("asked for %q", got)
	}
}

// A watched stream looks out for the caller's going away only until it has begun
// to answer.
func TestWatchedStreamsForgetTheCaller(t *testing.T) {
	for _, end := range []error{nil, io.EOF, down} {
		ctx := &listenedContext{Context: t.Context()}
		s, _ := stubbed(t, plain(), ctx, grpc.StreamDesc{ClientStreams: true, ServerStreams: true},
			func(*stubStream, int) error { return end })
		if ctx.listeners != 1 {
			t.Fatalf("%d listeners", ctx.listeners)
		}
		s.RecvMsg(nil)
		if ctx.listeners != 0 {
			t.Errorf("%v: %d listeners stay", end, ctx.listeners)
		}
	}
}

// A listenedContext counts the functions that wait for its end.
type listenedContext struct {
	context.Context
	listeners int
}

func (c *listenedContext) Done() <-chan struct{} { return make(chan struct{}) }

func (c *listenedContext) AfterFunc(func()) (stop func() bool) {
	c.listeners++
	return func() bool { c.listeners--; return true }
}
