package rationgrpc

import (
	"context"
	"strconv"

	"google.golang.org/grpc/metadata"

	"github.com/ration-go/ration"
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
	criticality string // "" = not sent
}

// outgoing returns the context of attempt n, from 1. The keys are set and not
// added: the caller's context may carry some from the call that it serves.
func (m marks) outgoing(ctx context.Context, n int) context.Context {
	if !m.retrying && m.criticality == "" {
		return ctx
	}
	md, ok := metadata.FromOutgoingContext(ctx)
	if !ok {
		md = metadata.MD{}
	}
	if m.retrying {
		md.Set(RetryingKey, "1")
	}
	if n > 1 {
		md.Set(PreviousAttemptsKey, strconv.Itoa(n-1))
	}
	if m.criticality != "" {
		md.Set(CriticalityKey, m.criticality)
	}
	return metadata.NewOutgoingContext(ctx, md)
}

// marked reports whether metadata carries the retry marker: exactly one "1".
func marked(md metadata.MD) bool {
	values := md.Get(RetryingKey)
	return len(values) == 1 && values[0] == "1"
}

// nested marks a context whose outgoing metadata already carries the marker: a
// proxy hands on what it was sent.
func nested(ctx context.Context) context.Context {
	if md, ok := metadata.FromOutgoingContext(ctx); ok && marked(md) {
		return ration.WithNestedRetry(ctx)
	}
	return ctx
}

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
