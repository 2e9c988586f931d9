package window

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
	"unsafe"
)

func TestCountsSize(t *testing.T) {
	var c Counts
	if size := unsafe.Sizeof(c); size >= 1<<10 {
		t.Errorf("Counts holds %d bytes, want under 1 KB", size)
	}
	gap := unsafe.Sizeof(c.failures) - unsafe.Sizeof(c.failures.slots)
	if gap < cacheLine {
		t.Errorf("%d bytes between stripes, want a cache line", gap)
	}
}

// TestCountsSteps walks ten slots of 3 s through time. A step adds and then
// reads.
func TestCountsSteps(t *testing.T) {
	const w, origin = 3 * sec, -26 * 365 * 24 * time.Hour
	type step struct {
		at         time.Duration
		add, fail  int
		successes  uint64
		failures   uint64
		resetAfter bool
	}
	for name, steps := range map[string][]step{
		"slides": {
			{at: 0, add: 5, fail: 1, successes: 5, failures: 1},
			{at: 3*sec - 1, add: 5, successes: 10, failures: 1},
			{at: 3 * sec, add: 1, successes: 11, failures: 1},
			{at: 30*sec - 1, successes: 11, failures: 1},
			{at: 30 * sec, successes: 1}, // the first slot is out
			{at: 33 * sec},
			{at: 33 * sec, add: 2, successes: 2},
		},
		"negative time": {
			{at: origin, add: 1, fail: 1, successes: 1, failures: 1},
			{at: origin + 26*sec, successes: 1, failures: 1},
			{at: origin + 31*sec},
		},
		"around the origin": {
			{at: -1, add: 1, successes: 1},
			{at: 0, add: 1, successes: 2},
			{at: 27*sec - 1, successes: 2},
			{at: 27 * sec, successes: 1},
		},
		// C36: the clock steps back an hour and runs on.
		"step back": {
			{at: 3600 * sec, add: 7, fail: 7, successes: 7, failures: 7},
			{at: 0},
			{at: 0, add: 8, fail: 8, successes: 8, failures: 8},
			{at: 29 * sec, successes: 8, failures: 8},
			{at: 30 * sec},
		},
		"reset": {
			{at: 0, add: 5, fail: 5, successes: 5, failures: 5, resetAfter: true},
			{at: 0},
			{at: 0, add: 1, fail: 2, successes: 1, failures: 2},
		},
		"ends of time": {
			{at: math.MinInt64, add: 1, successes: 1},
			{at: math.MaxInt64},
			{at: math.MaxInt64, fail: 1, failures: 1},
			{at: math.MinInt64, add: 1, successes: 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var c Counts
			for i, s := range steps {
				for j := range s.add {
					c.AddSuccess(int64(s.at), w, uint32(j))
				}
				for range s.fail {
					c.AddFailure(int64(s.at), w)
				}
				if ok, bad := c.Sum(int64(s.at), w); ok != s.successes || bad != s.failures {
					t.Errorf("step %d at %v: %d and %d, want %d and %d",
						i, s.at, ok, bad, s.successes, s.failures)
				}
				if s.resetAfter {
					c.Reset()
				}
			}
		})
	}
}

func TestCountsSaturates(t *testing.T) {
	var c Counts
	c.successes[0].slots[0].Store(math.MaxUint32 - 1)
	for range 3 {
		c.AddSuccess(0, sec, 0)
	}
	if ok, _ := c.Sum(0, sec); ok != math.MaxUint32 {
		t.Errorf("%d successes, want the count to stop at 2^32-1", ok)
	}
	c.AddSuccess(0, sec, 1)
	if ok, _ := c.Sum(0, sec); ok != math.MaxUint32+1 {
		t.Errorf("%d successes, want another stripe to count on", ok)
	}
}

// TestCountsWrap crosses the wrap of the 32-bit half of the epoch, where no
// slot may be lost, and then waits until stamps repeat.
func TestCountsWrap(t *testing.T) {
	const w = 16 * time.Nanosecond
	var c Counts
	at := func(epoch int64) int64 { return epoch * int64(w) }
	const wrap = 1 << 32
	for e := int64(wrap - 5); e < wrap+5; e++ {
		c.AddSuccess(at(e), w, 0)
	}
	for _, tt := range []struct {
		epoch int64
		want  uint64
	}{
		{wrap - 1, 5},
		{wrap + 4, 10},
		{wrap + 13, 1},
		{wrap + 14, 0},
		{2*wrap + 4, 0}, // same stamps, other places
		{6*wrap + 4, 10},
	} {
		if got, _ := c.Sum(at(tt.epoch), w); got != tt.want {
			t.Errorf("epoch %d: %d successes, want %d", tt.epoch, got, tt.want)
		}
	}
}

