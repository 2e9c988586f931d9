package rationsim

import (
	"math"
	"sort"
	"time"
)

// never is later than everything.
const never = time.Duration(math.MaxInt64)

// arrivals are the live side of a [Load] that is an open loop or a trace.
type arrivals struct {
	load   Load
	end    time.Duration
	gaps   stream
	bursts stream

	at      float64 // how far the walk along a shape has come, in seconds
	segment int     // the first point of the shape that is after it
	turn    float64 // when the present burst or lull ends
	turns   uint64  // how many have ended
	factor  float64 // of the present burst or lull
}

func newArrivals(l Load, end time.Duration, gaps, bursts stream) *arrivals {
	a := &arrivals{load: l, end: end, gaps: gaps, bursts: bursts, factor: 1, turn: math.Inf(1)}
	if l.Burst != (Burst{}) {
		a.enter(bursts.at(0, 1) < l.Burst.Share)
	}
	return a
}

// next returns when arrival n comes, the one before having come at now.
func (a *arrivals) next(n uint64, now time.Duration) time.Duration {
	if a.load.Trace != nil {
		if n < uint64(len(a.load.Trace)) {
			return a.load.Trace[n]
		}
		return never
	}
	need := -log(1 - a.gaps.at(n, 0))
	if len(a.load.Shape) > 0 || a.load.Burst != (Burst{}) {
		return a.walk(need)
	}
	gap := time.Duration(min(need/a.load.Rate*float64(time.Second), farthest))
	if now > never-gap {
		return never
	}
	return now + gap
}

// walk goes on until as many calls are expected as are needed: arrivals at a
// varying rate are arrivals at rate 1 in a time that runs as fast as the rate.
func (a *arrivals) walk(need float64) time.Duration {
	for a.at < a.end.Seconds() {
		low, high, until := a.stretch()
		low, high = float64(low*a.factor), float64(high*a.factor)
		span := until - a.at
		slope := (high - low) / span
		if low == high { // also where until is infinite
			slope = 0
		}
		area := float64((low+high)/2) * span
		if low == 0 && high == 0 {
			area = 0
		}
		if need < area {
			root := math.Sqrt(max(0, float64(low*low)+float64(2*slope*need)))
			a.at += 2 * need / (low + root)
			return time.Duration(a.at * float64(time.Second))
		}
		need -= area
		a.at = until
		if until == a.turn {
			a.turns++
			a.enter(a.factor != a.load.Burst.Factor)
		}
	}
	return never
}

// stretch returns the rates of the shape from here to where it or the burst
// changes, and when that is.
func (a *arrivals) stretch() (low, high, until float64) {
	shape := a.load.Shape
	for a.segment < len(shape) && shape[a.segment].At.Seconds() <= a.at {
		a.segment++
	}
	until = a.turn
	if a.segment < len(shape) {
		until = min(until, shape[a.segment].At.Seconds())
	}
	if len(shape) == 0 {
		return a.load.Rate, a.load.Rate, until
	}
	return rateIn(shape, a.segment, a.at), rateIn(shape, a.segment, until), until
}

// rateIn returns the rate at a time in seconds within the stretch that ends at
// the i-th point.
func rateIn(shape []Point, i int, at float64) float64 {
	switch {
	case i == 0:
		return shape[0].Rate
	case i == len(shape):
		return shape[i-1].Rate
	}
	p, q := shape[i-1], shape[i]
	share := (at - p.At.Seconds()) / (q.At - p.At).Seconds()
	return p.Rate + float64((q.Rate-p.Rate)*share)
}

// enter begins a burst or a lull.
func (a *arrivals) enter(burst bool) {
	b := a.load.Burst
	mean := b.Length.Seconds()
	a.factor = b.Factor
	if !burst {
		mean *= (1 - b.Share) / b.Share
		a.factor = max(0, (1-float64(b.Share*b.Factor))/(1-b.Share))
	}
	a.turn = a.at - float64(log(1-a.bursts.at(a.turns, 0))*mean)
}

// expected returns how many calls arrive on average between two times, and
// false for a load of which nobody knows beforehand.
func (l *Load) expected(from, to time.Duration) (float64, bool) {
	if l.Users > 0 || l.Trace != nil {
		return 0, false
	}
	if len(l.Shape) == 0 {
		return l.Rate * (to - from).Seconds(), true
	}
	sum, at := 0.0, from.Seconds()
	first := sort.Search(len(l.Shape), func(i int) bool { return l.Shape[i].At > from })
	for i := first; i <= len(l.Shape) && at < to.Seconds(); i++ {
		until := to.Seconds()
		if i < len(l.Shape) {
			until = min(until, l.Shape[i].At.Seconds())
		}
		middle := rateIn(l.Shape, i, (at+until)/2)
		sum += float64(middle * (until - at))
		at = until
	}
	return sum, true
}
