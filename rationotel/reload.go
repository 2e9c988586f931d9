package rationotel

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Reloads returns a function that reports how reloading a configuration went, nil
// if well, for a watcher of policy files to call. It counts in
//
//	ration.config.reloads  {reload}   ration.config, ration.outcome: ok or failed
//	ration.config.failing  {config}   ration.config
//
// where the second is 1 from a failure to the next success: what is in force is
// then not what the file says. name tells configurations apart, as
// ration.config; it must not come from data. A nil provider is the global one.
// report is safe for concurrent use.
func Reloads(provider metric.MeterProvider, name string) (report func(error), err error) {
	if provider == nil {
		provider = otel.GetMeterProvider()
	}
	meter := provider.Meter(ScopeName)
	reloads, err1 := meter.Int64Counter("ration.config.reloads", metric.WithUnit("{reload}"),
		metric.WithDescription("Attempts to put a changed configuration in force."))
	failing, err2 := meter.Int64Gauge("ration.config.failing", metric.WithUnit("{config}"),
		metric.WithDescription("1 if the last reload failed, so that an older configuration "+
			"is in force."))
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("rationotel: %w", err)
	}
	config := attribute.String("ration.config", labelOf(name))
	of := func(outcome string) metric.MeasurementOption {
		return metric.WithAttributeSet(
			attribute.NewSet(config, attribute.String("ration.outcome", outcome)))
	}
	all, ok, failed := metric.WithAttributeSet(attribute.NewSet(config)), of("ok"), of("failed")
	ctx := context.Background()
	reloads.Add(ctx, 0, ok)
	reloads.Add(ctx, 0, failed)
	failing.Record(ctx, 0, all)
	return func(err error) {
		if err != nil {
			reloads.Add(ctx, 1, failed)
			failing.Record(ctx, 1, all)
			return
		}
		reloads.Add(ctx, 1, ok)
		failing.Record(ctx, 0, all)
	}, nil
}
