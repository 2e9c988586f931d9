package rationotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/metric"
)

// instruments are all that is measured.
type instruments struct {
	calls, attempts, rejections, refusals, nested metric.Int64Counter

	callTime, attemptTime, ceiling, base metric.Float64Histogram

	utilization, tokens metric.Float64ObservableGauge
	breaker             metric.Int64ObservableGauge
}

// buckets are advice to the SDK, in seconds: from a call within the rack to the
// default Deadline, in steps of two to two and a half. The defaults of the SDK
// are made for milliseconds.
var buckets = metric.WithExplicitBucketBoundaries(
	.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30)

// newInstruments makes all of them, and joins what goes wrong.
func newInstruments(m metric.Meter) (*instruments, error) {
	var errs []error
	counter := func(name, unit, about string) metric.Int64Counter {
		c, err := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(about))
		errs = append(errs, err)
		return c
	}
	seconds := func(name, about string) metric.Float64Histogram {
		h, err := m.Float64Histogram(name, metric.WithUnit("s"),
			metric.WithDescription(about), buckets)
		errs = append(errs, err)
		return h
	}
	gauge := func(name, unit, about string) metric.Float64ObservableGauge {
		g, err := m.Float64ObservableGauge(name,
			metric.WithUnit(unit), metric.WithDescription(about))
		errs = append(errs, err)
		return g
	}
	in := &instruments{
		calls: counter("nresilience.calls", "{call}",
			"Calls that have ended."),
		attempts: counter("nresilience.attempts", "{attempt}",
			"Attempts that went out. Divided by calls: the load that retries make of traffic."),
		rejections: counter("nresilience.rejections", "{rejection}",
			"Calls that the retry budget or the breaker refused."),
		refusals: counter("nresilience.local_refusals", "{attempt}",
			"Attempts that this process refused itself, so that nobody was asked."),
		nested: counter("nresilience.nested_retries", "{call}",
			"Calls that could retry inside something that could retry as well."),
		callTime: seconds("nresilience.call.duration",
			"How long calls took, waits included."),
		attemptTime: seconds("nresilience.attempt.duration",
			"How long attempts took."),
		ceiling: seconds("nresilience.attempt.ceiling",
			"Measured attempt ceilings, each when it came into force."),
		base: seconds("nresilience.backoff.base",
			"Measured backoff bases, each when it came into force."),
		utilization: gauge("nresilience.budget.utilization", "1",
			"Share of the retry budget that is spent: 0 at rest, 1 when it is empty."),
		tokens: gauge("nresilience.budget.tokens", "{token}",
			"Retries that the budget could fund now."),
	}
	var err error
	in.breaker, err = m.Int64ObservableGauge("nresilience.breaker.state",
		metric.WithUnit("{state}"),
		metric.WithDescription("0 is closed, 1 half-open, 2 open."))
	return in, errors.Join(append(errs, err)...)
}

// begin brings the counters of a new series into being at zero. A counter that
// first appears with its first increment hides that increment from whoever
// computes rates, and the first retries of a storm are those that matter.
func (in *instruments) begin(s *series) {
	ctx := context.Background()
	for i := range s.outcomes {
		in.calls.Add(ctx, 0, s.outcomes[i].add...)
	}
	for i := range s.verdicts {
		in.attempts.Add(ctx, 0, s.verdicts[i].add...)
	}
	for i := range s.reasons {
		in.rejections.Add(ctx, 0, s.reasons[i].add...)
	}
	in.nested.Add(ctx, 0, s.plain.add...)
	in.refusals.Add(ctx, 0, s.plain.add...)
}
