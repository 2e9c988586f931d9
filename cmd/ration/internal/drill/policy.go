package drill

import (
	"time"

	"github.com/ration-go/ration"
)

// What the drill's own policies wait. With timeouts at the bottom, 64 attempts are
// over in 3 s, far from the deadline. The longest backoff also bounds the hints of
// servers that have refused a retry. No policy has a longer deadline, so that a phase
// ends.
const (
	Deadline    = 30 * time.Second
	BackoffBase = time.Millisecond
	BackoffMax  = 5 * time.Millisecond
)

// policy is that of one hop in a phase.
func (d *Drill) policy(p Phase, h hopIndex) ration.Policy {
	var policy ration.Policy
	if d.Shipped != nil {
		policy = d.shipped()
	} else {
		policy = d.own()
		if h == hopBackend {
			policy.AttemptTimeout = p.Trouble.Timeout
		}
	}
	policy.Name = hopNames[h]
	if p.Budgets == Off {
		policy.Budget = ration.NoBudget
	}
	return policy
}

// own is the drill's policy. The zero Budget is the library's default. Breaker and
// measured ceiling are off, so that what is seen is the budget's doing; the backoff
// is short, so that 64 attempts fit into a phase.
func (d *Drill) own() ration.Policy {
	return ration.Policy{
		Attempts:       d.Attempts,
		Deadline:       Deadline,
		AttemptTimeout: ration.NoLimit,
		Backoff: ration.Backoff{
			Transient: BackoffBase,
			Throttled: BackoffBase,
			Max:       BackoffMax,
		},
		Ceiling: ration.NoCeiling,
		Breaker: ration.NoBreaker,
	}
}

// shipped is the policy that is given. The clients of a service get it with its
// executor, to which they add no breaker.
func (d *Drill) shipped() ration.Policy {
	policy := *d.Shipped
	policy.Attempts = d.Attempts
	if policy.Deadline == ration.NoLimit || policy.Deadline > Deadline {
		policy.Deadline = Deadline
	}
	if policy.Breaker == nil {
		policy.Breaker = ration.NoBreaker
	}
	return policy
}

// Allowance is what a budget funds: a fraction of successes, and a floor.
type Allowance struct{ Fraction, MinimumPerSecond float64 }

// Tokens is what a full bucket holds.
func (a Allowance) Tokens() float64 { return max(10*a.MinimumPerSecond, 1) }

// Allowance returns that of each hop where it has a budget.
func (d *Drill) Allowance() Allowance {
	if d.Shipped != nil && d.Shipped.Budget != nil {
		return Allowance{d.Shipped.Budget.Fraction(), d.Shipped.Budget.MinimumPerSecond()}
	}
	return Allowance{ration.DefaultBudgetFraction, ration.DefaultBudgetMinimumPerSecond}
}
