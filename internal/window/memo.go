package window

import (
	"math"
	"sync/atomic"
	"time"
)

// Memo keeps one derived duration, such as a quantile, for a while, so that a
// hot path reads two atomics in place of a histogram. The zero value holds
// nothing and is ready to use. It is safe for concurrent use; it must not be
// copied after first use.
//
// Several goroutines may find the value stale at one time and each derive it
// anew. That is cheaper than making them wait for each other, and happens once
// in a ttl.
//
// # Protocol
//
// Put stores the value, then its time; Get loads the time, then the value. So a
// Get that runs between the two stores of a Put, or around a whole one, pairs a
// time with the value stored with it or a later one, never an earlier: a torn
// pair looks older than it is and is derived again too soon. That needs Puts to
// take turns, or a slow one could leave its old value under the time of a newer
// one. They do so by a flag, and a Put that finds it taken gives up: the one
// that holds it stores a value just as recent.
type Memo struct {
	put  atomic.Int64
	word atomic.Int64 // memoEmpty, memoUnknown, or the value + memoZero
	busy atomic.Bool
}

const (
	memoEmpty = iota
	memoUnknown
	memoZero
)

// Get returns the value last put, whether that value was known, and whether it
// is still fresh at now. It is not when nothing was ever put, when it was put
// more than ttl ago, or when it was put more than ttl in the future, which
// means that the clock has stepped back. A negative ttl makes nothing fresh. A
// value that is not fresh is returned all the same.
func (m *Memo) Get(now int64, ttl time.Duration) (v time.Duration, known, fresh bool) {
	put := m.put.Load()
	word := m.word.Load()
	apart := uint64(max(now, put)) - uint64(min(now, put)) // exact at any distance
	fresh = word != memoEmpty && ttl >= 0 && apart <= uint64(ttl)
	return time.Duration(max(word-memoZero, 0)), word >= memoZero, fresh
}

// Put stores v, derived at now. With known false it stores that no value could
// be derived, which is worth remembering as well, and v is ignored. A negative
// v is stored as 0.
func (m *Memo) Put(now int64, v time.Duration, known bool) {
	if !m.busy.CompareAndSwap(false, true) {
		return
	}
	word := int64(memoUnknown)
	if known {
		word = min(max(int64(v), 0), math.MaxInt64-memoZero) + memoZero
	}
	m.word.Store(word)
	m.put.Store(now)
	m.busy.Store(false)
}
