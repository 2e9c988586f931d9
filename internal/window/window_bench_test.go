package window

import (
	"sync/atomic"
	"testing"
	"time"
)

// parallel runs body on every goroutine of the benchmark. Run with -cpu 1,2:
// the figure is wall time per operation, so perfect scaling halves it.
func parallel(b *testing.B, body func(worker uint32, pb *testing.PB)) {
	b.ReportAllocs()
	var workers atomic.Uint32
	b.RunParallel(func(pb *testing.PB) { body(workers.Add(1), pb) })
}

// Two goroutines that ask Stripe share one in a quarter of the runs, which then
// read as stripes=one.
func BenchmarkLatencyRecord(b *testing.B) {
	for _, bb := range []struct {
		name   string
		stripe func(worker uint32) uint32
	}{
		{"stripes=own", func(worker uint32) uint32 { return worker }},
		{"stripes=one", func(uint32) uint32 { return 0 }},
		{"stripes=Stripe", func(uint32) uint32 { return Stripe() }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			l := NewLatency(5 * time.Minute)
			parallel(b, func(worker uint32, pb *testing.PB) {
				var now int64
				stripe := bb.stripe(worker)
				d := time.Microsecond
				for pb.Next() {
					now += 100
					if d += 7919; d > 100*ms {
						d = time.Microsecond
					}
					l.Record(now, stripe, d)
				}
			})
		})
	}
}

func BenchmarkLatencyQuantile(b *testing.B) {
	l := NewLatency(5 * time.Minute)
	var now int64
	for i := range 10_000 {
		now += int64(20 * ms)
		l.Record(now, uint32(i), time.Duration(i%100)*ms)
	}
	b.ReportAllocs()
	for b.Loop() {
		l.Quantile(now, 0.95, 20)
	}
}

func BenchmarkCountsAddSuccess(b *testing.B) {
	for _, bb := range []struct {
		name   string
		stripe func(worker uint32) uint32
	}{
		{"stripes=own", func(worker uint32) uint32 { return worker }},
		{"stripes=one", func(uint32) uint32 { return 0 }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			c := new(Counts)
			parallel(b, func(worker uint32, pb *testing.PB) {
				var now int64
				stripe := bb.stripe(worker)
				for pb.Next() {
					now += 100
					c.AddSuccess(now, 3*time.Second, stripe)
				}
			})
		})
	}
}

func BenchmarkCountsSum(b *testing.B) {
	c := new(Counts)
	b.ReportAllocs()
	for b.Loop() {
		c.Sum(0, 3*time.Second)
	}
}

func BenchmarkStripe(b *testing.B) {
	var sink uint32
	for b.Loop() {
		sink += Stripe()
	}
	_ = sink
}

func BenchmarkMemoGet(b *testing.B) {
	m := new(Memo)
	m.Put(0, ms, true)
	parallel(b, func(_ uint32, pb *testing.PB) {
		stale := 0
		for pb.Next() {
			if _, _, fresh := m.Get(1, sec); !fresh {
				stale++
			}
		}
		if stale > 0 {
			b.Errorf("%d stale reads", stale)
		}
	})
}
