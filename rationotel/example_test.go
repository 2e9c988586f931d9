package rationotel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationotel"
)

// One call attaches telemetry to all executors of the process.
func ExampleAttach() {
	reader := sdk.NewManualReader() // a program has an exporter instead
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	stop, err := rationotel.Attach(rationotel.Options{MeterProvider: provider})
	if err != nil {
		panic(err)
	}
	defer stop()

	payments := ration.MustNew(ration.Policy{Name: "payments", Backoff: ration.NoBackoff})
	attempts := 0
	_ = payments.Run(context.Background(), func(context.Context) error {
		if attempts++; attempts == 1 {
			return ration.Transient(errors.New("connection reset"))
		}
		return nil
	})

	printCounters(reader, "nresilience.calls", "nresilience.attempts")
	// Output:
	// nresilience.calls nresilience.outcome=succeeded,nresilience.policy=payments 1
	// nresilience.attempts nresilience.policy=payments,nresilience.verdict=ok 1
	// nresilience.attempts nresilience.policy=payments,nresilience.verdict=transient 1
}

// printCounters prints the series of counters that are not zero.
func printCounters(reader sdk.Reader, names ...string) {
	var data metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &data); err != nil {
		panic(err)
	}
	for _, name := range names {
		var lines []string
		for _, scope := range data.ScopeMetrics {
			for _, m := range scope.Metrics {
				if m.Name != name {
					continue
				}
				for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
					if p.Value > 0 {
						attrs := p.Attributes.Encoded(attribute.DefaultEncoder())
						lines = append(lines, fmt.Sprintln(name, attrs, p.Value))
					}
				}
			}
		}
		slices.Sort(lines)
		for _, line := range lines {
			fmt.Print(line)
		}
	}
}

// Only a few hosts are worth a series of their own.
func ExampleOptions() {
	reader := sdk.NewManualReader()
	stop, err := rationotel.Attach(rationotel.Options{
		MeterProvider: sdk.NewMeterProvider(sdk.WithReader(reader)),
		MaxKeys:       1,
	})
	if err != nil {
		panic(err)
	}
	defer stop()

	hosts := ration.MustNew(ration.Policy{Name: "mail"})
	for _, host := range []string{"a.example", "b.example", "c.example"} {
		_ = hosts.For(host).Run(context.Background(), func(context.Context) error { return nil })
	}

	printCounters(reader, "nresilience.calls")
	// Output:
	// nresilience.calls nresilience.key=a.example,nresilience.outcome=succeeded,nresilience.policy=mail 1
	// nresilience.calls nresilience.key=other,nresilience.outcome=succeeded,nresilience.policy=mail 2
}

// A call with a span of its own.
func ExampleDo() {
	spans := tracetest.NewSpanRecorder() // a program has an exporter instead
	tracer := trace.NewTracerProvider(trace.WithSpanProcessor(spans)).Tracer("shop")

	payments := ration.MustNew(ration.Policy{Name: "payments"})
	receipt, err := rationotel.Do(context.Background(), tracer, payments,
		func(context.Context) (string, error) { return "paid", nil })

	fmt.Println(receipt, err)
	for _, span := range spans.Ended() {
		fmt.Println(span.Name())
	}
	// Output:
	// paid <nil>
	// resilience payments
}

// What watches policy files tells how each reload went.
func ExampleReloads() {
	reader := sdk.NewManualReader()
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	report, err := rationotel.Reloads(provider, "policies.yaml")
	if err != nil {
		panic(err)
	}

	report(nil)
	report(errors.New("policies.yaml:3: attempts: must be positive"))

	printCounters(reader, "ration.config.reloads")
	// Output:
	// ration.config.reloads ration.config=policies.yaml,ration.outcome=failed 1
	// ration.config.reloads ration.config=policies.yaml,ration.outcome=ok 1
}
