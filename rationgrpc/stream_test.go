package rationgrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
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
)

// A step of a server stream: wait, then send a message, or end.
type step struct {
	wait time.Duration
	send int   // 0 = nothing
	end  error // with send 0; nil = the end without an error
}

// script returns a stream answer that goes through the steps of each attempt in
// turn, the last one again and again.
func script(attempts ...[]step) func(int, testpb.TestService_StreamingOutputCallServer) error {
	return func(n int, s testpb.TestService_StreamingOutputCallServer) error {
		for _, st := range attempts[min(n, len(attempts))-1] {
			pause(s.Context(), st.wait)
			if st.send == 0 {
				return st.end
			}
			if err := s.Send(message(st.send)); err != nil {
				return err
			}
		}
		return nil
	}
}

// receive reads a stream to its end and describes what came.
func receive(s grpc.ServerStreamingClient[testpb.StreamingOutputCallResponse]) (string, error) {
	var got strings.Builder
	for {
		m, err := s.Recv()
		if err == io.EOF {
			return got.String() + "end", nil
		}
		if err != nil {
			return got.String() + status.Code(err).String(), err
		}
		fmt.Fprint(&got, number(m), " ")
	}
}

// C33, C34: until its first message a stream is retried and bounded; after it
// nothing is retried and nothing is cut.
func TestServerStream(t *testing.T) {
	for _, tc := range []struct {
		name     string
		server   [][]step
		attempts int
		got      string
		took     time.Duration
		reason   ration.StopReason
	}{
		{"not cut", [][]step{{{0, 1, nil}, {150 * ms, 2, nil}, {150 * ms, 3, nil}}},
			1, "1 2 3 end", 300 * ms, ration.StopSucceeded},
		{"not cut by the policy's deadline", [][]step{{{0, 1, nil}, {time.Hour, 2, nil}}},
			1, "1 2 end", time.Hour, ration.StopSucceeded},
		{"silent", [][]step{{{time.Hour, 1, nil}}, {{99 * ms, 1, nil}, {time.Second, 2, nil}}},
			2, "1 2 end", 100*ms + 100*ms + 99*ms + time.Second, ration.StopSucceeded},
		{"always silent", [][]step{{{time.Hour, 1, nil}}},
			3, "DeadlineExceeded", 600 * ms, ration.StopAttemptsExhausted},
		{"replayed never", [][]step{{{0, 1, nil}, {0, 2, nil}, {0, 0, down}}, {{0, 1, nil}}},
			1, "1 2 Unavailable", 0, ration.StopSucceeded},
		{"failed before", [][]step{{{10 * ms, 0, down}}, {{0, 1, nil}, {0, 2, nil}, {0, 3, nil}}},
			2, "1 2 3 end", 110 * ms, ration.StopSucceeded},
		{"always failing", [][]step{{{0, 0, down}}},
			3, "Unavailable", 300 * ms, ration.StopAttemptsExhausted},
		{"permanent", [][]step{{{0, 0, status.Error(codes.NotFound, "")}}},
			1, "NotFound", 0, ration.StopPermanent},
		{"empty", [][]step{{{10 * ms, 0, nil}}}, 1, "end", 10 * ms, ration.StopSucceeded},
		{"empty, then", [][]step{{{0, 0, down}}, {{0, 0, nil}}}, 2, "end", 100 * ms,
			ration.StopSucceeded},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &backend{stream: script(tc.server...)}
				var heard recorder
				p := plain()
				p.AttemptTimeout, p.OnEvent = 100*ms, heard.hear
				client, _ := call(t, b, p)
				begin := time.Now()
				s, err := client.StreamingOutputCall(t.Context(), request(5))
				if err != nil {
					t.Fatal(err)
				}
				got, err := receive(s)
				if got != tc.got {
					t.Errorf("received %q, want %q", got, tc.got)
				}
				if took := time.Since(begin); took != tc.took {
					t.Errorf("took %v, want %v", took, tc.took)
				}
				if again, _ := receive(s); again != "" && !strings.HasSuffix(tc.got, again) {
					t.Errorf("after its end, %q", again)
				}
				events := heard.take()
				if got := events[len(events)-1].Reason; got != tc.reason {
					t.Errorf("stopped for %v, want %v", got, tc.reason)
				}
				if tc.name == "always silent" {
					checkIs(t, err, []error{ration.ErrAttemptTimeout, context.DeadlineExceeded}, nil)
				}
				calls := b.take()
				if len(calls) != tc.attempts {
					t.Errorf("%d attempts, want %d", len(calls), tc.attempts)
				}
				for _, c := range calls {
					if c.size != 5 {
						t.Errorf("the request arrived with %d bytes", c.size)
					}
				}
			})
		})
	}
}

