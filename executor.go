package ration

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// An Executor runs calls under a [Policy] and holds the live state behind it:
// the retry budget, the breaker, and the estimates of what is normal. Most
// callers want [Do], or [Executor.Run] for a function that returns only an
// error.
//
// Make one with [New] for each dependency and keep it as long as the process
// lives. An executor made per request or per client is worthless: its budget is
// gone before it has seen enough traffic to bound anything. All methods are safe
// for concurrent use.
type Executor struct {
	root   *root
	key    string
	keyed  bool // from For; the key may be "" all the same
	state  *state
	single bool                     // from Once: one attempt, whatever the policy says
	next   atomic.Pointer[Executor] // in its chain of the registry
}

// A root is what an executor shares with the executors of its keys.
type root struct {
	top            *Executor // from New
	listed         bool      // set by New
	settings       atomic.Pointer[settings]
	updating       sync.Mutex
	keys           registry
	listenerFailed atomic.Bool
	unclassified   sighted
}

// state is what one executor, or one key, has learnt.
type state struct {
	budget    *Budget // the automatic one, used while the policy names no other
	breaker   breaker
	estimator atomic.Pointer[estimator] // made when first needed: it weighs 4 KB
	once      atomic.Pointer[Executor]  // likewise; see Executor.Once
	used      usage
}

// New returns an executor for p. The error is a [*ConfigError] that lists every
// problem at once.
//
// Build one executor per dependency and keep it: one made per request or per
// client is worthless, as [Executor] explains.
func New(p Policy) (*Executor, error) {
	s, err := p.resolve()
	if err != nil {
		return nil, err
	}
	r := &root{}
	r.settings.Store(s)
	r.top = newExecutor(r, "")
	if !p.Unlisted {
		r.list()
	}
	return r.top, nil
}

// MustNew is like [New] but panics if the policy is invalid. It is meant for
// package-level variables.
func MustNew(p Policy) *Executor {
	e, err := New(p)
	if err != nil {
		panic(err) //nolint:forbidigo // as regexp.MustCompile: a faulty program, at its start
	}
	return e
}

func newExecutor(r *root, key string) *Executor {
	budget := newBudget("", r.settings.Load().automatic())
	return &Executor{root: r, key: key, state: &state{budget: budget}}
}

// Once returns an executor whose calls make one attempt each and otherwise share
// everything with e: the policy, the breaker, which they inform and obey, the
// estimates, and the budget, which their successes feed. It is for the calls to
// a dependency that must not be repeated. It costs nothing after the first time.
func (e *Executor) Once() *Executor {
	if once := e.state.once.Load(); once != nil {
		return once
	}
	once := &Executor{root: e.root, key: e.key, keyed: e.keyed, state: e.state, single: true}
	e.state.once.CompareAndSwap(nil, once)
	return e.state.once.Load()
}

// For returns the executor of one key: a host, a tenant, a shard. It has the
// policy of e and a budget (unless the policy names one), a breaker and
// estimates of its own, so that a storm against one key cannot spend what the
// others need. At most [MaxKeys] keys are remembered, the least recently used
// forgotten first. The executor is found again on each call in some tens of
// nanoseconds; hold it for one call rather than for ever, since the state of a
// key that is forgotten and comes back starts anew.
//
// Keys are flat: For on the executor of a key is For on its parent. On one from
// [Executor.Once] it is Once of the key: what must not be repeated stays so.
func (e *Executor) For(key string) *Executor {
	r := e.root
	k := r.keys.lookup(key)
	if k == nil {
		k = r.keys.add(r, key, clock())
	} else {
		r.keys.found(&k.state.used)
	}
	if e.single {
		return k.Once()
	}
	return k
}

// Key returns the key that e was made for, and "" for an executor from [New].
func (e *Executor) Key() string { return e.key }

// Keys returns the executors of the keys now remembered, sorted by key, after
// forgetting those that have been idle for ten minutes. It is meant for
// debugging and telemetry.
func (e *Executor) Keys() []*Executor {
	r := &e.root.keys
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scan(clock())
	keys := slices.Collect(r.all)
	slices.SortFunc(keys, func(a, b *Executor) int { return cmp.Compare(a.key, b.key) })
	return keys
}

