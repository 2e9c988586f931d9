package rationgrpc_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/ration-go/ration"
)

// C34: client and bidirectional streams are never retried, and the caller gets
// the error as gRPC gave it.
func TestWatchedStreamsAreNotRetried(t *testing.T) {
	for _, shape := range []string{"client stream", "bidi stream"} {
		t.Run(shape, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := failEverything()
				var heard recorder
				p := plain()
				p.OnEvent = heard.hear
				client, _ := call(t, b, p)
				err := shapes[shape](t.Context(), client)
				if _, bare := err.(interface{ GRPCStatus() *status.Status }); !bare || err.Error() != down.Error() {
					t.Errorf("the caller got %T %v", err, err)
				}
				checkCalls(t, b, 1)
				if got := kinds(heard.take()); got != "attempt exhausted" {
					t.Errorf("events %q", got)
				}
			})
		})
	}
}

// The breaker refuses them as it does everything else, after the pause, which the
// caller may cut short.
func TestWatchedStreamsAreRefused(t *testing.T) {
	for _, shape := range []string{"client stream", "bidi stream"} {
		t.Run(shape, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := failEverything()
				p := plain()
				p.Breaker = &ration.BreakerSettings{ConsecutiveFailures: 2}
				client, _ := call(t, b, p)
				run := func(ctx context.Context) (time.Duration, error) {
					begin := time.Now()
					err := shapes[shape](ctx, client)
					return time.Since(begin), err
				}
				run(t.Context())
				run(t.Context())
				checkCalls(t, b, 2)

				took, err := run(t.Context())
				checkIs(t, err, []error{ration.ErrUnavailable}, nil)
				if took != 100*ms || status.Code(err) != codes.Unavailable {
					t.Errorf("refused after %v with %v", took, status.Code(err))
				}
				var stop *ration.Error
				if errors.As(err, &stop) {
					if after, ok := stop.RetryAfter(); !ok || after <= 0 {
						t.Errorf("come back after %v, %t", after, ok)
					}
				}

				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(30*ms, cancel)
				if took, err = run(ctx); took != 30*ms {
					t.Errorf("paused %v", took)
				}
				checkIs(t, err, []error{ration.ErrUnavailable}, nil)

				over, leave := context.WithCancel(t.Context())
				leave()
				if took, err = run(over); took != 0 || status.Code(err) != codes.Canceled {
					t.Errorf("a context that is over: %v after %v", err, took)
				}
				checkCalls(t, b, 0)
			})
		})
	}
}

// What a stream's beginning is evidence of. Each case runs once and is followed by
// what the breaker, which opens at two failures in a row, then makes of one more.
func TestWatchedStreamsInformTheBreaker(t *testing.T) {
	send := func(s testpb.TestService_FullDuplexCallServer) error { return s.Send(message(1)) }
	for _, tc := range []struct {
		name   string
		server func(int, testpb.TestService_FullDuplexCallServer) error
		use    func(s testpb.TestService_FullDuplexCallClient, cancel func())
		events string
		failed bool
	}{
		{"transient", func(int, testpb.TestService_FullDuplexCallServer) error { return down },
			func(s testpb.TestService_FullDuplexCallClient, _ func()) { s.Recv() },
			"attempt exhausted", true},
		{"permanent", func(int, testpb.TestService_FullDuplexCallServer) error {
			return status.Error(codes.NotFound, "")
		}, func(s testpb.TestService_FullDuplexCallClient, _ func()) { s.Recv() },
			"attempt not_retried", false},
		{"a message", func(_ int, s testpb.TestService_FullDuplexCallServer) error { return send(s) },
			func(s testpb.TestService_FullDuplexCallClient, _ func()) { s.Recv(); s.Recv() },
			"attempt succeeded", false},
		{"an end", func(int, testpb.TestService_FullDuplexCallServer) error { return nil },
			func(s testpb.TestService_FullDuplexCallClient, _ func()) { s.Recv() },
			"attempt succeeded", false},
		{"failed after a message", func(_ int, s testpb.TestService_FullDuplexCallServer) error {
			return errors.Join(send(s), down)
		}, func(s testpb.TestService_FullDuplexCallClient, _ func()) { s.Recv(); s.Recv() },
			"attempt succeeded", false},
		{"cancelled, unread", silent, func(_ testpb.TestService_FullDuplexCallClient, cancel func()) {
			cancel()
		}, "attempt canceled", false},
		{"cancelled, read", silent, func(s testpb.TestService_FullDuplexCallClient, cancel func()) {
			time.AfterFunc(time.Second, cancel)
			s.Recv()
		}, "attempt canceled", false},
		{"unsendable", silent, func(s testpb.TestService_FullDuplexCallClient, _ func()) {
			s.SendMsg("no message")
		}, "attempt not_retried", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := failEverything()
				b.chat = tc.server
				var heard recorder
				p := plain()
				p.OnEvent = heard.hear
				p.Breaker = &ration.BreakerSettings{ConsecutiveFailures: 2}
				client, _ := call(t, b, p)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s, err := client.FullDuplexCall(ctx)
				if err != nil {
					t.Fatal(err)
				}
				tc.use(s, cancel)
				synctest.Wait()
				if got := kinds(heard.take()); got != tc.events {
					t.Errorf("events %q, want %q", got, tc.events)
				}
				shapes["client stream"](t.Context(), client)
				if opened := count(heard.take(), ration.EventBreakerOpened) > 0; opened != tc.failed {
					t.Errorf("a failure after it opened the breaker: %t", opened)
				}
			})
		})
	}
}

