package ration

import (
	"cmp"
	"math"
	"sync/atomic"
	"time"
)

// base is the origin of every instant. It carries a monotonic reading, so that
// a step of the wall clock moves no instant read by [clock].
var base = time.Now()

// An instant is a point in time, in nanoseconds since base. State is kept in
// instants and not in time.Time for two reasons: reading one costs about half
// of time.Now (the monotonic clock alone), and eight bytes fit an atomic.
//
// Instants may lie far from base on either side: inside a testing/synctest
// bubble the year is 2000, and a simulation starts wherever it likes. Hence the
// saturating arithmetic below, and hence nothing packs an instant with
// something else into one word.
type instant int64

const (
	never       = instant(math.MaxInt64) // later than every instant
	longAgo     = instant(math.MinInt64) // earlier than every instant
	maxDuration = time.Duration(math.MaxInt64)
)

// clock reads the time. Only the outermost drivers call it, once for each
// decision and before any lock; everything else is told the time.
func clock() instant { return instant(time.Since(base)) }

// instantOf converts the time that a caller gave. Sub saturates.
func instantOf(t time.Time) instant { return instant(t.Sub(base)) }

func (i instant) time() time.Time { return base.Add(time.Duration(i)) }

// add returns i + d, and never if that is too far away to say or if d is
// [NoLimit].
func (i instant) add(d time.Duration) instant {
	if d == NoLimit {
		return never
	}
	if sum := i + instant(d); d < 0 || sum >= i {
		return sum
	}
	return never
}

// since returns i - j, saturated.
func (i instant) since(j instant) time.Duration {
	d := i - j
	if (d > 0) == (i > j) || d == 0 {
		return time.Duration(d)
	}
	if i > j {
		return maxDuration
	}
	return time.Duration(math.MinInt64)
}

// An origin is the first instant that some state has seen. Sliding windows count
// from it: counted from base, their slices would begin at other moments in each
// process, and a simulation would not give the same bytes twice. The zero origin
// is unset; it is safe for concurrent use.
type origin struct{ at atomic.Int64 }

// since returns how long after the origin now is, in nanoseconds, and makes now
// the origin if there is none.
func (o *origin) since(now instant) int64 {
	at := o.at.Load()
	if at == 0 {
		// Zero is taken. The time just before it serves, since what is seen first
		// must not fall into the slice before the first.
		o.at.CompareAndSwap(0, cmp.Or(int64(now), -1))
		at = o.at.Load()
	}
	return int64(now.since(instant(at)))
}
