package rationotel_test

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/ration-go/ration/rationotel"
)

// A meter is an SDK that is read by hand.
type meter struct {
	reader   *sdk.ManualReader
	provider *sdk.MeterProvider
}

func newMeter(options ...sdk.Option) *meter {
	m := &meter{reader: sdk.NewManualReader()}
	m.provider = sdk.NewMeterProvider(append(options, sdk.WithReader(m.reader))...)
	return m
}

// attach attaches a meter until the test ends.
func attach(t testing.TB, change ...func(*rationotel.Options)) *meter {
	t.Helper()
	m := newMeter()
	o := rationotel.Options{MeterProvider: m.provider}
	for _, f := range change {
		f(&o)
	}
	stop, err := rationotel.Attach(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return m
}

// A sample is one series: a value, or for a histogram the number of its values.
type sample struct {
	attrs attribute.Set
	value float64
}

// samples are by the name of the metric.
type samples map[string][]sample

func (m *meter) collect(t testing.TB) samples {
	t.Helper()
	all := make(samples)
	for _, x := range m.metrics(t) {
		all[x.Name] = points(t, x)
	}
	return all
}

func (m *meter) metrics(t testing.TB) (all []metricdata.Metrics) {
	t.Helper()
	var data metricdata.ResourceMetrics
	if err := m.reader.Collect(context.Background(), &data); err != nil {
		t.Fatal(err)
	}
	for _, scope := range data.ScopeMetrics {
		all = append(all, scope.Metrics...)
	}
	return all
}

func points(t testing.TB, m metricdata.Metrics) (all []sample) {
	t.Helper()
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			all = append(all, sample{p.Attributes, float64(p.Value)})
		}
	case metricdata.Gauge[int64]:
		for _, p := range data.DataPoints {
			all = append(all, sample{p.Attributes, float64(p.Value)})
		}
	case metricdata.Gauge[float64]:
		for _, p := range data.DataPoints {
			all = append(all, sample{p.Attributes, p.Value})
		}
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			all = append(all, sample{p.Attributes, float64(p.Count)})
		}
	default:
		t.Fatalf("%s is a %T", m.Name, data)
	}
	return all
}

// of returns the samples of a metric whose attributes include the pairs given.
func (s samples) of(name string, pairs ...string) (found []sample) {
	for _, x := range s[name] {
		matches := true
		for i := 0; i < len(pairs); i += 2 {
			v, ok := x.attrs.Value(attribute.Key(pairs[i]))
			matches = matches && ok && v.AsString() == pairs[i+1]
		}
		if matches {
			found = append(found, x)
		}
	}
	return found
}

func (s samples) sum(name string, pairs ...string) int {
	sum := 0.0
	for _, x := range s.of(name, pairs...) {
		sum += x.value
	}
	return int(sum)
}
