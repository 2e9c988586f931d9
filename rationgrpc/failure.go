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

// judge turns the error of an attempt that ctx bounded into one that carries its
// verdict. value is what a policy's Classify sees beside the error. An error that
// is no status comes from some other interceptor, and is left to the executor's
// own rules.
func (c *config) judge(ctx context.Context, value any, err error, trailer metadata.MD) error {
	if err == nil {
		return nil
	}
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	said := readPushback(trailer, s)
	f := &failure{err: err, own: s.Code() == codes.DeadlineExceeded && expired(ctx)}
	var judged error = f
	if !speaks(err) {
		judged = ration.Mark(f, c.verdict(value, f, s.Code(), said.after))
	}
	if said.forbidden {
		// Whoever retries us would only make us ask the same server again.
		ration.GiveUpOf(ctx).Mark()
		return ration.Unrepeatable(judged)
	}
	return judged
}

// verdict judges a status. The policy's own classifier sees the verdict on the
// code as a mark, so that one which changes a few ends with
// [ration.DefaultClassifier]; the wait that a server asked for is not its affair,
// unless it has one of its own.
func (c *config) verdict(
	value any, f *failure, code codes.Code, after time.Duration,
) ration.Verdict {
	v := ration.Verdict{Kind: c.kind(code), RetryAfter: after}
	if f.own {
		v.Kind = ration.VerdictTransient
		return v
	}
	if classify := c.executor.Policy().Classify; classify != nil {
		v = classify(value, ration.Mark(f, v))
	}
	if v.RetryAfter <= 0 {
		v.RetryAfter = after
	}
	return v
}

func (c *config) kind(code codes.Code) ration.VerdictKind {
	switch {
	case c.transient[code], code == codes.Unavailable:
		return ration.VerdictTransient
	case code == codes.ResourceExhausted:
		return ration.VerdictThrottled
	}
	return ration.VerdictPermanent
}

// speaks reports whether err says itself what it is: an interceptor that runs
// within the attempt has marked it, or it is the refusal of an executor in there,
// which is not to be tried again whatever the code. These two classifiers agree on
// such an error. On a plain status they differ, since one of them retries what it
// does not know.
func speaks(err error) bool {
	return ration.RetryAny(nil, err) == ration.DefaultClassifier(nil, err)
}

// deadlineSlack is how long before the attempt's deadline a DeadlineExceeded
// counts as the attempt's own. The server was given what was left of it when the
// request went out, in whole units of some size, and may be the first to notice.
const deadlineSlack = 5 * time.Millisecond

// expired reports whether the deadline of ctx has passed. One that is about to is
// waited for, so that the server and the clock here tell one story: who set the
// deadline, the policy or the caller, can only be seen once it has passed. A context
// of the caller's own making that does not keep its word is not waited for longer.
func expired(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	if !ok || time.Until(deadline) > deadlineSlack {
		return false
	}
	select {
	case <-ctx.Done():
	case <-time.After(2 * deadlineSlack):
	}
	return errors.Is(ctx.Err(), context.DeadlineExceeded)
}

// final returns what the caller sees: the status as gRPC gave it, or the stop
// that the executor decided, readable as a status too. It does not look for a
// stop inside err, where one of an inner call may be.
func final(err error) error {
	if stop, ok := err.(*ration.Error); ok { //nolint:errorlint // see above
		ours := *stop
		ours.Last = original(stop.Last)
		return &stopped{&ours, &ours}
	}
	return original(err)
}

// original takes off an error what was put around it on its way.
func original(err error) error {
	if err == nil {
		return nil
	}
	f, ok := errors.AsType[*failure](err)
	if !ok {
		return err
	}
	timedOut := errors.Is(err, ration.ErrAttemptTimeout)
	if timedOut && !errors.Is(f.err, ration.ErrAttemptTimeout) {
		return err // the executor has added it
	}
	return f.err
}

// stopped gives an error that is or wraps a [ration.Error] the status of that, for
// code that reads only those.
type stopped struct {
	error
	stop *ration.Error
}

func (s *stopped) Unwrap() error { return s.error }

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

// code is Unavailable for a refusal without a failure to speak of, and for one
// after attempts that timed out: the caller's deadline has not passed.
func (s *stopped) code() codes.Code {
	switch s.stop.Reason {
	case ration.StopCanceled:
		return codes.Canceled
	case ration.StopDeadlineExceeded:
		return codes.DeadlineExceeded
	}
	last, ok := status.FromError(s.stop.Last)
	if !ok || last.Code() == codes.OK || last.Code() == codes.DeadlineExceeded {
		return codes.Unavailable
	}
	return last.Code()
}
