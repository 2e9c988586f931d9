package window

import (
	"math"
	"sync/atomic"
	"time"
)

const countSlots = 10

// Counts counts successes and failures over a sliding window of ten slots. The
// zero value is empty and ready to use. It holds under 1 KB, never allocates,
// and is safe for concurrent use; it must not be copied after first use.
//
// Successes are striped, because they are the hot path; failures are not. Each
// slot is one atomic word, the low half of its epoch above a count, and a write
// is one compare-and-swap on it: it adds to a count of the same epoch and
// replaces any other, so the two halves cannot disagree. A count stops at
// 2^32-1 for each slot and stripe.
//
// The width of a slot is a parameter of each call so that settings can change
// in place. Width is at least 16 ns; anything less reads as that. Changing it
// renumbers the slots: what was counted under the old width is dropped, or, if
// its number happens to be among the last ten under the new width, counted as
// though it belonged there, until ten new slots have passed. Call
// [Counts.Reset] with the change where that matters.
//
// Epochs are compared modulo 2^32, but placed by their full number modulo ten.
// Nothing special happens when the low half wraps; a stale slot passes for a
// fresh one only when it comes into view again after an exact multiple of
// 5*2^32 slots without a write, which is 680 years of 1 s slots.
//
// A write replaces a slot of a later epoch too, for a clock that has stepped
// back must not stop the counting until it catches up. Each stripe does so on
// its own. While time runs forward this cannot be seen; after a step back of k
// slots, what stripes counted in the k oldest slots of the window, or ahead of
// the present, lasts until that same stripe needs the place. A goroutine late
// by one slot sees the oldest slot partly cleared, and nothing else.
type Counts struct {
	_         [cacheLine]byte // the neighbour before us may be hot as well
	successes [stripeCount]countStripe
	failures  countStripe
}

// countStripe leaves a whole line after its slots: a Counts is part of a larger
// struct that may start anywhere within a line.
type countStripe struct {
	slots [countSlots]atomic.Uint64
	_     [cacheLine]byte
}

// AddSuccess counts one success at now, in a window of slots of the given
// width.
func (c *Counts) AddSuccess(now int64, width time.Duration, stripe uint32) {
	c.successes[stripe%stripeCount].add(epochOf(now, int64(width)))
}

// AddFailure counts one failure at now, in a window of slots of the given
// width.
func (c *Counts) AddFailure(now int64, width time.Duration) {
	c.failures.add(epochOf(now, int64(width)))
}

// Sum returns what was counted in the slot of now and the nine before it. A
// write that runs meanwhile may be counted or not; one that returned before
// Sum was called is.
func (c *Counts) Sum(now int64, width time.Duration) (successes, failures uint64) {
	e := epochOf(now, int64(width))
	for i := range c.successes {
		successes += c.successes[i].sum(e)
	}
	return successes, c.failures.sum(e)
}

// Reset forgets everything. A write that runs meanwhile may survive it.
func (c *Counts) Reset() {
	for i := range c.successes {
		c.successes[i].reset()
	}
	c.failures.reset()
}

func (s *countStripe) add(epoch int64) {
	slot := s.slot(epoch)
	for {
		old := slot.Load()
		n := uint32(1)
		if stamp := uint32(old >> 32); stamp == uint32(epoch) {
			if uint32(old) == math.MaxUint32 {
				return
			}
			n = uint32(old) + 1
		}
		if slot.CompareAndSwap(old, uint64(uint32(epoch))<<32|uint64(n)) {
			return
		}
	}
}

func (s *countStripe) sum(epoch int64) (n uint64) {
	for e := epoch - countSlots + 1; e <= epoch; e++ {
		if w := s.slot(e).Load(); uint32(w>>32) == uint32(e) {
			n += uint64(uint32(w))
		}
	}
	return n
}

func (s *countStripe) slot(epoch int64) *atomic.Uint64 {
	i := epoch % countSlots
	if i < 0 {
		i += countSlots
	}
	return &s.slots[i]
}

func (s *countStripe) reset() {
	for i := range s.slots {
		s.slots[i].Store(0)
	}
}