func request(n int) *testpb.StreamingOutputCallRequest {
	return &testpb.StreamingOutputCallRequest{Payload: &testpb.Payload{Body: make([]byte, n)}}
}

// A first message that arrives at the very moment at which the attempt ends is
// delivered once or not at all, and never cuts a later attempt.
func TestFirstMessageRacesWithTheTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &backend{stream: func(n int, s testpb.TestService_StreamingOutputCallServer) error {
			pause(s.Context(), 100*ms)
			if err := s.Send(message(1)); err != nil {
				return err
			}
			pause(s.Context(), time.Second)
			return s.Send(message(2))
		}}
		p := plain()
		p.Attempts, p.AttemptTimeout, p.Backoff = 5, 100*ms, ration.NoBackoff
		p.Deadline = ration.NoLimit
		client, _ := call(t, b, p)
		won, lost := 0, 0
		for range 200 {
			var trailer metadata.MD
			s, err := client.StreamingOutputCall(t.Context(), request(1), grpc.Trailer(&trailer))
			if err != nil {
				t.Fatal(err)
			}
			got, err := receive(s)
			switch {
			case got == "1 2 end":
				won++
			case got == "DeadlineExceeded" && errors.Is(err, ration.ErrAttemptTimeout):
				lost++
			default:
				t.Fatalf("received %q, %v", got, err)
			}
			b.take()
		}
		t.Logf("%d were in time, %d never", won, lost)
	})
}

// Before the first message a stream answers for itself; after it, for the attempt
// that has become the stream.
func TestServerStreamMethods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &backend{stream: func(n int, s testpb.TestService_StreamingOutputCallServer) error {
			s.SetTrailer(metadata.Pairs("n", fmt.Sprint(n)))
			if n == 1 {
				return down
			}
			s.SendHeader(metadata.Pairs("n", fmt.Sprint(n)))
			s.Send(message(1))
			return nil
		}}
		client, _ := call(t, b, plain())
		var (
			header, trailer metadata.MD
			from            peer.Peer
		)
		type key struct{}
		ctx := context.WithValue(t.Context(), key{}, "the caller's")
		s, err := client.StreamingOutputCall(ctx, request(1),
			grpc.Header(&header), grpc.Trailer(&trailer), grpc.Peer(&from))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		checkCalls(t, b, 0)
		if s.Context() != ctx || s.Trailer() != nil {
			t.Errorf("before: context %v, trailer %v", s.Context(), s.Trailer())
		}
		if err := s.SendMsg(request(1)); status.Code(err) != codes.Internal {
			t.Errorf("a second message: %v", err)
		}
		if err := s.CloseSend(); err != nil {
			t.Error(err)
		}
		if m, err := s.Recv(); err != nil || number(m) != 1 {
			t.Fatalf("%v, %v", m, err)
		}
		if s.Context() == ctx || s.Context().Value(key{}) != "the caller's" || s.Context().Err() != nil {
			t.Errorf("the stream's context is %v", s.Context())
		}
		if h, err := s.Header(); err != nil || !slices.Equal(h.Get("n"), []string{"2"}) {
			t.Errorf("header %v, %v", h, err)
		}
		if _, err := s.Recv(); err != io.EOF {
			t.Error(err)
		}
		if tr := s.Trailer(); !slices.Equal(tr.Get("n"), []string{"2"}) {
			t.Errorf("trailer %v", tr)
		}
		if header.Get("n")[0] != "2" || trailer.Get("n")[0] != "2" || from.Addr == nil {
			t.Errorf("options %v, %v, %v", header, trailer, from.Addr)
		}
	})
}

