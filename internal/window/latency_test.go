package window

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
	"unsafe"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

func TestLatencySize(t *testing.T) {
	var l Latency
	if size := unsafe.Sizeof(l); size >= 5<<10 {
		t.Errorf("Latency holds %d bytes, want under 5 KB", size)
	}
	if size := unsafe.Sizeof(l.stripes[0]); size%cacheLine != 0 {
		t.Errorf("a stripe holds %d bytes, want whole cache lines", size)
	}
	if at := unsafe.Offsetof(l.stripes); at%cacheLine != 0 {
		t.Errorf("stripes start at %d, within a cache line", at)
	}
	if bucketCount > 256 {
		t.Errorf("%d buckets do not fit a byte", bucketCount)
	}
}

// TestLatencySteps walks a window of 40 s, hence slices of 10 s, through time.
// A step records its samples, if any, and then reads.
func TestLatencySteps(t *testing.T) {
	const us, origin = time.Microsecond, -26 * 365 * 24 * time.Hour
	type step struct {
		at     time.Duration
		record []time.Duration
		count  int
		median time.Duration // 0 = none
	}
	for name, steps := range map[string][]step{
		"slides": {
			{0, []time.Duration{us}, 1, us},
			{9 * sec, []time.Duration{3 * us}, 2, us},
			{10 * sec, []time.Duration{3 * us}, 3, 3 * us},
			{40*sec - 1, nil, 3, 3 * us},
			{40 * sec, nil, 1, 3 * us}, // the slice of the first ten seconds is out
			{50*sec - 1, nil, 1, 3 * us},
			{50 * sec, nil, 0, 0},
		},
		"rounds up, never down": {
			{0, []time.Duration{0}, 1, us},
			{sec, []time.Duration{us + 1, us + 1}, 3, 2 * us},
			{100 * sec, []time.Duration{8*us + 1}, 1, 9 * us},
			{200 * sec, []time.Duration{100 * ms}, 1, 106496 * us},
			{300 * sec, []time.Duration{200 * sec}, 1, 134217728 * us}, // clamped
		},
		"negative durations are ignored": {
			{0, []time.Duration{-1, math.MinInt64}, 0, 0},
		},
		"negative time": {
			{origin, []time.Duration{us}, 1, us},
			{origin + 9*sec, []time.Duration{us}, 2, us},
			{origin + 50*sec, nil, 0, 0},
		},
		"slices around the origin are not merged": {
			{-1, []time.Duration{us}, 1, us},
			{0, []time.Duration{us}, 2, us},
			{30*sec - 1, nil, 2, us},
			{30 * sec, nil, 1, us},
		},
		// C36: the clock steps back an hour and runs on.
		"step back": {
			{3600 * sec, []time.Duration{us, us}, 2, us},
			{0, nil, 0, 0}, // not yet recorded, as this clock has it
			{0, []time.Duration{5 * us}, 1, 5 * us},
			{10 * sec, []time.Duration{5 * us}, 2, 5 * us},
			{40 * sec, nil, 1, 5 * us},
		},
		"small step back": {
			{20 * sec, []time.Duration{us}, 1, us},
			{19 * sec, []time.Duration{us}, 1, us}, // its own; the other is ahead
			{20 * sec, nil, 2, us},
			{50 * sec, nil, 1, us},
		},
		"ends of time": {
			{math.MinInt64, []time.Duration{us}, 1, us},
			{math.MaxInt64, nil, 0, 0},
			{math.MaxInt64, []time.Duration{us}, 1, us},
			{math.MinInt64, []time.Duration{us, us}, 3, us},
		},
		"more than a stripe holds": {
			{0, make([]time.Duration, 1000), 1000, us},
			{30 * sec, make([]time.Duration, 1000), 2000, us},
			{40 * sec, nil, 1000, us},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := NewLatency(40 * sec)
			for i, s := range steps {
				for j, d := range s.record {
					l.Record(int64(s.at), uint32(j), d)
				}
				if got := l.Count(int64(s.at)); got != s.count {
					t.Errorf("step %d at %v: count %d, want %d", i, s.at, got, s.count)
				}
				if got, ok := l.Quantile(int64(s.at), 0.5, 0); got != s.median || ok != (s.count > 0) {
					t.Errorf("step %d at %v: median %v, %v, want %v", i, s.at, got, ok, s.median)
				}
			}
		})
	}
}

func TestLatencyMinSamples(t *testing.T) {
	l := NewLatency(sec)
	for i := range 20 {
		if _, ok := l.Quantile(0, 0.95, 20); ok {
			t.Fatalf("an estimate from %d samples, want none under 20", i)
		}
		l.Record(0, uint32(i), time.Duration(i)*ms)
	}
	if got, ok := l.Quantile(0, 0.95, 20); !ok || got < 18*ms || got > 21*ms {
		t.Errorf("p95 of 0..19 ms = %v, %v", got, ok)
	}
}

func TestLatencySaturates(t *testing.T) {
	l := NewLatency(sec)
	l.slices[0].counts[0] = math.MaxUint32
	l.slices[0].n = math.MaxUint32
	l.Record(0, 0, 0)
	l.Record(0, 0, sec)
	if got := l.Count(0); int64(got) != min(math.MaxUint32+1, math.MaxInt) {
		t.Errorf("count %d, want the full bucket and one more", got)
	}
	if got, _ := l.Quantile(0, 1, 0); got < sec {
		t.Errorf("maximum %v, want 1s", got)
	}
}

