package bench

import (
	"context"
	"errors"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/ration-go/ration/rationotel"
)

// newProvider returns the SDK of OpenTelemetry, which keeps what it is told until a
// reader comes.
func newProvider() *sdk.MeterProvider {
	return sdk.NewMeterProvider(sdk.WithReader(sdk.NewManualReader()))
}

// attachMetrics has every executor of the process report to the SDK until the test or
// benchmark ends.
func attachMetrics(tb testing.TB) {
	stop, err := rationotel.Attach(rationotel.Options{MeterProvider: newProvider()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(stop)
}

// recordAlone is what the SDK takes for the measurements of one call: two counters and
// two histograms, with attributes that are made in advance. None of the peers reports
// metrics by itself; who measures them by hand pays this much at least.
func recordAlone(tb testing.TB) func(int) {
	meter := newProvider().Meter("bench")
	calls, err1 := meter.Int64Counter("calls")
	attempts, err2 := meter.Int64Counter("attempts")
	callTime, err3 := meter.Float64Histogram("call.duration")
	attemptTime, err4 := meter.Float64Histogram("attempt.duration")
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		tb.Fatal(err)
	}
	set := metric.WithAttributeSet(attribute.NewSet(
		attribute.String("policy", "bench"), attribute.String("outcome", "succeeded")))
	add, record := []metric.AddOption{set}, []metric.RecordOption{set}
	ctx := context.Background()
	return repeat(func() {
		attempts.Add(ctx, 1, add...)
		attemptTime.Record(ctx, 1e-6, record...)
		calls.Add(ctx, 1, add...)
		callTime.Record(ctx, 1e-6, record...)
	})
}