// A header that is asked for first is what ends the attempts.
func TestServerStreamHeaderFirst(t *testing.T) {
	headed := func(n int, s testpb.TestService_StreamingOutputCallServer) {
		s.SendHeader(metadata.Pairs("n", fmt.Sprint(n)))
	}
	for _, tc := range []struct {
		name     string
		server   func(int, testpb.TestService_StreamingOutputCallServer) error
		attempts int
		header   string
		got      string
		took     time.Duration
	}{
		{"headed", func(n int, s testpb.TestService_StreamingOutputCallServer) error {
			headed(n, s)
			pause(s.Context(), time.Second)
			return s.Send(message(n))
		}, 1, "1", "1 end", time.Second},
		{"headed, then failed", func(n int, s testpb.TestService_StreamingOutputCallServer) error {
			headed(n, s)
			return down
		}, 1, "1", "Unavailable", 0},
		{"failed before", func(n int, s testpb.TestService_StreamingOutputCallServer) error {
			if n < 3 {
				return down
			}
			headed(n, s)
			return s.Send(message(n))
		}, 3, "3", "3 end", 300 * ms},
		{"never headed", func(int, testpb.TestService_StreamingOutputCallServer) error {
			return down
		}, 3, "", "Unavailable", 300 * ms},
		{"empty", func(int, testpb.TestService_StreamingOutputCallServer) error {
			return nil
		}, 1, "", "end", 0},
		{"silent", func(n int, s testpb.TestService_StreamingOutputCallServer) error {
			if n == 1 {
				pause(s.Context(), time.Hour)
			}
			return s.Send(message(n))
		}, 2, "", "2 end", 200 * ms},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &backend{stream: tc.server}
				p := plain()
				p.AttemptTimeout = 100 * ms
				client, _ := call(t, b, p)
				begin := time.Now()
				s, err := client.StreamingOutputCall(t.Context(), request(1))
				if err != nil {
					t.Fatal(err)
				}
				h, err := s.Header()
				if err != nil || strings.Join(h.Get("n"), " ") != tc.header {
					t.Errorf("header %v, %v", h, err)
				}
				if got, _ := receive(s); got != tc.got {
					t.Errorf("received %q, want %q", got, tc.got)
				}
				if took := time.Since(begin); took != tc.took {
					t.Errorf("took %v, want %v", took, tc.took)
				}
				checkCalls(t, b, tc.attempts)
			})
		})
	}
}

// A stream that the breaker refuses has no header but an error, and no stream.
func TestServerStreamRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := failEverything()
		p := plain()
		p.Attempts, p.Breaker = 1, &ration.BreakerSettings{ConsecutiveFailures: 1}
		client, _ := call(t, b, p)
		recv(t.Context(), client)
		b.take()
		s, err := client.StreamingOutputCall(t.Context(), request(1))
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		_, err = s.Header()
		checkIs(t, err, []error{ration.ErrUnavailable}, nil)
		_, again := s.Recv()
		if again != err || s.Trailer() != nil || s.Context() != t.Context() {
			t.Errorf("%v, trailer %v, context %v", again, s.Trailer(), s.Context())
		}
		if got := time.Since(begin); got != 100*ms {
			t.Errorf("paused %v", got)
		}
		checkCalls(t, b, 0)
	})
}

// One goroutine may send while another receives, in any order, and several may
// ask for the header.
func TestServerStreamGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &backend{stream: script([]step{{0, 0, down}}, []step{{10 * ms, 1, nil}})}
		guard := newGuard(t, plain())
		conn := connect(t, serve(t, b), guard.DialOptions()...)
		s, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true}, streamMethod)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var m testpb.StreamingOutputCallResponse
		wg.Go(func() {
			if err := s.RecvMsg(&m); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if _, err := s.Header(); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			for range 20 {
				<-time.After(100 * ms)
				s.Context()
				s.Trailer()
			}
		})
		wg.Go(func() {
			<-time.After(time.Second)
			if err := errors.Join(s.SendMsg(request(3)), s.CloseSend()); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		if calls := b.take(); len(calls) != 2 || calls[1].size != 3 {
			t.Errorf("calls %v", calls)
		}
	})
}

// Whoever waits for a request that never comes is let go when the caller leaves,
// and a stream that is closed without a request is for the server to judge.
func TestServerStreamWithoutRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &backend{stream: script([]step{{0, 1, nil}})}
		guard := newGuard(t, plain())
		conn := connect(t, serve(t, b), guard.DialOptions()...)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		desc := &grpc.StreamDesc{ServerStreams: true}
		s, err := conn.NewStream(ctx, desc, streamMethod)
		if err != nil {
			t.Fatal(err)
		}
		var m testpb.StreamingOutputCallResponse
		checkIs(t, s.RecvMsg(&m), []error{ration.ErrDeadlineExceeded}, nil)

		s, err = conn.NewStream(t.Context(), desc, streamMethod)
		if err != nil {
			t.Fatal(err)
		}
		s.CloseSend()
		if err := s.RecvMsg(&m); status.Code(err) != codes.Internal {
			t.Errorf("got %v", err)
		}
		s, err = conn.NewStream(t.Context(), desc, streamMethod)
		if err != nil {
			t.Fatal(err)
		}
		s.SendMsg("no message")
		if err := s.RecvMsg(&m); status.Code(err) != codes.Internal {
			t.Errorf("got %v", err)
		}
		checkCalls(t, b, 0)
	})
}