// Policy returns the policy in force, with every default filled in but those of
// Budget and Breaker, where nil keeps its meaning.
func (e *Executor) Policy() Policy { return e.root.settings.Load().Policy }

// Update puts p in force for e and all its keys, at once and as a whole. Calls
// in flight finish under the policy they began with. The budget, the breaker
// and the estimates keep their history: an open breaker stays open, and a spent
// bucket stays spent. A budget in p that nothing has drawn on yet takes over
// the balance of the one it replaces, clamped to its own capacity; one with a
// history keeps it. If p is invalid the error is a [*ConfigError] and nothing
// changes.
func (e *Executor) Update(p Policy) error {
	s, err := p.resolve()
	if err != nil {
		return err
	}
	r := e.root
	r.updating.Lock()
	defer r.updating.Unlock()
	old := r.settings.Load()
	now := clock()
	adopt := func(e *Executor) bool {
		e.adopt(now, old, s)
		return true
	}
	adopt(r.top)
	r.keys.mu.Lock() // a key that is added meanwhile must not miss it
	defer r.keys.mu.Unlock()
	r.keys.all(adopt)
	r.settings.Store(s)
	return nil
}

// adopt readies the budget of e for new settings.
func (e *Executor) adopt(now instant, old, s *settings) {
	if own, want := e.state.budget, s.automatic(); own.tuning() != want {
		own.retune(now, want)
	}
	if after := e.budget(s); after != nil {
		after.inherit(e.budget(old))
	}
}

// Budget returns the bucket in use: the policy's, or the automatic one of e. It
// is nil when there is none, with [NoBudget] or with a policy of one attempt
// that names no budget.
func (e *Executor) Budget() *Budget { return e.budget(e.root.settings.Load()) }

func (e *Executor) budget(s *settings) *Budget {
	switch {
	case s.private:
		return e.state.budget
	case s.Budget != NoBudget:
		return s.Budget
	}
	return nil
}

// Breaker describes the breaker of e at the given time, which is to be the
// present. Reading it takes no probe and changes nothing; only a time before the
// break began is taken for a clock that has stepped back, and the break starts
// anew there.
func (e *Executor) Breaker(now time.Time) BreakerStatus {
	if e.root.settings.Load().breaker == nil {
		return BreakerStatus{}
	}
	return e.state.breaker.status(instantOf(now))
}

// Run calls fn under the policy of e. It is [Do] for a function that returns
// nothing but an error.
func (e *Executor) Run(ctx context.Context, fn func(context.Context) error) error {
	_, _, err := run(ctx, e, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, fn(ctx)
	}, nil)
	return err
}

// estimates returns the estimator, which it makes if need be.
func (s *state) estimates() *estimator {
	if e := s.estimator.Load(); e != nil {
		return e
	}
	s.estimator.CompareAndSwap(nil, newEstimator())
	return s.estimator.Load()
}

// sighted is the set of error types that have been reported as unclassified.
// It is bounded: a program has few error types, and one that makes more than
// this at run time has been told enough.
type sighted struct {
	mu    sync.Mutex
	types map[reflect.Type]struct{}
}

const maxSighted = 64

// tellingType returns the type that says what went wrong: that of err, or of what
// it wraps if it only adds words, as fmt.Errorf does.
func tellingType(err error) reflect.Type {
	t := reflect.TypeOf(err)
	walk(err, func(node error) step {
		t = reflect.TypeOf(node)
		if t.Kind() == reflect.Pointer {
			if pkg := t.Elem().PkgPath(); pkg == "fmt" || pkg == "errors" {
				return into
			}
		}
		return stop
	})
	return t
}

// first reports whether the type of err is met for the first time.
func (s *sighted) first(err error) (name string, ok bool) {
	t := tellingType(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, seen := s.types[t]; seen || len(s.types) == maxSighted {
		return "", false
	}
	if s.types == nil {
		s.types = make(map[reflect.Type]struct{})
	}
	s.types[t] = struct{}{}
	return t.String(), true
}