func TestCountsWidth(t *testing.T) {
	var c Counts
	c.AddFailure(int64(300*sec), 3*sec) // epoch 100
	if _, bad := c.Sum(int64(300*sec), sec); bad != 0 {
		t.Errorf("%d failures of another width, want them dropped", bad)
	}
	if _, bad := c.Sum(int64(105*sec), sec); bad != 1 {
		t.Errorf("%d failures, want the one whose number fits", bad)
	}
	c.Reset()
	for _, w := range []time.Duration{math.MinInt64, -1, 0, 15, 16} {
		c.AddFailure(15, w)
	}
	if _, bad := c.Sum(0, 0); bad != 5 {
		t.Errorf("%d failures in slots under 16 ns, want 5 in one of 16 ns", bad)
	}
}

func replayCounts(t *testing.T, s script) {
	t.Helper()
	c, m := new(Counts), newModelCounts()
	width := int64(s.byte()) << (s.byte() % 56)
	now := s.wide()
	compare := func(now int64) {
		t.Helper()
		ok, bad := c.Sum(now, time.Duration(width))
		wantOK, wantBad := m.sum(now, width)
		if ok != wantOK || bad != wantBad {
			t.Fatalf("at %d, width %d: %d and %d, want %d and %d", now, width, ok, bad, wantOK, wantBad)
		}
	}
	for len(s) > 0 {
		op := s.byte()
		switch {
		case op < 128:
			now += int64(op>>5) * (width / 3)
			stripe := uint32(s.byte())
			c.AddSuccess(now, time.Duration(width), stripe)
			m.successes[stripe%stripeCount].add(now, width)
		case op < 192:
			c.AddFailure(now, time.Duration(width))
			m.failures.add(now, width)
		case op < 208:
			now += s.wide()
		case op < 210:
			c.Reset()
			m = newModelCounts()
		case op < 212:
			width = s.wide()
		default:
			compare(now + int64(s.byte()>>4-8)*width)
		}
	}
	compare(now)
}

func TestCountsModel(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 1000 {
		replayCounts(t, randomScript(r, 300))
	}
}

// TestCountsStripesUnseen checks that which stripes are used makes no
// difference while the clock does not step back, and that after a step back
// more stripes only remember more.
func TestCountsStripesUnseen(t *testing.T) {
	for name, back := range map[string]time.Duration{"forward": 0, "back": 2 * sec} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 8))
			var one, many Counts
			now, more := int64(0), 0
			for range 20_000 {
				now += r.Int64N(int64(2*sec+back)) - int64(back)
				one.AddSuccess(now, sec, 0)
				many.AddSuccess(now, sec, r.Uint32())
				a, _ := one.Sum(now, sec)
				b, _ := many.Sum(now, sec)
				if a > b || a < b && back == 0 {
					t.Fatalf("at %d: %d in one stripe, %d in many", now, a, b)
				}
				if a < b {
					more++
				}
			}
			if back > 0 && more == 0 {
				t.Error("no step back has reached a cleared slot")
			}
		})
	}
}

func FuzzCounts(f *testing.F) {
	f.Add([]byte{100, 20, 0, 0, 10, 1, 150, 255, 0})
	f.Add([]byte{1, 4, 0, 0, 10, 1, 200, 5, 36, 10, 1, 200, 0x80, 63})
	r := rand.New(rand.NewPCG(9, 10))
	for range 8 {
		f.Add([]byte(randomScript(r, 100)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) <= 1000 {
			replayCounts(t, data)
		}
	})
}

func TestCountsConcurrent(t *testing.T) {
	const writers, each = 8, 10_000
	var c Counts
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				at := int64(sec) * int64(i*10/each) // each at its own pace through ten slots
				c.AddSuccess(at, sec, uint32(w/2))
				c.AddFailure(at, sec)
				if i%100 == 0 {
					c.Sum(at, sec)
				}
			}
		})
	}
	wg.Wait()
	for slot := range 10 {
		want := uint64(writers * each / 10 * (slot + 1))
		if ok, bad := c.Sum(int64(sec)*int64(slot), sec); ok != want || bad != want {
			t.Errorf("slot %d: %d and %d, want %d of each", slot, ok, bad, want)
		}
	}
}

func TestCountsAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	c := new(Counts)
	now := int64(0)
	if n := testing.AllocsPerRun(1000, func() {
		now += int64(ms)
		c.AddSuccess(now, sec, Stripe())
		c.AddFailure(now, sec)
		c.Sum(now, sec)
		c.Reset()
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
