package rationgrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationgrpc"
)

// verdicts is the table of the package comment and of the README.
var verdicts = map[codes.Code]ration.VerdictKind{
	codes.OK:                 ration.VerdictOK,
	codes.Canceled:           ration.VerdictPermanent,
	codes.Unknown:            ration.VerdictPermanent,
	codes.InvalidArgument:    ration.VerdictPermanent,
	codes.DeadlineExceeded:   ration.VerdictPermanent, // the server's, not the attempt's
	codes.NotFound:           ration.VerdictPermanent,
	codes.AlreadyExists:      ration.VerdictPermanent,
	codes.PermissionDenied:   ration.VerdictPermanent,
	codes.ResourceExhausted:  ration.VerdictThrottled,
	codes.FailedPrecondition: ration.VerdictPermanent,
	codes.Aborted:            ration.VerdictPermanent,
	codes.OutOfRange:         ration.VerdictPermanent,
	codes.Unimplemented:      ration.VerdictPermanent,
	codes.Internal:           ration.VerdictPermanent,
	codes.Unavailable:        ration.VerdictTransient,
	codes.DataLoss:           ration.VerdictPermanent,
	codes.Unauthenticated:    ration.VerdictPermanent,
}

func TestCodes(t *testing.T) {
	if len(verdicts) != 17 {
		t.Fatalf("%d codes, gRPC has 17", len(verdicts))
	}
	for code, kind := range verdicts {
		t.Run(code.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testCode(t, code, kind) })
		})
	}
	for _, code := range []codes.Code{codes.Aborted, codes.DeadlineExceeded, codes.ResourceExhausted} {
		t.Run(code.String()+" added", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				testCode(t, code, ration.VerdictTransient,
					rationgrpc.WithTransientCodes(code), rationgrpc.WithTransientCodes(codes.DataLoss))
			})
		})
	}
}

// testCode checks what a code counts as, for a unary call and for a stream, and
// that the caller gets the status as the server gave it.
func testCode(t *testing.T, code codes.Code, kind ration.VerdictKind, opts ...rationgrpc.Option) {
	answer := status.Error(code, "as it is")
	b := &backend{
		unary: always(answer),
		stream: func(int, testpb.TestService_StreamingOutputCallServer) error {
			return answer
		},
	}
	var heard recorder
	p := plain()
	p.OnEvent = heard.hear
	client, _ := call(t, b, p, opts...)

	attempts, waits := 1, time.Duration(0)
	switch kind {
	case ration.VerdictTransient:
		attempts, waits = 3, 300*ms
	case ration.VerdictThrottled:
		attempts, waits = 3, 3*time.Second
	}
	unary := func() error {
		_, err := client.EmptyCall(t.Context(), &testpb.Empty{})
		return err
	}
	stream := func() error {
		s, err := client.StreamingOutputCall(t.Context(), &testpb.StreamingOutputCallRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = s.Recv(); err == io.EOF {
			return nil
		}
		return err
	}
	for name, try := range map[string]func() error{"unary": unary, "stream": stream} {
		begin := time.Now()
		err := try()
		if got := time.Since(begin); got != waits {
			t.Errorf("%s: took %v, want %v", name, got, waits)
		}
		checkCalls(t, b, attempts)
		if got := heard.take()[0].Verdict.Kind; got != kind {
			t.Errorf("%s: %v is %v, want %v", name, code, got, kind)
		}
		if status.Code(err) != code || status.Convert(err).Message() != status.Convert(answer).Message() {
			t.Errorf("%s: the caller got %v", name, err)
		}
		if _, isStatus := err.(interface{ GRPCStatus() *status.Status }); err != nil && !isStatus {
			t.Errorf("%s: the caller got a %T", name, err)
		}
	}
}

// C40: the server's pushback replaces the wait, or forbids the retry. In a stream
// as in a unary call, and beside the policy's own classifier.
func TestPushback(t *testing.T) {
	const policy = 100 * ms
	for _, tc := range []struct {
		name     string
		pushback []string
		info     *durationpb.Duration
		attempts int
		wait     time.Duration
	}{
		{name: "missing", attempts: 2, wait: policy},
		{name: "negative", pushback: []string{"-1"}, attempts: 1},
		{name: "very negative", pushback: []string{"-9223372036854775808"}, attempts: 1},
		{name: "unreadable", pushback: []string{"abc"}, attempts: 1},
		{name: "empty", pushback: []string{""}, attempts: 1},
		{name: "fraction", pushback: []string{"1.5"}, attempts: 1},
		{name: "padded", pushback: []string{" 250"}, attempts: 1},
		{name: "two", pushback: []string{"250", "250"}, attempts: 1},
		{name: "exact", pushback: []string{"250"}, attempts: 2, wait: 250 * ms},
		{name: "at once", pushback: []string{"0"}, attempts: 2},
		{name: "long", pushback: []string{"3600000"}, attempts: 2, wait: 30 * time.Second},
		{name: "more than a duration holds", pushback: []string{"9223372036855"}, attempts: 2,
			wait: 30 * time.Second},
		{name: "the most", pushback: []string{"9223372036854775807"}, attempts: 2,
			wait: 30 * time.Second},
		{name: "more than that", pushback: []string{"9223372036854775808"}, attempts: 1},
		{name: "details", info: durationpb.New(700 * ms), attempts: 2, wait: 700 * ms},
		{name: "zero in details", info: durationpb.New(0), attempts: 2, wait: policy},
		{name: "negative in details", info: durationpb.New(-time.Second), attempts: 2, wait: policy},
		{name: "huge in details", info: &durationpb.Duration{Seconds: 1 << 60}, attempts: 2,
			wait: 30 * time.Second},
		{name: "both", pushback: []string{"250"}, info: durationpb.New(700 * ms), attempts: 2,
			wait: 250 * ms},
	} {
		for name, classify := range map[string]ration.Classifier{
			"": nil, " beside a classifier": retryAll,
		} {
			t.Run(tc.name+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, err := status.New(codes.Unavailable, "busy"), error(nil)
					if tc.info != nil {
						s, err = s.WithDetails(&errdetails.DebugInfo{}, &errdetails.RetryInfo{RetryDelay: tc.info})
						if err != nil {
							t.Fatal(err)
						}
					}
					b := pushing(s.Err(), tc.pushback)
					p := plain()
					p.Attempts, p.Deadline, p.Classify = 2, ration.NoLimit, classify
					client, _ := call(t, b, p)
					checkPushback(t, b, tc.attempts, tc.wait, func() error {
						_, err := client.EmptyCall(t.Context(), &testpb.Empty{})
						return err
					})
					checkPushback(t, b, tc.attempts, tc.wait, func() error {
						s, err := client.StreamingOutputCall(t.Context(), &testpb.StreamingOutputCallRequest{})
						if err != nil {
							t.Fatal(err)
						}
						_, err = s.Recv()
						return err
					})
				})
			})
		}
	}
}

