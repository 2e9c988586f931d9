package ration

import (
	"cmp"
	"hash/maphash"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// MaxKeys is how many keys an executor remembers. Past it the key that was
	// used least recently is forgotten, and comes back with a full budget and
	// no history. A key whose breaker is open is forgotten only once its break
	// is over, even past the limit: forgetting it would let the flood through.
	MaxKeys = 1024

	// keyIdle is how long an unused key is remembered. After it the bucket has
	// refilled and the estimates have expired anyway, so nothing is lost.
	keyIdle = 10 * time.Minute

	keyBuckets = 1024 // chains of one key on average, at MaxKeys
)

// A registry holds the executors of an executor's keys.
//
// Protocol. A lookup takes no lock: it walks a chain of atomic pointers from a
// fixed table, so a reader may pass through an executor that is being removed
// and still reach the rest. The table never grows, since the number of keys is
// bounded. Additions and removals hold mu. Which key was used least recently is
// known to the nearest addition: tick counts additions, and an executor notes
// the tick at which it was last used, so that between two additions a hot key
// is only read.
type registry struct {
	table atomic.Pointer[[keyBuckets]atomic.Pointer[Executor]]
	tick  atomic.Uint64
	seed  maphash.Seed

	mu       sync.Mutex
	count    int
	nextScan instant // every key was open until then
}

// A usage says when a key was last used.
type usage struct {
	tick atomic.Uint64 // the registry's tick then
	at   atomic.Int64  // the instant, to a minute
}

// lookup returns the executor of a key, or nil.
func (r *registry) lookup(key string) *Executor {
	table := r.table.Load()
	if table == nil {
		return nil
	}
	e := table[maphash.String(r.seed, key)%keyBuckets].Load()
	for e != nil && e.key != key {
		e = e.next.Load()
	}
	return e
}

// found notes that a key was looked up, which needs no clock.
func (r *registry) found(u *usage) {
	if t := r.tick.Load(); u.tick.Load() != t {
		u.tick.Store(t)
	}
}

// touch notes that a key is in use.
func (r *registry) touch(u *usage, now instant) {
	r.found(u)
	if now.since(instant(u.at.Load())).Abs() >= time.Minute {
		u.at.Store(int64(now))
	}
}

// add returns the executor of a key, which it makes if need be.
func (r *registry) add(root *root, key string, now instant) *Executor {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.lookup(key); e != nil {
		return e
	}
	table := r.table.Load()
	if table == nil {
		r.seed = maphash.MakeSeed()
		table = new([keyBuckets]atomic.Pointer[Executor])
		r.table.Store(table)
	}
	r.forget(now, MaxKeys-1)
	e := newExecutor(root, key)
	e.keyed = true
	e.state.used.tick.Store(r.tick.Add(1))
	e.state.used.at.Store(int64(now))
	head := &table[maphash.String(r.seed, key)%keyBuckets]
	e.next.Store(head.Load())
	head.Store(e)
	r.count++
	return e
}

// forget removes the least recently used keys until at most limit are left, or
// only open ones are. Callers hold mu. It walks all keys, which takes some
// microseconds: a new key is rare, and usually pays for a connection besides.
func (r *registry) forget(now instant, limit int) {
	if r.count <= limit {
		return
	}
	// While every key is open there is nothing to be found, and looking for it
	// each time would make a flood of new keys quadratic.
	if wait := r.nextScan.since(now); wait > 0 && wait <= scanWait {
		return
	}
	victim := r.scan(now)
	if victim == nil || r.count <= limit {
		return
	}
	r.remove(victim)
	if r.count > limit {
		r.forgetMany(now, r.count-limit)
	}
}

// forgetMany removes the n least recently used of the keys that are not open,
// or all of them if they are fewer. More than one key is to go only after open
// ones have gone past the limit, but then it may be most of them at once, and a
// walk for each would hold up every new key for as long as the flood was large.
func (r *registry) forgetMany(now instant, n int) {
	type sighting struct {
		e    *Executor
		tick uint64 // kept, since the key may be used while they are sorted
	}
	var closed []sighting
	for e := range r.all {
		if e.state.breaker.openUntil() <= now {
			closed = append(closed, sighting{e, e.state.used.tick.Load()})
		}
	}
	slices.SortFunc(closed, func(a, b sighting) int { return cmp.Compare(a.tick, b.tick) })
	for _, s := range closed[:min(n, len(closed))] {
		r.remove(s.e)
	}
}

const scanWait = time.Minute

// scan removes idle keys and returns the least recently used of the rest that
// may be forgotten. If there is none it notes when there may be one.
func (r *registry) scan(now instant) (victim *Executor) {
	soonest := now.add(scanWait)
	least := uint64(math.MaxUint64)
	for e := range r.all {
		until := e.state.breaker.openUntil()
		switch {
		case until > now:
			soonest = min(soonest, until)
		case now.since(instant(e.state.used.at.Load())) >= keyIdle:
			r.remove(e)
		default:
			if t := e.state.used.tick.Load(); t < least {
				victim, least = e, t
			}
		}
	}
	if victim == nil {
		r.nextScan = soonest
	}
	return victim
}

// all yields every key's executor.
func (r *registry) all(yield func(*Executor) bool) {
	table := r.table.Load()
	if table == nil {
		return
	}
	for i := range table {
		for e := table[i].Load(); e != nil; e = e.next.Load() {
			if !yield(e) {
				return
			}
		}
	}
}

// remove unlinks e. Its own next pointer stays, for readers that stand on it.
func (r *registry) remove(e *Executor) {
	at := &r.table.Load()[maphash.String(r.seed, e.key)%keyBuckets]
	for at.Load() != e {
		at = &at.Load().next
	}
	at.Store(e.next.Load())
	r.count--
}
