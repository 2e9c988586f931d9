package rationotel

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/ration-go/ration"
)

// ScopeName names the instrumentation scope of all meters and tracers of this
// package, for views and filters.
const ScopeName = "github.com/ration-go/ration/rationotel"

// DefaultMaxKeys is how many keys of a policy are reported by name unless
// [Options.MaxKeys] says otherwise.
const DefaultMaxKeys = 100

// Options change [Attach]. The zero value is the default. It is a value.
type Options struct {
	// MeterProvider makes the instruments. nil = the global one of
	// [otel.GetMeterProvider].
	MeterProvider metric.MeterProvider

	// MaxKeys is how many keys of each policy are reported by name; those that
	// come later are "other". 0 = [DefaultMaxKeys]; negative = none: keys are
	// not told apart and have no attribute.
	//
	// A key makes up to 8 series of nresilience.calls. The SDK merges what goes
	// past a limit of its own, 2,000 series of an instrument by default, so a
	// process in which more than two policies have this many keys should lower
	// MaxKeys, or raise that limit.
	MaxKeys int

	// NoSpanEvents leaves the caller's spans alone.
	NoSpanEvents bool
}

// Attach reports the calls of every executor of the process, from those that
// begin now, until stop is called. Executors that are Unlisted are left out. The
// error is that of a provider that refuses an instrument.
//
// Attach once: what is attached twice is counted twice. While it is attached, a
// call that succeeds at once is recorded without an allocation; before and after, a
// call pays nothing for it.
func Attach(o Options) (stop func(), err error) {
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	if o.MaxKeys == 0 {
		o.MaxKeys = DefaultMaxKeys
	}
	meter := o.MeterProvider.Meter(ScopeName)
	in, err := newInstruments(meter)
	if err != nil {
		return nil, fmt.Errorf("rationotel: %w", err)
	}
	r := &recorder{instruments: in, spanEvents: !o.NoSpanEvents}
	r.table = newTable(max(o.MaxKeys, 0), in.begin)
	registration, err := meter.RegisterCallback(r.observe, in.utilization, in.tokens, in.breaker)
	if err != nil {
		return nil, fmt.Errorf("rationotel: %w", err)
	}
	unobserve := ration.Observe(r.hear)
	return func() {
		unobserve()
		_ = registration.Unregister() // the SDK's never fails
	}, nil
}

// A recorder turns events into measurements. It is safe for concurrent use.
type recorder struct {
	*instruments
	table      *table
	spanEvents bool
}

// hear is the listener.
func (r *recorder) hear(ctx context.Context, _ *ration.Executor, ev ration.Event) {
	r.record(ctx, r.table.series(ev.Policy, ev.Key), &ev)
	if !r.spanEvents {
		return
	}
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		annotate(span, &ev)
	}
}

// record measures one event.
func (r *recorder) record(ctx context.Context, s *series, ev *ration.Event) {
	switch ev.Kind {
	case ration.EventAttempt:
		r.attempt(ctx, s, ev)
	case ration.EventNestedRetry:
		r.nested.Add(ctx, 1, s.plain.add...)
	case ration.EventCeilingAdapted:
		r.ceiling.Record(ctx, ev.Delay.Seconds(), s.plain.record...)
	case ration.EventBackoffBaseAdapted:
		r.base.Record(ctx, ev.Delay.Seconds(), s.plain.record...)
	}
	if ev.Terminal() {
		r.call(ctx, s, ev)
	}
}

func (r *recorder) attempt(ctx context.Context, s *series, ev *ration.Event) {
	if ev.Verdict.SelfImposed {
		r.refusals.Add(ctx, 1, s.plain.add...)
		return
	}
	verdict := &s.verdicts[ev.Verdict.Kind]
	r.attempts.Add(ctx, 1, verdict.add...)
	r.attemptTime.Record(ctx, ev.Duration.Seconds(), verdict.record...)
}

func (r *recorder) call(ctx context.Context, s *series, ev *ration.Event) {
	outcome := &s.outcomes[ev.Reason]
	r.calls.Add(ctx, 1, outcome.add...)
	r.callTime.Record(ctx, ev.Duration.Seconds(), outcome.record...)
	switch {
	case ev.Rejection():
		r.rejections.Add(ctx, 1, s.reasons[reasonOf(ev.Reason)].add...)
	case cutShort(ev):
		r.attempts.Add(ctx, 1, s.verdicts[abandoned].add...)
	}
}

// cutShort reports whether a call was abandoned during an attempt, which then has
// no event of its own. A call abandoned while it waits rests on the failure that
// it waits after, and one whose first attempt has not begun has none.
func cutShort(ev *ration.Event) bool {
	return ev.Kind == ration.EventAbandoned && ev.Attempt > 0 &&
		ev.Verdict.Kind == ration.VerdictOK
}