// retryAll is a classifier that knows nothing of hints.
func retryAll(_ any, err error) ration.Verdict {
	if err == nil {
		return ration.Verdict{}
	}
	return ration.Verdict{Kind: ration.VerdictTransient}
}

func pushing(err error, pushback []string) *backend {
	trailer := metadata.MD{"grpc-retry-pushback-ms": pushback}
	return &backend{
		unary: func(ctx context.Context, _ int) error {
			grpc.SetTrailer(ctx, trailer)
			return err
		},
		stream: func(_ int, s testpb.TestService_StreamingOutputCallServer) error {
			s.SetTrailer(trailer)
			return err
		},
	}
}

func checkPushback(t *testing.T, b *backend, attempts int, wait time.Duration, try func() error) {
	t.Helper()
	begin := time.Now()
	err := try()
	if got := time.Since(begin).Truncate(ms); got != wait {
		t.Errorf("waited %v, want %v", got, wait)
	}
	checkCalls(t, b, attempts)
	if status.Code(err) != codes.Unavailable {
		t.Errorf("the caller got %v", err)
	}
}

// A pushback says when to retry, not that a permanent failure is worth it.
func TestPushbackOnPermanent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := pushing(status.Error(codes.NotFound, "no"), []string{"250"})
		client, _ := call(t, b, plain())
		if _, err := client.EmptyCall(t.Context(), &testpb.Empty{}); status.Code(err) != codes.NotFound {
			t.Errorf("got %v", err)
		}
		checkCalls(t, b, 1)
	})
}

// The policy's own classifier has the last word on statuses, sees the verdict on
// the code as a mark, and the reply beside it.
func TestClassify(t *testing.T) {
	notFound := status.Error(codes.NotFound, "not yet")
	for _, tc := range []struct {
		name     string
		answer   error
		attempts int
	}{
		{"changed", notFound, 3},
		{"left to the code", down, 3},
		{"left to the code, which is permanent", status.Error(codes.Internal, ""), 1},
		{"called OK", status.Error(codes.DataLoss, ""), 1},
		{"success", nil, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &backend{unary: always(tc.answer)}
				p := plain()
				p.Classify = func(value any, err error) ration.Verdict {
					if _, ok := value.(*testpb.Empty); !ok {
						t.Errorf("the classifier saw a %T", value)
					}
					switch status.Code(err) {
					case codes.NotFound:
						return ration.Verdict{Kind: ration.VerdictTransient}
					case codes.DataLoss:
						return ration.Verdict{}
					}
					return ration.DefaultClassifier(value, err)
				}
				client, _ := call(t, b, p)
				_, err := client.EmptyCall(t.Context(), &testpb.Empty{})
				checkCalls(t, b, tc.attempts)
				if status.Code(err) != status.Code(tc.answer) {
					t.Errorf("the caller got %v", err)
				}
			})
		})
	}
}

