package rationsim

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/ration-go/ration"
)

// arrivalsOf returns when the calls of a load arrive.
func arrivalsOf(l Load, length time.Duration, seed uint64) (times []time.Duration) {
	a := newArrivals(l, length, newStream(seed, purposeArrival), newStream(seed, purposeBurst))
	now := time.Duration(0)
	for n := uint64(0); ; n++ {
		now = a.next(n, now)
		if now >= length {
			return times
		}
		times = append(times, now)
	}
}

// within5 fails unless got is what a Poisson number with that mean may be.
func within5(t *testing.T, name string, got, mean float64) {
	t.Helper()
	if math.Abs(got-mean) > 5*math.Sqrt(mean)+1e-9 {
		t.Errorf("%s: %v arrivals, want about %v", name, got, mean)
	}
}

func TestShapes(t *testing.T) {
	s, h := time.Second, time.Hour
	for name, tt := range map[string]struct {
		shape  []Point
		length time.Duration
		at     []time.Duration // the ends of stretches
		want   []float64       // arrivals in each, on average
	}{
		"constant": {[]Point{{0, 50}}, 10 * s, []time.Duration{5 * s, 10 * s}, []float64{250, 250}},
		"late":     {[]Point{{5 * s, 50}}, 10 * s, []time.Duration{5 * s, 10 * s}, []float64{250, 250}},
		"ramp": {
			Ramp(0, 100, 2*s, 4*s), 10 * s,
			[]time.Duration{2 * s, 4 * s, 6 * s, 10 * s}, []float64{0, 50, 150, 400},
		},
		"down to nothing": {
			Ramp(100, 0, 0, 10*s), 20 * s, []time.Duration{5 * s, 10 * s, 20 * s}, []float64{375, 125, 0},
		},
		"spike": {
			Spike(10, 5, 10*s, 10*s), 30 * s,
			[]time.Duration{10 * s, 20 * s, 30 * s}, []float64{100, 500, 100},
		},
		"daily": {
			Daily(0.1, 0.5, 15*h), 24 * h,
			[]time.Duration{6 * h, 12 * h, 18 * h, 24 * h},
			// The integral of 0.3 + 0.2 cos, but for the corners.
			[]float64{2591, 6480, 10369, 6480},
		},
	} {
		t.Run(name, func(t *testing.T) {
			times := arrivalsOf(Load{Shape: tt.shape}, tt.length, 1)
			if !slices.IsSorted(times) {
				t.Fatal("arrivals are out of order")
			}
			l := Load{Shape: tt.shape}
			from := time.Duration(0)
			for i, to := range tt.at {
				a, _ := slices.BinarySearch(times, from)
				b, _ := slices.BinarySearch(times, to)
				within5(t, to.String(), float64(b-a), tt.want[i])
				expected, ok := l.expected(from, to)
				if !ok || math.Abs(expected-tt.want[i]) > 0.05*tt.want[i]+1e-9 {
					t.Errorf("until %v %v calls are expected, want %v", to, expected, tt.want[i])
				}
				from = to
			}
		})
	}
}

// A constant shape is a constant rate, though not with the same arrivals.
func TestBurstsKeepTheAverage(t *testing.T) {
	const rate, length = 200.0, 30 * time.Minute
	for _, dispersion := range []float64{3, 50, 500} {
		b := BurstOf(rate, dispersion, 500*time.Millisecond)
		if got := b.Dispersion(rate); math.Abs(got/dispersion-1) > 1e-9 {
			t.Errorf("BurstOf(%v) has an index of %v", dispersion, got)
		}
		times := arrivalsOf(Load{Rate: rate, Burst: b}, length, 1)
		const window = 20 * time.Second // much longer than a burst
		counts := make([]float64, length/window)
		for _, at := range times {
			counts[at/window]++
		}
		mean, square := 0.0, 0.0
		for _, n := range counts {
			mean += n / float64(len(counts))
		}
		for _, n := range counts {
			square += (n - mean) * (n - mean) / float64(len(counts)-1)
		}
		if want := rate * window.Seconds(); math.Abs(mean/want-1) > 0.1 {
			t.Errorf("index %v: %v arrivals in a window, want %v", dispersion, mean, want)
		}
		// Of 90 windows, the variance is known to within 15 % or so.
		if got := square / mean; got < 0.6*dispersion || got > 1.5*dispersion {
			t.Errorf("the index of dispersion is %v, want %v", got, dispersion)
		}
	}
	if b := BurstOf(rate, 1, time.Second); b != (Burst{}) {
		t.Errorf("independent arrivals have bursts: %+v", b)
	}
}

func TestTraceIsReplayed(t *testing.T) {
	ms := time.Millisecond
	trace := []time.Duration{0, 3 * ms, 3 * ms, 900 * ms, 1100 * ms, 5 * time.Second}
	got := arrivalsOf(Load{Trace: trace}, 2*time.Second, 1)
	if !slices.Equal(got, trace[:5]) {
		t.Errorf("arrivals are %v", got)
	}
	p := queueing(1, ms, 0, 0, 2*time.Second)
	p.Entries[0].Load = Load{Trace: trace}
	r := topologyRun(t, p, 1)
	if r.Entries[0].Timeline[0].Offered != 4 || r.Entries[0].Timeline[1].Offered != 1 {
		t.Errorf("the timeline is %+v", r.Entries[0].Timeline)
	}
	p.Entries[0].Load.Trace = []time.Duration{} // a trace of nothing is one
	if r := topologyRun(t, p, 1); r.Entries[0].Calls != 0 {
		t.Errorf("%d calls on an empty trace", r.Entries[0].Calls)
	}
}

func TestSharesOfCriticality(t *testing.T) {
	p := queueing(2000, time.Millisecond, 0, 0, 20*time.Second)
	p.Entries[0].Load.Sheddable, p.Entries[0].Load.CriticalPlus = 0.5, 0.1
	r := topologyRun(t, p, 1)
	for i, want := range []struct {
		level ration.Criticality
		share float64
	}{{ration.Sheddable, 0.5}, {ration.Critical, 0.4}, {ration.CriticalPlus, 0.1}} {
		got := r.Entries[0].ByCriticality[i]
		share := float64(got.Calls) / float64(r.Entries[0].Calls)
		if got.Criticality != want.level || math.Abs(share-want.share) > 0.015 {
			t.Errorf("%v: %v of the calls, want %+v", got.Criticality, share, want)
		}
	}
}

// Load is shared by the clients evenly, and each has an executor of its own.
func TestClientsShareTheLoad(t *testing.T) {
	p := queueing(1000, time.Millisecond, 0, 0, 10*time.Second)
	p.Entries[0].Clients = 5
	e := ran(t, p, 1)
	if n := len(e.edges[0].clients); n != 5 {
		t.Fatalf("%d clients", n)
	}
	seen := make(map[*ration.Executor]bool)
	for _, c := range e.edges[0].clients {
		seen[c.executor] = true
	}
	if len(seen) != 5 {
		t.Errorf("%d executors for 5 clients", len(seen))
	}
}
