package traffic

import (
	"math"
	"time"
)

// Buckets grow by 1 % from a microsecond to a week, so that a quantile is right to
// half of that whatever the traffic, in 22 KB.
const (
	growth  = 1.01
	buckets = 2720
)

var logGrowth = math.Log(growth)

// A histogram counts durations. The zero histogram is empty.
type histogram struct {
	n      uint64
	sum    float64 // seconds
	zeros  uint64  // below a microsecond: some logs know no better than 0
	counts []uint64
	min    time.Duration
	max    time.Duration
}

func (h *histogram) add(d time.Duration) {
	if h.n == 0 || d < h.min {
		h.min = d
	}
	h.max = max(h.max, d)
	h.n++
	h.sum += d.Seconds()
	if d < time.Microsecond {
		h.zeros++
		return
	}
	if h.counts == nil {
		h.counts = make([]uint64, buckets)
	}
	i := int(math.Log(float64(d)/float64(time.Microsecond)) / logGrowth)
	h.counts[min(i, buckets-1)]++
}

// quantile returns the duration that the share q of all does not exceed. The ends
// are exact.
func (h *histogram) quantile(q float64) time.Duration {
	rank := q * float64(h.n)
	switch {
	case h.n == 0:
		return 0
	case q <= 0:
		return h.min
	case q >= 1:
		return h.max
	}
	seen := float64(h.zeros)
	if seen >= rank {
		return h.min
	}
	for i, n := range h.counts {
		if seen+float64(n) < rank || n == 0 {
			seen += float64(n)
			continue
		}
		x := float64(time.Microsecond) * math.Exp((float64(i)+(rank-seen)/float64(n))*logGrowth)
		return min(max(time.Duration(x), h.min), h.max)
	}
	return h.max
}

func (h *histogram) mean() time.Duration {
	if h.n == 0 {
		return 0
	}
	return time.Duration(h.sum / float64(h.n) * 1e9)
}