// However a stream ends, nothing of it stays: no goroutine, and no context that
// hangs on the caller's.
func TestServerStreamLeavesNothing(t *testing.T) {
	for _, tc := range []struct {
		name   string
		server [][]step
		use    func(s testpb.TestService_StreamingOutputCallClient, cancel, hangUp func())
	}{
		{"read to its end", [][]step{{{0, 0, down}}, {{0, 1, nil}}}, drain},
		{"empty", [][]step{{}}, drain},
		{"failed", [][]step{{{0, 0, down}}}, drain},
		{"failed later", [][]step{{{0, 1, nil}, {0, 0, down}}}, drain},
		{"timed out", [][]step{{{time.Hour, 1, nil}}}, drain},
		{"never read", [][]step{{{0, 1, nil}}},
			func(testpb.TestService_StreamingOutputCallClient, func(), func()) {}},
		{"cancelled after the first message", [][]step{{{0, 1, nil}, {time.Hour, 2, nil}}},
			func(s testpb.TestService_StreamingOutputCallClient, cancel, _ func()) {
				s.Recv()
				cancel()
			}},
		{"cancelled before", [][]step{{{time.Hour, 1, nil}}},
			func(s testpb.TestService_StreamingOutputCallClient, cancel, _ func()) {
				time.AfterFunc(50*ms, cancel)
				s.Recv()
			}},
		{"cancelled in the wait", [][]step{{{0, 0, down}}},
			func(s testpb.TestService_StreamingOutputCallClient, cancel, _ func()) {
				time.AfterFunc(50*ms, cancel)
				s.Recv()
			}},
		{"headed and left", [][]step{{{0, 1, nil}, {time.Hour, 2, nil}}},
			func(s testpb.TestService_StreamingOutputCallClient, cancel, _ func()) {
				s.Header()
				cancel()
			}},
		{"connection closed", [][]step{{{0, 1, nil}, {time.Hour, 2, nil}}},
			func(s testpb.TestService_StreamingOutputCallClient, _, hangUp func()) {
				s.Recv()
				hangUp()
			}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &backend{stream: script(tc.server...)}
				p := plain()
				p.AttemptTimeout = 100 * ms
				guard := newGuard(t, p)
				var inner []context.Context
				look := func(
					ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
					open grpc.Streamer, opts ...grpc.CallOption,
				) (grpc.ClientStream, error) {
					inner = append(inner, ctx)
					return open(ctx, desc, cc, method, opts...)
				}
				conn := connect(t, serve(t, b), append(guard.DialOptions(),
					grpc.WithChainStreamInterceptor(look))...)
				client := testpb.NewTestServiceClient(conn)
				once := func() {
					ctx, cancel := context.WithCancel(t.Context())
					s, err := client.StreamingOutputCall(ctx, request(1))
					if err != nil {
						t.Fatal(err)
					}
					tc.use(s, cancel, func() { conn.Close() })
					_ = cancel // unless it is part of the case, the caller never cancels
				}
				recv(t.Context(), client) // connects
				cancelled, leave := context.WithCancel(t.Context())
				leave()
				recv(cancelled, client)
				synctest.Wait()
				inner = nil
				before, _ := goroutines()
				once()
				synctest.Wait()
				checkGoroutines(t, before)
				for i, ctx := range inner {
					if ctx.Err() == nil {
						t.Errorf("the context of attempt %d goes on", i+1)
					}
				}
			})
		})
	}
}

func drain(s testpb.TestService_StreamingOutputCallClient, _, _ func()) { receive(s) }

// A panic in what runs within an attempt passes through, and leaves a stream that
// fails.
func TestServerStreamPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plain()
		p.BeforeAttempt = func(context.Context, int) error { panic("hook") }
		client, _ := call(t, failEverything(), p)
		s, err := client.StreamingOutputCall(t.Context(), request(1))
		if err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			s.Recv()
		}()
		if _, err := s.Recv(); status.Code(err) != codes.Internal {
			t.Errorf("got %v", err)
		}
	})
}
