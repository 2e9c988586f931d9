package main

import (
	"strings"
	"testing"
	"time"

	"github.com/ration-go/ration/rationsim"
)

// TestPresets: each has a question if it has several services, is explained in the help,
// and says of each variant how it differs.
func TestPresets(t *testing.T) {
	explained := page("presets")
	for _, name := range rationsim.TopologyPresetNames() {
		c, ok := preset(name)
		if !ok {
			t.Errorf("%s is no preset", name)
			continue
		}
		if !strings.Contains(explained, "\n"+name+"\n") || !strings.Contains(page("simulate"), "\n  "+name+" ") {
			t.Errorf("the help does not explain %s", name)
		}
		if c.topology == nil {
			continue
		}
		if c.topology.question == "" {
			t.Errorf("%s has no question", name)
		}
		same := 0
		for _, changes := range c.topology.changes {
			if changes == "" {
				same++
			}
		}
		if same != 1 {
			t.Errorf("%s: %d variants are the topology that the assumptions describe: %q", name, same,
				c.topology.changes)
		}
	}
	for name := range questions {
		if _, _, ok := rationsim.Preset(name); ok {
			t.Errorf("the question of %s is never asked", name)
		}
	}
}

// TestDifference: whatever differs is told.
func TestDifference(t *testing.T) {
	c, err := readScenario("f.yaml", strings.NewReader(twoTiers))
	if err != nil {
		t.Fatal(err)
	}
	base := c.topology.base
	tests := []struct {
		change func(*rationsim.Topology)
		want   string
	}{
		{func(*rationsim.Topology) {}, ""},
		{func(t *rationsim.Topology) { t.Entries[0].Load.Rate = 7 },
			"users: 7 calls a second at random (Poisson), whatever becomes of them, for 1m"},
		{func(t *rationsim.Topology) { t.Services[1].Concurrency = 3 },
			"b: works p50 1ms, p99 2ms (log-normal); 3 at once and 0 in queue"},
		{func(t *rationsim.Topology) { t.Services[0].Calls[0].Policy.Attempts = 5 }, "a -> b: 5 attempts"},
		{func(t *rationsim.Topology) { *t = t.WithObedience() }, "every edge: obeys a give-up"},
		{func(t *rationsim.Topology) { t.Entries[0].Policy.Attempts = 1 }, "users -> a: 1 attempt"},
	}
	for _, tt := range tests {
		changed := base.Clone()
		tt.change(&changed)
		if got := difference(base, changed); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// TestServiceText: what the assumptions say of a service.
func TestServiceText(t *testing.T) {
	s := time.Second
	tests := []struct {
		service rationsim.Service
		want    string
	}{
		{rationsim.Service{Latency: rationsim.Latency{P50: s, P99: s}}, "works 1s, always; no limit"},
		{rationsim.Service{Replicas: 3, Latency: rationsim.Latency{Exponential: s}, Concurrency: 5, Queue: 1000,
			Order: rationsim.LIFO, DropExpired: true, CancelsWork: true, KeepsDeadline: true, Parallel: true,
			Calls: make([]rationsim.Edge, 2)},
			"3 replicas; works 1s on average, exponential; 5 at once and 1,000 in queue each, last come first, " +
				"dropped when expired; work is cancelled when the caller has gone; calls keep the caller's " +
				"deadline; calls in parallel"},
		{rationsim.Service{Latency: rationsim.Latency{P50: s, P99: 2 * s}, FailureRate: 0.05,
			Bad: []rationsim.BadReplica{{Replica: 2, From: s, Slower: 3}, {From: s, For: 2 * s, FailureRate: 1}}},
			"works p50 1s, p99 2s (log-normal); 5% fail; no limit; replica 2 is 3 times as slow from 1s on; " +
				"replica 0 fails 100% from 1s to 3s"},
		{rationsim.Service{Latency: rationsim.Latency{Quantiles: []rationsim.Quantile{{Q: 1, Value: s}}},
			RateLimit: &rationsim.RateLimit{PerSecond: 9, Burst: 9}},
			"works as its quantiles say, up to 1s; no limit; answers 429 beyond 9 a second"},
	}
	for _, tt := range tests {
		if got := serviceText(tt.service); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

func TestRangeText(t *testing.T) {
	tests := []struct {
		min, max float64
		format   func(float64) string
		want     string
	}{
		{0.951, 0.9532, percent, "95.10-95.32%"},
		{0.951, 0.951, percent, "95.10%"},
		{0.9997, 0.999999, percent, "99.97% to >99.99%"},
		{1.5, 2.25, times, "1.50-2.25x"},
		{0.2, 0.35, seconds, "200ms-350ms"},
	}
	for _, tt := range tests {
		if got := rangeText(rationsim.Band{Min: tt.min, Max: tt.max}, tt.format); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// TestComparedRecovery: in how many runs, where that differs.
func TestComparedRecovery(t *testing.T) {
	runs := func(recovered ...bool) *rationsim.TopologyBands {
		b := &rationsim.TopologyBands{Name: "a"}
		for _, ok := range recovered {
			b.Reports = append(b.Reports, &rationsim.TopologyReport{
				Entries: []rationsim.EntryReport{{Recovered: true}, {Recovered: ok}},
			})
		}
		return b
	}
	tests := []struct {
		first, b *rationsim.TopologyBands
		want     string
	}{
		{runs(true, true), runs(true, true), ""},
		{runs(false), runs(false), ""},
		{runs(false), runs(true), `, and recovers, which "a" does not`},
		{runs(true), runs(false), `, and does not recover, which "a" does`},
		{runs(false, true, false), runs(true, true, true), ", and recovers in 3 of 3 runs against 1"},
	}
	for _, tt := range tests {
		r := compared(tt.first, tt.b)
		r.base.Duration = time.Minute
		r.base.Services[0].Outages = []rationsim.Outage{{From: time.Second, For: time.Second}}
		if got := r.comparedRecovery(tt.first, tt.b); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
