package rationotel

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/ration-go/ration"
)

// annotate adds an event to the caller's span. The text of an error is not part of
// it: it may hold what must not leave the process, and the span of the failed
// attempt has it anyway.
func annotate(span trace.Span, ev *ration.Event) {
	if uneventful(ev) {
		return
	}
	attrs := label{policyLabel(ev.Policy), labelOf(ev.Key)}.attributes(
		attemptAttr.Int(ev.Attempt))
	if ev.Err != nil || ev.Kind == ration.EventAttempt {
		attrs = append(attrs, verdictAttr.String(ev.Verdict.Kind.String()))
	}
	if ev.Delay > 0 {
		attrs = append(attrs, delayAttr.Float64(ev.Delay.Seconds()))
	}
	if ev.Terminal() {
		attrs = append(attrs, outcomeAttr.String(outcomes[ev.Reason]))
	}
	if ev.Err != nil {
		attrs = append(attrs, errorAttr.String(fmt.Sprintf("%T", ev.Err)))
	}
	span.AddEvent("nresilience."+ev.Kind.String(), trace.WithAttributes(attrs...))
}

// uneventful reports whether an event is that of a first attempt which succeeds, or
// of its call. Nothing was decided there, and the span says that it went well.
func uneventful(ev *ration.Event) bool {
	return ev.Attempt <= 1 && (ev.Kind == ration.EventSucceeded ||
		ev.Kind == ration.EventAttempt && ev.Verdict.Kind == ration.VerdictOK)
}

// Do is [ration.Do] within a span of its own, named "resilience" and the policy,
// whose children are the spans of the attempts. It carries the outcome and the
// number of attempts, and its status is an error unless the call succeeded. A nil
// tracer is that of the global provider.
//
// Around an HTTP or gRPC client such a span needs no Do: the client's own
// instrumentation makes it, outside of Ration's for a span per call, inside for
// one per attempt.
func Do[T any](
	ctx context.Context, tracer trace.Tracer, e *ration.Executor,
	fn func(context.Context) (T, error),
) (T, error) {
	if tracer == nil {
		tracer = otel.Tracer(ScopeName)
	}
	l := label{policyLabel(e.Policy().Name), labelOf(e.Key())}
	ctx, span := tracer.Start(ctx, "resilience "+l.policy,
		trace.WithAttributes(l.attributes()...))
	// What stands until Try returns is what a panic in fn, or runtime.Goexit, leaves.
	r := ration.Result[T]{Stop: ration.StopAbandoned}
	defer func() { end(span, r.Stop, len(r.Attempts)) }()
	r = ration.Try(ctx, e, fn)
	return r.Value, r.Err
}

func end(span trace.Span, reason ration.StopReason, attempts int) {
	span.SetAttributes(outcomeAttr.String(outcomes[reason]))
	if attempts > 0 {
		span.SetAttributes(attemptsAttr.Int(attempts))
	}
	if reason != ration.StopSucceeded {
		span.SetStatus(codes.Error, outcomes[reason])
	}
	span.End()
}
