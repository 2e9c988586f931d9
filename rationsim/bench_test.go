package rationsim

import (
	"fmt"
	"testing"
	"time"

	"github.com/ration-go/ration"
)

// hundred is a hundred replicas at 50 calls a second each, for five minutes with
// a bad one in them.
func hundred() Topology {
	return Topology{
		Name:     "hundred",
		Duration: 5 * time.Minute,
		Entries: []Entry{{
			Name: "pods", To: "database", Clients: 100,
			Policy: fixed(tradeTimeout), Load: Load{Rate: 5000},
		}},
		Services: []Service{{
			Name: "database", Latency: usual,
			Brownouts: []Brownout{{From: time.Minute, For: time.Minute, Slower: 8}},
		}},
	}
}

// pods is the same behind a gateway, so that there are two hops.
func pods() Topology {
	t := hundred()
	t.Entries[0] = Entry{Name: "gateway", To: "pod", Policy: fixed(time.Second), Load: Load{Rate: 5000}}
	t.Services = append(t.Services, Service{
		Name: "pod", Replicas: 100, Latency: Latency{P50: time.Millisecond, P99: 5 * time.Millisecond},
		Concurrency: 200, Queue: 100,
		Calls: []Edge{{To: "database", Policy: fixed(tradeTimeout)}},
	})
	return t
}

func BenchmarkTopology(b *testing.B) {
	for _, t := range []Topology{hundred(), pods()} {
		name := t.Entries[0].Name
		b.Run(name, func(b *testing.B) { benchmark(b, t) })
	}
	chain := pods()
	chain.Entries[0].Policy = ration.Policy{}
	b.Run("defaults", func(b *testing.B) { benchmark(b, chain) })
}

// BenchmarkCalls is the curve of docs/simulator.md: cost against calls.
func BenchmarkCalls(b *testing.B) {
	for _, calls := range []int{100_000, 1_000_000, 3_000_000, 10_000_000} {
		t := hundred()
		t.Duration = time.Duration(calls) * time.Second / 5000
		b.Run(fmt.Sprint(calls), func(b *testing.B) { benchmark(b, t) })
	}
}

func benchmark(b *testing.B, t Topology) {
	b.ReportAllocs()
	calls := 0
	for b.Loop() {
		r, err := RunTopology(b.Context(), t, 1)
		if err != nil {
			b.Fatal(err)
		}
		calls += r.Entries[0].Calls
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(calls), "ns/call")
}
