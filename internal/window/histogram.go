package window

import (
	"math"
	"math/bits"
	"time"
)

const (
	linearBuckets = 8  // one microsecond each, and the buckets of each octave
	maxOctave     = 27 // 2^27 microseconds, about 134 s, is the last bound
	bucketCount   = linearBuckets * (maxOctave - 2)
)

// histogram counts the samples of one epoch. It is log-linear: its buckets are
// as wide as an eighth of the power of two below them, so that one size of
// error, relative to the value, fits microseconds and minutes alike.
type histogram struct {
	epoch  int64
	n      uint64 // the sum of counts
	counts [bucketCount]uint32
}

func (h *histogram) add(b uint8) {
	if h.counts[b] < math.MaxUint32 {
		h.counts[b]++
		h.n++
	}
}

// bucketOf returns the number of the bucket (lower, upper] that holds d >= 0.
// Taking off a nanosecond first is what moves the bound into the lower bucket.
func bucketOf(d time.Duration) uint8 {
	us := (max(uint64(d), 1) - 1) / uint64(time.Microsecond)
	us = min(us, 1<<maxOctave-1)
	octave := max(bits.Len64(us)-4, 0)
	return uint8(octave*linearBuckets + int(us>>octave))
}

// upperBound returns the longest duration that bucket b stands for.
func upperBound(b int) time.Duration {
	octave := max(b/linearBuckets-1, 0)
	return time.Duration(b-octave*linearBuckets+1) << octave * time.Microsecond
}

// rank returns ceil(q*n), held within 1 and n. The product of a decimal
// fraction can come out a rounding error above the whole number that was meant
// (0.55 of 100 is 55.00000000000001), so twice the largest such error is taken
// off first.
func rank(q float64, n uint64) uint64 {
	if !(q > 0) {
		return 1
	}
	if q >= 1 {
		return n
	}
	x := q * float64(n)
	x = math.Ceil(x - x*0x1p-51)
	return min(max(uint64(x), 1), n)
}