func TestLatencyTinyWindow(t *testing.T) {
	for _, w := range []time.Duration{math.MinInt64, -1, 0, 1, 63, 64} {
		l := NewLatency(w)
		l.Record(0, 0, sec)
		if got := l.Count(63); got != 1 {
			t.Errorf("window %d: count %d within 64 ns, want 1", w, got)
		}
		if got := l.Count(64); got != 0 {
			t.Errorf("window %d: count %d after 64 ns, want 0", w, got)
		}
	}
}

// replayLatency runs a script against the estimator and the model.
func replayLatency(t *testing.T, s script) {
	t.Helper()
	window := max(time.Duration(s.byte())<<(s.byte()%56), 64)
	l, m := NewLatency(window), newModelLatency(window)
	now := s.wide()
	for len(s) > 0 {
		op := s.byte()
		switch {
		case op < 128: // a sample, most often near the last one
			now += int64(op>>5) * m.width / 3
			d := time.Duration(s.wide())
			l.Record(now, uint32(s.byte()), d)
			m.record(now, d)
		case op < 192: // enough to fill stripes
			n, d := int(s.byte()), time.Duration(s.byte())<<(op%32)
			for i := range n {
				l.Record(now, uint32(op), d*time.Duration(i))
				m.record(now, d*time.Duration(i))
			}
		case op < 208: // any jump, either way
			now += s.wide()
		default:
			at := now + int64(s.byte()>>5-2)*m.width
			compareLatency(t, l, m, at, float64(s.byte())/250, int(op-208))
		}
	}
	compareLatency(t, l, m, now, 0.5, 0)
}

func compareLatency(t *testing.T, l *Latency, m *modelLatency, now int64, q float64, minSamples int) {
	t.Helper()
	if got, want := l.Count(now), len(m.live(now)); got != want {
		t.Fatalf("at %d: count %d, want %d", now, got, want)
	}
	got, ok := l.Quantile(now, q, minSamples)
	exact, bound, known := m.quantile(now, q, minSamples)
	if got != bound || ok != known {
		t.Fatalf("at %d: quantile %v = %v, %v, want %v, %v", now, q, got, ok, bound, known)
	}
	last := m.bounds[len(m.bounds)-1]
	if ok && exact <= last && (got < exact || got >= exact+max(exact/8, time.Microsecond)+1) {
		t.Fatalf("at %d: quantile %v = %v, too far from %v", now, q, got, exact)
	}
}

func randomScript(r *rand.Rand, n int) script {
	s := make(script, n)
	for i := range s {
		s[i] = byte(r.Uint32())
	}
	return s
}

// TestLatencyModel also shows that stripes cannot be observed: the scripts pick
// them at random, and the model has none.
func TestLatencyModel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		replayLatency(t, randomScript(r, 300))
	}
}

func FuzzLatency(f *testing.F) {
	f.Add([]byte{200, 25, 0, 0, 10, 1, 10, 1, 255, 0, 125})
	f.Add([]byte{255, 55, 0x80, 63, 10, 1, 10, 1, 200, 0x80, 63, 10, 1, 10, 2})
	r := rand.New(rand.NewPCG(3, 4))
	for range 8 {
		f.Add([]byte(randomScript(r, 100)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) <= 1000 { // a longer one finds nothing new, slowly
			replayLatency(t, data)
		}
	})
}

// TestLatencyConcurrent has writers cross epochs each at its own pace, so that
// sweeps, full stripes and late samples meet, while readers drain. The window
// is long enough for every epoch to stay in it.
func TestLatencyConcurrent(t *testing.T) {
	const writers, each, epochs = 8, 6000, 4
	l := NewLatency(40 * sec)
	var writing, reading sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		reading.Go(func() {
			seen := 0
			for {
				n := l.Count(int64(35 * sec))
				if n < seen {
					t.Errorf("count fell from %d to %d", seen, n)
				}
				seen = n
				l.Quantile(int64(35*sec), 0.5, 1)
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				at := time.Duration(i*epochs/each) * 10 * sec
				l.Record(int64(at), uint32(w/2), time.Duration(i%100)*ms)
			}
		})
	}
	writing.Wait()
	close(done)
	reading.Wait()

	for e := range epochs {
		at := time.Duration(e) * 10 * sec
		if got, want := l.Count(int64(at)), writers*each/epochs*(e+1); got != want {
			t.Errorf("count at %v is %d, want %d", at, got, want)
		}
	}
	if got, _ := l.Quantile(int64(35*sec), 0.5, 1); got != upperBound(int(bucketOf(49*ms))) {
		t.Errorf("median %v of 0..99 ms", got)
	}
}

func TestLatencyAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	l := NewLatency(sec)
	now := int64(0)
	if n := testing.AllocsPerRun(1000, func() {
		now += int64(ms)
		l.Record(now, Stripe(), ms)
		l.Quantile(now, 0.5, 20)
		l.Count(now)
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
