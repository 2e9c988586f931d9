package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationconfig"
	"github.com/ration-go/ration/rationotel"
)

// A file of policies is edited ten times during a storm, once badly. In the metrics no
// call is lost and no attempt, the tokens spent are the retries made, and the bad edit
// shows until the next good one.
func TestReloadsInMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls, rate = 6000, 100
		reader := metric.NewManualReader()
		provider := metric.NewMeterProvider(metric.WithReader(reader))
		stop, err := rationotel.Attach(rationotel.Options{MeterProvider: provider})
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		report, err := rationotel.Reloads(provider, "policies.yaml")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "policies.yaml")
		edit := func(attempts string) {
			text := fmt.Sprintf("policies: {stormy: {attempts: %s, backoff: {transient: 10ms}}}\n", attempts)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		edit("4")
		set, err := rationconfig.Loader{
			OnReload: func(r rationconfig.Reload) { report(r.Err) },
			Logger:   slog.New(slog.DiscardHandler),
		}.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		e, err := set.Executor("stormy")
		if err != nil {
			t.Fatal(err)
		}

		var attempts atomic.Int64
		var running sync.WaitGroup
		running.Go(func() {
			for i := range calls {
				time.Sleep(time.Second / rate)
				running.Go(func() {
					_ = e.Run(context.Background(), func(context.Context) error {
						attempts.Add(1)
						if i > calls/10 {
							return ration.Transient(errors.New("down"))
						}
						return nil
					})
				})
			}
		})
		for i := range 10 {
			time.Sleep(5 * time.Second)
			edit([]string{"3", "4", "5"}[i%3] + map[bool]string{true: "x"}[i == 6])
			err := set.Reload()
			if bad := i == 6; (err != nil) != bad {
				t.Errorf("edit %d: %v", i, err)
			} else if got := collect(t, reader, "ration.config.failing"); (got == 1) != bad {
				t.Errorf("edit %d: failing is %v", i, got)
			}
		}
		running.Wait()
		for _, x := range []struct {
			name  string
			pairs []string
			want  float64
		}{
			{"nresilience.calls", nil, calls},
			{"nresilience.attempts", nil, float64(attempts.Load())},
			{"ration.config.reloads", []string{"ration.outcome", "ok"}, 9},
			{"ration.config.reloads", []string{"ration.outcome", "failed"}, 1},
		} {
			if got := collect(t, reader, x.name, x.pairs...); got != x.want {
				t.Errorf("%s %v: %v, want %v", x.name, x.pairs, got, x.want)
			}
		}
		// A full bucket, and 3 retries in each second of the storm: no edit has made one.
		retries := float64(attempts.Load() - calls)
		if most := 30.0 + 3*60; retries > most || retries < most-40 {
			t.Errorf("%v retries, want about %v at most", retries, most)
		}
	})
}

// collect adds up a metric over the series with the attributes given.
func collect(t *testing.T, reader *metric.ManualReader, name string, pairs ...string) (sum float64) {
	t.Helper()
	var data metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &data); err != nil {
		t.Fatal(err)
	}
	add := func(points []metricdata.DataPoint[int64]) {
		for _, p := range points {
			matches := true
			for i := 0; i < len(pairs); i += 2 {
				v, _ := p.Attributes.Value(attribute.Key(pairs[i]))
				matches = matches && v.AsString() == pairs[i+1]
			}
			if matches {
				sum += float64(p.Value)
			}
		}
	}
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				add(d.DataPoints)
			case metricdata.Gauge[int64]:
				add(d.DataPoints)
			default:
				t.Fatalf("%s is a %T", name, d)
			}
		}
	}
	return sum
}
