package ration

import (
	"hash/maphash"
	"math"
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
	nextScan instant // no key can be forgotten before this
}

// A link is an executor's place in its registry.
type link struct {
	next   atomic.Pointer[Executor]
	tick   atomic.Uint64 // the registry's tick when last used
	usedAt atomic.Int64  // instant of last use, to a minute
}

// lookup returns the executor of a key, or nil.
func (r *registry) lookup(key string) *Executor {
	table := r.table.Load()
	if table == nil {
		return nil
	}
	e := table[maphash.String(r.seed, key)%keyBuckets].Load()
	for e != nil && e.key != key {
		e = e.link.next.Load()
	}
	return e
}

// touch notes that e is in use.
func (r *registry) touch(e *Executor, now instant) {
	if t := r.tick.Load(); e.link.tick.Load() != t {
		e.link.tick.Store(t)
	}
	if now.since(instant(e.link.usedAt.Load())).Abs() >= time.Minute {
		e.link.usedAt.Store(int64(now))
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
	e.link.tick.Store(r.tick.Add(1))
	e.link.usedAt.Store(int64(now))
	head := &table[maphash.String(r.seed, key)%keyBuckets]
	e.link.next.Store(head.Load())
	head.Store(e)
	r.count++
	return e
}

// forget removes what has been idle, and then the least recently used until at
// most limit keys are left or only open ones are. Callers hold mu. It walks all
// keys, some microseconds; a new key is rare, and pays for a connection besides.
func (r *registry) forget(now instant, limit int) {
	for now >= r.nextScan || now.since(r.nextScan) < -keyIdle {
		victim, soonest := r.oldest(now)
		if r.count <= limit || victim == nil {
			r.nextScan = soonest
			if r.count >= limit && victim != nil {
				r.nextScan = longAgo
			}
			return
		}
		r.remove(victim)
	}
}

// oldest removes idle keys and returns the least recently used key that may be
// forgotten, and when the next one may be.
func (r *registry) oldest(now instant) (victim *Executor, soonest instant) {
	soonest = now.add(time.Minute)
	least := uint64(math.MaxUint64)
	for e := range r.all {
		if until := e.state.breaker.openUntil(); until > now {
			soonest = min(soonest, until)
			continue
		}
		if now.since(instant(e.link.usedAt.Load())) >= keyIdle {
			r.remove(e)
			continue
		}
		if t := e.link.tick.Load(); t < least {
			victim, least = e, t
		}
	}
	return victim, soonest
}

// all yields every key's executor.
func (r *registry) all(yield func(*Executor) bool) {
	table := r.table.Load()
	if table == nil {
		return
	}
	for i := range table {
		for e := table[i].Load(); e != nil; e = e.link.next.Load() {
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
		at = &at.Load().link.next
	}
	at.Store(e.link.next.Load())
	r.count--
}