func silent(_ int, s testpb.TestService_FullDuplexCallServer) error {
	pause(s.Context(), 24*time.Hour)
	return nil
}

// A stream that is a half-open breaker's probe holds its slot until it has an
// outcome, and gives it back when it is given up without one.
func TestWatchedStreamsGiveTheProbeBack(t *testing.T) {
	for name, give := range map[string]func(t *testing.T, cancel func()){
		"cancelled": func(_ *testing.T, cancel func()) { cancel() },
		"the lease": func(*testing.T, func()) { <-time.After(ration.DefaultAttemptTimeout) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := failEverything()
				b.chat = silent
				p := plain()
				p.Breaker = &ration.BreakerSettings{ConsecutiveFailures: 1, Break: time.Second, ProbeSuccesses: 1}
				client, guard := call(t, b, p)
				once := func() error { return shapes["client stream"](t.Context(), client) }
				once()
				<-time.After(time.Second)

				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if _, err := client.FullDuplexCall(ctx); err != nil {
					t.Fatal(err)
				}
				checkIs(t, once(), []error{ration.ErrUnavailable}, nil)
				give(t, cancel)
				synctest.Wait()
				b.upload = func(_ int, s testpb.TestService_StreamingInputCallServer) error {
					return s.SendAndClose(&testpb.StreamingInputCallResponse{})
				}
				if err := once(); err != nil {
					t.Errorf("the slot did not come back: %v", err)
				}
				e := guard.Executor().For("grpc.testing.TestService")
				if s := e.Breaker(time.Now()).State; s != ration.BreakerClosed {
					t.Errorf("breaker %v", s)
				}
			})
		})
	}
}

// A first answer after an hour is late for nothing: neither is it cut, nor
// reported as orphaned work, nor a measure of how long attempts take.
func TestWatchedStreamsAreNotTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &backend{
			unary: always(nil),
			chat: func(_ int, s testpb.TestService_FullDuplexCallServer) error {
				pause(s.Context(), time.Hour)
				return s.Send(message(1))
			},
		}
		var heard recorder
		p := plain()
		p.Ceiling, p.OnEvent = nil, heard.hear
		client, _ := call(t, b, p)
		for range 30 {
			if err := shapes["bidi stream"](t.Context(), client); err != nil {
				t.Fatal(err)
			}
			if got := kinds(heard.take()); got != "attempt succeeded" {
				t.Fatalf("events %q", got)
			}
		}
		for range 30 {
			client.EmptyCall(t.Context(), &testpb.Empty{})
		}
		b.take()
		client.EmptyCall(t.Context(), &testpb.Empty{})
		if left := b.take()[0].left; left > 100*ms {
			t.Errorf("the ceiling is %v", left)
		}
	})
}

