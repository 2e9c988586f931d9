package rationsim

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

const (
	// exactLatencies is how many are kept as they are: 16 MB.
	exactLatencies = 2 << 20

	// Beyond that they are counted in slots, 512 for each power of two: at the
	// middle of a slot one is wrong by a thousandth at most.
	slotBits = 9
)

// latencies collects how long calls took.
type latencies struct {
	exact []time.Duration
	slots []int // nil while all are exact
	count int
	max   time.Duration
}

func (l *latencies) add(d time.Duration) {
	l.count++
	l.max = max(l.max, d)
	if l.slots != nil {
		l.slots[slotOf(d)]++
		return
	}
	l.exact = append(l.exact, d)
	if len(l.exact) < exactLatencies {
		return
	}
	l.slots = make([]int, (64-slotBits)<<slotBits)
	for _, d := range l.exact {
		l.slots[slotOf(d)]++
	}
	l.exact = nil
}

// slotOf returns the slot of a duration. The first ones are a nanosecond wide.
func slotOf(d time.Duration) int {
	x := uint64(max(d, 0))
	shift := max(bits.Len64(x)-slotBits-1, 0)
	return shift<<slotBits + int(x>>shift)
}

// slotMiddle is the way back.
func slotMiddle(i int) time.Duration {
	shift := max(i>>slotBits-1, 0)
	low := uint64(i-shift<<slotBits) << shift
	return time.Duration(low + uint64(1)<<shift/2)
}

// report returns the quantiles, nil when there are none.
func (l *latencies) report() *Latencies {
	if l.count == 0 {
		return nil
	}
	slices.Sort(l.exact)
	return &Latencies{
		P50: l.quantile(0.5),
		P90: l.quantile(0.9),
		P99: l.quantile(0.99),
		Max: l.max,
	}
}

func (l *latencies) quantile(q float64) time.Duration {
	if l.slots == nil {
		return quantile(l.exact, q)
	}
	rank := max(int(math.Ceil(q*float64(l.count))), 1)
	for i, n := range l.slots {
		if rank -= n; rank <= 0 {
			return min(slotMiddle(i), l.max)
		}
	}
	return l.max
}

// quantile returns the nearest-rank q-quantile of sorted durations, of which
// there is at least one.
func quantile(sorted []time.Duration, q float64) time.Duration {
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}