// An answer without an error can be a failure too. The caller gets the last one.
func TestClassifyAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &backend{
			unary: always(nil),
			stream: func(n int, s testpb.TestService_StreamingOutputCallServer) error {
				s.Send(message(n))
				s.Send(message(10 * n))
				return nil
			},
		}
		p := plain()
		p.Classify = func(value any, err error) ration.Verdict {
			if m, ok := value.(*testpb.StreamingOutputCallResponse); ok && number(m) < 2 {
				return ration.Verdict{Kind: ration.VerdictTransient}
			}
			return ration.DefaultClassifier(value, err)
		}
		client, guard := call(t, b, p)
		receive := func() (got []int) {
			s, err := client.StreamingOutputCall(t.Context(), &testpb.StreamingOutputCallRequest{})
			if err != nil {
				t.Fatal(err)
			}
			for {
				m, err := s.Recv()
				if err == io.EOF {
					return got
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, number(m))
			}
		}
		receive()
		b.take()
		synctest.Wait()
		before, _ := goroutines()
		if got := receive(); len(got) != 2 || got[0] != 2 || got[1] != 20 {
			t.Errorf("received %v", got)
		}
		checkCalls(t, b, 2)
		synctest.Wait()
		checkGoroutines(t, before) // the stream that was not good enough is over

		// The last one is the caller's, whatever the classifier makes of it.
		p.Attempts = 1
		if err := guard.Executor().Update(p); err != nil {
			t.Fatal(err)
		}
		if got := receive(); len(got) != 2 || got[0] != 1 || got[1] != 10 {
			t.Errorf("received %v", got)
		}
		checkCalls(t, b, 1)
	})
}

// What an interceptor within the attempt says about its error counts, and what an
// executor in there has refused is not tried again.
func TestInnerMarks(t *testing.T) {
	internal := status.Error(codes.Internal, "broken")
	var refused error
	synctest.Test(t, func(t *testing.T) {
		inner := ration.MustNew(ration.Policy{Budget: drained(t)})
		refused = inner.Run(t.Context(), func(context.Context) error { return ration.Transient(down) })
		checkIs(t, refused, []error{ration.ErrBudgetExhausted}, nil)
	})
	for _, tc := range []struct {
		name     string
		err      error
		attempts int
		verdict  string
	}{
		{"unmarked", down, 3, "transient"},
		{"wrapped", fmt.Errorf("outer: %w", down), 3, "transient"},
		{"transient", ration.Transient(internal), 3, "transient"},
		{"permanent", ration.Permanent(down), 1, "permanent"},
		{"throttled", ration.Throttled(internal, time.Second), 3, "throttled, retry after 1s"},
		{"refused", ration.Refused(status.Error(codes.ResourceExhausted, "limiter"), time.Second), 3,
			"throttled, self-imposed, retry after 1s"},
		{"unrepeatable", ration.Unrepeatable(down), 1, "transient"},
		{"refusal of an executor", refused, 1, "permanent"},
		{"an inner attempt's timeout", errors.Join(ration.ErrAttemptTimeout,
			status.Error(codes.DeadlineExceeded, "")), 3, "transient"},
		{"no status", errors.New("odd"), 1, "permanent"},
		{"no status, known", io.ErrUnexpectedEOF, 3, "transient"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var heard recorder
				p := plain()
				p.OnEvent = heard.hear
				n := 0
				err := invoke(t.Context(), newGuard(t, p), func() error { n++; return tc.err })
				if n != tc.attempts {
					t.Errorf("%d attempts, want %d", n, tc.attempts)
				}
				if got := heard.take()[0].Verdict.String(); got != tc.verdict {
					t.Errorf("verdict %q, want %q", got, tc.verdict)
				}
				if err != tc.err {
					t.Errorf("the caller got %v, want %v unchanged", err, tc.err)
				}
			})
		})
	}
}

// Two interceptors chained: the inner one's refusal is the outer one's permanent
// failure, and reaches the caller as it was.
func TestInnerInterceptorRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &backend{unary: always(down)}
		p := plain()
		p.Budget = drained(t)
		inner := newGuard(t, p)
		outer := newGuard(t, plain())
		conn := connect(t, serve(t, b), append(outer.DialOptions(), inner.DialOptions()...)...)
		_, err := testpb.NewTestServiceClient(conn).EmptyCall(t.Context(), &testpb.Empty{})
		checkCalls(t, b, 1)
		checkIs(t, err, []error{ration.ErrBudgetExhausted}, nil)
		if status.Code(err) != codes.Unavailable {
			t.Errorf("status %v", status.Code(err))
		}
	})
}

// invoke runs a unary call whose attempts are made by a function.
func invoke(ctx context.Context, guard *rationgrpc.Interceptor, attempt func() error) error {
	return guard.Unary()(ctx, "/test.Service/Method", nil, nil, nil,
		func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
			return attempt()
		})
}

// drained returns a budget without a token that never gets one by itself.
func drained(t testing.TB) *ration.Budget {
	t.Helper()
	b, err := ration.NewBudget(0.1, 0)
	if err != nil {
		t.Fatal(err)
	}
	for b.Withdraw(time.Now(), ration.Critical) {
	}
	return b
}
