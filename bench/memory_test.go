package bench

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/ration-go/ration"
)

// What is kept: by an executor that has done nothing, by one at work, and by each
// of a thousand keys after a hundred calls.

func BenchmarkMemory(b *testing.B) {
	for _, m := range memories {
		b.Run(m.name+"/"+ours, func(b *testing.B) {
			var most float64
			for range b.N {
				most = max(most, m.measure(b))
			}
			b.ReportMetric(most, "B/"+m.per)
			b.ReportMetric(0, "ns/op") // which would mean nothing
		})
	}
}

var memories = []struct {
	name, per string
	most      float64 // bytes
	measure   func(tb testing.TB) float64
}{
	{"idle", "executor", 16 << 10, func(tb testing.TB) float64 {
		return executorBytes(tb, 0)
	}},
	{"after-100-calls", "executor", 16 << 10, func(tb testing.TB) float64 {
		return executorBytes(tb, 100)
	}},
	{"key-after-100-calls", "key", 8 << 20 / 1000, keyBytes},
	{"left-by-a-million-calls", "million", 64 << 10, leftBytes},
}

// TestMemory bounds what is kept. A million calls may leave the odd page that the
// runtime takes for itself, but nothing per call: a single byte for each would be
// a million.
func TestMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector keeps shadow memory, and a million calls take a minute")
	}
	for _, m := range memories {
		if got := m.measure(t); got > m.most {
			t.Errorf("%s: %.0f bytes, want at most %.0f", m.name, got, m.most)
		}
	}
}

// The zero policy, and a breaker with both of its trips: all that can be kept.
func memoryPolicy() ration.Policy {
	return ration.Policy{Breaker: &ration.BreakerSettings{FailureRatio: 0.5}}
}

func executorBytes(tb testing.TB, calls int) float64 {
	const n = 200
	executors := make([]*ration.Executor, n)
	used := grown(func() {
		for i := range executors {
			executors[i] = ration.MustNew(memoryPolicy())
			callTimes(tb, executors[i], calls)
		}
	})
	runtime.KeepAlive(executors)
	return used / n
}

func keyBytes(tb testing.TB) float64 {
	const n = 1000
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("host-%d.example.com:443", i)
	}
	e := ration.MustNew(memoryPolicy())
	used := grown(func() {
		for _, key := range keys {
			callTimes(tb, e.For(key), 100)
		}
	})
	if got := len(e.Keys()); got != n {
		tb.Fatalf("%d keys are remembered, want %d", got, n)
	}
	return used / n
}

func leftBytes(tb testing.TB) float64 {
	e := ration.MustNew(memoryPolicy())
	callTimes(tb, e, 1000) // estimates are made once
	used := grown(func() { callTimes(tb, e, 1_000_000) })
	runtime.KeepAlive(e)
	return max(used, 0)
}

func callTimes(tb testing.TB, e *ration.Executor, n int) {
	ctx := context.Background()
	for range n {
		if _, err := ration.Do(ctx, e, succeed); err != nil {
			tb.Fatal(err)
		}
	}
}

// grown returns by how much f has made the live heap grow.
func grown(f func()) float64 {
	before := liveHeap()
	f()
	return float64(int64(liveHeap()) - int64(before))
}

// liveHeap collects twice: what the first collection finds dead may be finalized
// before the second frees it.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
