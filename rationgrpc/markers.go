package rationgrpc

import (
	"context"
	"strconv"

	"google.golang.org/grpc/metadata"
)

// The metadata that this package sends and reads.
const (
	// RetryingKey is "1" on every call that its sender could retry, from the
	// first attempt on: by the time a retry goes out, traffic has multiplied.
	RetryingKey = "x-nresilience-retrying"

	// PreviousAttemptsKey is how many attempts came before, on retries.
	PreviousAttemptsKey = "grpc-previous-rpc-attempts"

	// CriticalityKey is the name of the call's level.
	CriticalityKey = "x-criticality"
)

// marks are what one call tells its server.
type marks struct {
	retrying    bool
	criticality string      // "" = not sent
	carried     metadata.MD // a copy of what the caller's context carries; nil = nothing
}

func (m *marks) none() bool { return !m.retrying && m.criticality == "" }

// retryingOnly is what most calls send. Metadata in a context is never changed,
// so that all of them can share it.
var retryingOnly = metadata.MD{RetryingKey: {"1"}}

// outgoing returns the context of attempt n, from 1. The keys are set and not
// added: the caller's context may carry some from the call that it serves.
func (m *marks) outgoing(ctx context.Context, n int) context.Context {
	switch {
	case m.none():
		return ctx
	case n == 1 && m.carried == nil && m.criticality == "":
		return metadata.NewOutgoingContext(ctx, retryingOnly)
	}
	md := m.carried
	if n > 1 || md == nil { // else the copy that we have serves
		md = md.Copy()
	}
	if m.criticality != "" {
		md.Set(CriticalityKey, m.criticality)
	}
	if m.retrying {
		md.Set(RetryingKey, "1")
		md.Delete(PreviousAttemptsKey)
	}
	if n > 1 {
		md.Set(PreviousAttemptsKey, strconv.Itoa(n-1))
	}
	return metadata.NewOutgoingContext(ctx, md)
}

// marked reports whether metadata carries the retry marker: exactly one "1".
// Anything else is not ours, and a value that means "no" must not read as "yes".
func marked(md metadata.MD) bool { return isMarker(md[RetryingKey]) }

func isMarker(values []string) bool { return len(values) == 1 && values[0] == "1" }

type singleShotKey struct{}

// SingleShot returns a context whose calls are never retried, whatever the
// method. It travels through the process, not over the wire, and so reaches
// calls made by generated code.
func SingleShot(ctx context.Context) context.Context {
	return context.WithValue(ctx, singleShotKey{}, true)
}

func isSingleShot(ctx context.Context) bool {
	single, _ := ctx.Value(singleShotKey{}).(bool)
	return single
}
