package ration

import (
	"errors"
	"sync"
)

var shared struct {
	sync.Mutex
	budgets map[string]*Budget
}

// SharedBudget returns the process-wide budget of that name, for several
// executors that call one dependency: without it, three clients of the same
// service each bring an allowance of their own. The first caller's parameters
// win; later ones are checked and otherwise ignored. The name must not be
// empty.
func SharedBudget(name string, fraction, minimumPerSecond float64) (*Budget, error) {
	if name == "" {
		return nil, errors.New("ration: SharedBudget needs a name; " +
			"for a bucket of your own use NewBudget, for none NoBudget")
	}
	if err := checkBudget(fraction, minimumPerSecond); err != nil {
		return nil, err
	}
	shared.Lock()
	defer shared.Unlock()
	if first, ok := shared.budgets[name]; ok {
		return first, nil
	}
	if shared.budgets == nil {
		shared.budgets = make(map[string]*Budget)
	}
	b := newBudget(name, tuning{fraction, minimumPerSecond})
	shared.budgets[name] = b
	return b, nil
}

// PrivateBudget returns a template of the automatic budget with other numbers
// than its defaults, in the ranges of [NewBudget]: an executor whose policy
// names it makes a bucket of its own from it, and so does each key of
// [Executor.For]. With a bucket from NewBudget, all keys draw on that one.
//
// [Executor.Update] from one template to another, or from nil to a template,
// changes the parameters of every bucket in place and leaves the balances as
// they are; [Budget.Retune] on a template reaches only the executors and keys
// that come after it.
func PrivateBudget(fraction, minimumPerSecond float64) (*Budget, error) {
	b, err := NewBudget(fraction, minimumPerSecond)
	if err != nil {
		return nil, err
	}
	b.private = true
	return b, nil
}

// inherit gives b the balance of the bucket that it replaces, unless b has a
// history of its own. A new policy must not hand out a fresh burst in the
// middle of a storm.
func (b *Budget) inherit(old *Budget) {
	if b == old || b.unlimited() || old.unlimited() {
		return
	}
	old.mu.Lock()
	tokens, last, full := old.tokens, old.last, old.full.Load()
	old.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used || full {
		return
	}
	b.used = true
	b.tokens = min(tokens, b.capacity)
	b.last = last
	b.full.Store(b.tokens == b.capacity)
}
