package rationgrpc

import (
	"context"
	"errors"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ration-go/ration"
)

// timeoutSlack is how close to the attempt's deadline a DeadlineExceeded counts
// as the attempt's own. The server has the same deadline, less the time that the
// request took to arrive, and may be the first to notice.
const timeoutSlack = 50 * time.Millisecond

// A failure is a failed attempt on its way through the executor. It keeps the
// error as gRPC gave it, for the caller.
type failure struct {
	err error
	own bool // the attempt's own deadline
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// Is makes the executor see its own timeout in a status, which does not match
// the error of package context.
func (f *failure) Is(target error) bool { return f.own && target == context.DeadlineExceeded }

// judge turns the error of an attempt into one that carries its verdict. An
// error that is no status comes from some other interceptor and is left to the
// policy's classifier, as are all errors when the policy brings one.
func (c *config) judge(ctx context.Context, err error, trailer metadata.MD) error {
	s, ok := status.FromError(err)
	if err == nil || !ok {
		return err
	}
	said := readPushback(trailer, s)
	f := &failure{err: err, own: s.Code() == codes.DeadlineExceeded && expiring(ctx)}
	var judged error = f
	if c.executor.Policy().Classify == nil {
		judged = ration.Mark(f, ration.Verdict{Kind: c.kind(s.Code(), f.own), RetryAfter: said.after})
	}
	if said.forbidden {
		// Whoever retries us would only make us ask the same server again.
		ration.GiveUpOf(ctx).Mark()
		return ration.Unrepeatable(judged)
	}
	return judged
}

func (c *config) kind(code codes.Code, own bool) ration.VerdictKind {
	switch {
	case c.transient[code], code == codes.Unavailable, own:
		return ration.VerdictTransient
	case code == codes.ResourceExhausted:
		return ration.VerdictThrottled
	}
	return ration.VerdictPermanent
}

func expiring(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) <= timeoutSlack
}

// final returns what the caller sees: the status as gRPC gave it, or the stop
// that the executor decided, readable as a status too.
func final(err error) error {
	var (
		stop *ration.Error
		f    *failure
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &stop):
		return &stopped{stop}
	case errors.As(err, &f) && !errors.Is(err, ration.ErrAttemptTimeout):
		return f.err
	}
	return err
}

// stopped gives a [ration.Error] a status, for code that reads only those.
type stopped struct{ stop *ration.Error }

func (s *stopped) Error() string { return s.stop.Error() }
func (s *stopped) Unwrap() error { return s.stop }

// GRPCStatus is what status.FromError reads. A refusal passes on the code of the
// failure that would have been retried, and when to come back.
func (s *stopped) GRPCStatus() *status.Status {
	plain := status.New(s.code(), s.Error())
	after, ok := s.stop.RetryAfter()
	if !ok || after <= 0 {
		return plain
	}
	hinted, err := plain.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(after)})
	if err != nil { // only an OK status takes no details
		return plain
	}
	return hinted
}

func (s *stopped) code() codes.Code {
	switch s.stop.Reason {
	case ration.StopCanceled:
		return codes.Canceled
	case ration.StopDeadlineExceeded:
		return codes.DeadlineExceeded
	}
	if last, ok := status.FromError(s.stop.Last); ok && s.stop.Last != nil {
		return last.Code()
	}
	return codes.Unavailable
}