// The policy's hooks run as they do for other calls: both once, with the error of
// either ending the call before it reaches the server.
func TestWatchedStreamsRunHooks(t *testing.T) {
	errHook := errors.New("no")
	for _, tc := range []struct {
		name   string
		hook   error
		admit  error
		want   error
		events string
		calls  int
	}{
		{"both pass", nil, nil, nil, "attempt exhausted", 1},
		{"hook", errHook, nil, errHook, "abandoned", 0},
		{"refused", nil, ration.Refused(errHook, time.Second), errHook, "attempt exhausted", 0},
		{"not admitted", nil, errHook, errHook, "attempt not_retried", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := failEverything()
				var heard recorder
				ran := ""
				p := plain()
				p.OnEvent = heard.hear
				p.BeforeAttempt = func(context.Context, int) error { ran += "hook "; return tc.hook }
				p.Admit = func(context.Context) error { ran += "admit "; return tc.admit }
				client, _ := call(t, b, p)
				_, err := client.FullDuplexCall(t.Context())
				if err == nil && tc.want == nil {
					ran = ""
					err = shapes["bidi stream"](t.Context(), client)
					if status.Code(err) != codes.Unavailable || ran != "hook admit " {
						t.Errorf("%v after %q", err, ran)
					}
					b.take()
					return
				}
				if !errors.Is(err, tc.want) {
					t.Errorf("got %v", err)
				}
				if got := kinds(heard.take()); got != tc.events {
					t.Errorf("events %q, want %q", got, tc.events)
				}
				checkCalls(t, b, tc.calls)
			})
		})
	}
}

// A panic while a stream is opened passes through and gives the probe back.
func TestWatchedStreamPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard recorder
		p := plain()
		p.OnEvent = heard.hear
		p.Admit = func(context.Context) error { panic("hook") }
		client, _ := call(t, failEverything(), p)
		func() {
			defer func() { _ = recover() }()
			client.FullDuplexCall(t.Context())
			t.Error("no panic")
		}()
		if got := kinds(heard.take()); got != "abandoned" {
			t.Errorf("events %q", got)
		}
	})
}

// C20: a listener may use the very stream whose outcome it hears of, and the
// executor behind it.
func TestWatchedStreamsListenerMayReceive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &backend{
			unary: always(nil),
			chat: func(_ int, s testpb.TestService_FullDuplexCallServer) error {
				return errors.Join(s.Send(message(1)), s.Send(message(2)))
			},
		}
		var (
			s      testpb.TestService_FullDuplexCallClient
			client testpb.TestServiceClient
			inside int
		)
		p := plain()
		p.OnEvent = func(ev ration.Event) {
			if ev.Kind != ration.EventSucceeded || inside != 0 {
				return
			}
			inside = -1
			m, err := s.Recv()
			if err != nil {
				t.Error(err)
			}
			if _, err := client.EmptyCall(t.Context(), &testpb.Empty{}); err != nil {
				t.Error(err)
			}
			inside = number(m)
		}
		client, _ = call(t, b, p)
		var err error
		if s, err = client.FullDuplexCall(t.Context()); err != nil {
			t.Fatal(err)
		}
		if m, err := s.Recv(); err != nil || number(m) != 1 || inside != 2 {
			t.Errorf("%v, %v; in the listener %d", m, err, inside)
		}
	})
}

// Streams that end in any way at any moment leave no goroutine, and each has one
// terminal event.
func TestWatchedStreamsLeaveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &backend{chat: func(_ int, s testpb.TestService_FullDuplexCallServer) error {
			for {
				m, err := s.Recv()
				if err == io.EOF {
					return nil
				}
				if err != nil || rand.N(5) == 0 {
					return down
				}
				pause(s.Context(), time.Duration(len(m.GetPayload().GetBody()))*ms)
				if err := s.Send(message(1)); err != nil {
					return err
				}
			}
		}}
		var heard recorder
		p := plain()
		p.OnEvent = heard.hear
		client, _ := call(t, b, p)
		shapes["bidi stream"](t.Context(), client)
		synctest.Wait()
		heard.take()
		before, _ := goroutines()
		const streams = 200
		for range streams {
			ctx, cancel := context.WithCancel(t.Context())
			s, err := client.FullDuplexCall(ctx)
			if err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(time.Duration(rand.N(50))*ms, cancel)
			go func() {
				for range 5 {
					if err := s.Send(request(rand.N(20))); err != nil {
						return
					}
				}
				s.CloseSend()
			}()
			if rand.N(3) > 0 {
				go func() {
					for {
						if _, err := s.Recv(); err != nil {
							return
						}
					}
				}()
			}
		}
		<-time.After(time.Minute)
		synctest.Wait()
		checkGoroutines(t, before)
		terminal := 0
		for _, ev := range heard.take() {
			if ev.Terminal() {
				terminal++
			}
		}
		if terminal != streams {
			t.Errorf("%d terminal events for %d streams", terminal, streams)
		}
	})
}
