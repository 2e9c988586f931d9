package window

import (
	"math"
	"sync"
	"time"
)

const latencySlices = 4

// Latency estimates quantiles of the durations recorded over a sliding window.
// Make one with [NewLatency]; the zero value works, but its window is too short
// to be useful. It holds about 4 KB, never allocates after it is made, and is
// safe for concurrent use.
//
// The window is four slices of a quarter each: the present one, which is still
// filling, and the three before it. What is read thus covers between three
// quarters of the window and all of it.
//
// Durations fall into a log-linear histogram: one bucket per microsecond up to
// 8 us, then eight buckets per octave up to 134.217728 s. Anything longer is
// counted in the last bucket. Each bucket excludes its lower bound and includes
// its upper one, so a duration that is itself a bound is reported exactly.
//
// # Protocol
//
// The histogram is shared and guarded by mu. Most calls to Record do not touch
// it: they append one byte, the number of the bucket, to the buffer of their
// stripe, whose mutex nobody else wants unless two goroutines share the stripe.
//
// Every stripe carries an epoch, and every byte in it belongs to that epoch: a
// sample of another one is turned away. Outside mu all stripes carry the
// current epoch. To change it, the first sample of the new one goes from stripe
// to stripe and, under the lock of each, moves what is buffered into the slice
// of the old epoch and stamps the stripe with the new one. A sample that comes
// meanwhile either fits its stripe, before or after the sweep has passed it, or
// waits for mu; none ends up in a slice that is not its own. A reader empties
// every stripe before it looks. So for any sequence of calls the effect, steps
// back included, is that of one histogram behind one mutex, and which stripes
// were used cannot be observed. Locks are taken in the order mu, then a stripe.
//
// A lock-free stripe, seven samples and an epoch tag packed in a word swapped
// by one compare-and-swap, was measured: 11.4 ns against 14.6 for this one, but
// 26 against 19 when two goroutines share a stripe, and its tag can alias. Two
// atomic operations that are always right are worth three nanoseconds.
type Latency struct {
	width int64
	_     [cacheLine - 8]byte // read by every Record, written by none

	stripes [stripeCount]latencyStripe

	mu      sync.Mutex
	current int64
	slices  [latencySlices]histogram // that of current is stamped so
}

// latencyStripe fills two cache lines. With 111 samples to a flush, the flush,
// which moves the shared histogram to this core, is about 2 ns of each Record.
type latencyStripe struct {
	mu    sync.Mutex
	epoch int64
	n     uint8
	buf   [2*cacheLine - 17]uint8
}

// NewLatency returns an empty estimator over the given window, which is rounded
// down to a multiple of 4 ns. A window under 64 ns reads as 64 ns.
func NewLatency(window time.Duration) *Latency {
	return &Latency{width: max(int64(window)/latencySlices, minWidth)}
}

// Record adds one sample that ended at now. A negative d is ignored: it can
// only come from a clock that stepped back.
//
// A bucket saturates at 2^32-1 samples per slice.
func (l *Latency) Record(now int64, stripe uint32, d time.Duration) {
	if d < 0 {
		return
	}
	b := bucketOf(d)
	e := epochOf(now, l.width)
	s := &l.stripes[stripe%stripeCount]

	s.mu.Lock()
	if s.epoch == e && int(s.n) < len(s.buf) {
		s.buf[s.n] = b
		s.n++
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	l.recordShared(e, s, b)
}

// recordShared adds a sample to the histogram itself: its epoch is not current,
// which makes it so, or its stripe s is full.
//
// A goroutine that crosses into a new epoch late turns the current one back for
// a moment. That costs a sweep for each such sample and there are few, while a
// rule to keep the later epoch would make every Record slow after a real step
// back.
func (l *Latency) recordShared(e int64, s *latencyStripe, b uint8) {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.current == e {
		s.drain(l.slice(e), e)
	} else {
		l.drain(e)
		l.current = e
	}
	to := l.slice(e)
	if to.epoch != e {
		*to = histogram{epoch: e}
	}
	to.add(b)
}

// Quantile returns the q-quantile of the samples in the window at now: the one
// of rank ceil(q*n) in ascending order, rounded up to the bound of its bucket.
// It is never less than that sample, unless the sample is beyond the last
// bound, and is more by at most 12.5 % or 1 us, whichever is larger.
//
// It reports false when the window holds fewer than minSamples, or none. A q at
// or below 0, or NaN, reads as the minimum; one at or above 1 as the maximum.
//
// It takes about half a microsecond and stalls a Record that needs the shared
// histogram meanwhile, so a hot path keeps the answer in a [Memo].
func (l *Latency) Quantile(now int64, q float64, minSamples int) (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()

	live, n := l.live(now)
	if n == 0 || int64(n) < int64(minSamples) {
		return 0, false
	}
	need := rank(q, n)
	for b := range bucketCount - 1 {
		for _, s := range live {
			if s == nil {
				continue
			}
			if c := uint64(s.counts[b]); c < need {
				need -= c
			} else {
				return upperBound(b), true
			}
		}
	}
	return upperBound(bucketCount - 1), true
}

// Count returns the number of samples in the window at now.
func (l *Latency) Count(now int64) int {
	l.mu.Lock()
	defer l.mu.Unlock()

	_, n := l.live(now)
	return int(min(n, math.MaxInt))
}

// live returns the slices that are in the window at now, nil in place of the
// others, and how many samples they hold. The caller holds mu.
func (l *Latency) live(now int64) (live [latencySlices]*histogram, n uint64) {
	l.drain(l.current)
	e := epochOf(now, l.width)
	for i := range l.slices {
		s := &l.slices[i]
		if age := e - s.epoch; age >= 0 && age < latencySlices {
			live[i] = s
			n += s.n
		}
	}
	return live, n
}

// slice returns the place of epoch e, which may still hold another epoch.
func (l *Latency) slice(e int64) *histogram {
	return &l.slices[uint64(e)%latencySlices]
}

// drain empties every stripe and stamps it with epoch next. The caller holds
// mu.
func (l *Latency) drain(next int64) {
	to := l.slice(l.current)
	for i := range l.stripes {
		l.stripes[i].drain(to, next)
	}
}

func (s *latencyStripe) drain(to *histogram, next int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.buf[:s.n] {
		to.add(b)
	}
	s.n = 0
	s.epoch = next
}
