package rationconfig

import (
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationconfig/strict"
)

// Build returns the policy without a name. Its budget, if the file gives it numbers,
// is a template as [ration.PrivateBudget] makes them, so that two executors of one
// policy share nothing. It expects a policy that [Policy.Check] has found in order.
func (p *Policy) Build() (ration.Policy, error) { return p.build(nil) }

// build is Build for a policy that may name one of the shared budgets. In place of the
// live bucket there is a template with its numbers.
func (p *Policy) build(shared map[string]*SharedBudget) (ration.Policy, error) {
	p = p.complete()
	budget, err := p.Budget.build(shared)
	return ration.Policy{
		Attempts:       value(p.Attempts),
		Deadline:       limit(p.Deadline),
		AttemptTimeout: limit(p.AttemptTimeout),
		Ceiling:        p.Ceiling.build(),
		Backoff:        p.Backoff.build(),
		Budget:         budget,
		Breaker:        p.Breaker.build(),
	}, err
}

func (c *Ceiling) build() *ration.Ceiling {
	switch {
	case c == nil:
		return nil
	case off(c.Enabled):
		return ration.NoCeiling
	case *c == Ceiling{Enabled: c.Enabled}:
		// The default ceiling steps aside where it could not bind, and a written
		// one is an error there. Nothing but enabled is written here.
		return nil
	}
	return &ration.Ceiling{
		Multiple:       value(c.Multiple),
		Quantile:       value(c.Quantile),
		MinimumSamples: value(c.MinimumSamples),
		Floor:          time.Duration(value(c.Floor)),
	}
}

func (b *Backoff) build() ration.Backoff {
	switch {
	case b == nil:
		return ration.Backoff{}
	case off(b.Enabled):
		return ration.NoBackoff
	}
	return ration.Backoff{
		Transient: time.Duration(value(b.Transient)),
		Throttled: time.Duration(value(b.Throttled)),
		Factor:    value(b.Factor),
		Max:       limit(b.Max),
		Jitter:    ration.Jitter(value(b.Jitter)),
		Measured:  b.Measured.build(),
	}
}

func (m *Measured) build() *ration.MeasuredBase {
	if m == nil || off(m.Enabled) {
		return nil
	}
	return &ration.MeasuredBase{
		Multiple:       value(m.Multiple),
		MinimumSamples: value(m.MinimumSamples),
		Spread:         value(m.Spread),
	}
}

func (b *Budget) build(shared map[string]*SharedBudget) (*ration.Budget, error) {
	switch {
	case b == nil:
		return nil, nil
	case off(b.Enabled):
		return ration.NoBudget, nil
	case b.shares():
		return ration.PrivateBudget(shared[*b.Shared].numbers())
	case b.Fraction == nil && b.MinimumPerSecond == nil:
		return nil, nil
	}
	own := SharedBudget{Fraction: b.Fraction, MinimumPerSecond: b.MinimumPerSecond}
	return ration.PrivateBudget(own.numbers())
}

// shares reports whether the budget is in force and somebody else's too.
func (b *Budget) shares() bool { return b != nil && !off(b.Enabled) && b.Shared != nil }

// numbers returns the parameters of a bucket. A nil budget has the default ones.
func (b *SharedBudget) numbers() (fraction, minimumPerSecond float64) {
	fraction, minimumPerSecond = ration.DefaultBudgetFraction, ration.DefaultBudgetMinimumPerSecond
	if b != nil && b.Fraction != nil {
		fraction = float64(*b.Fraction)
	}
	if b != nil && b.MinimumPerSecond != nil {
		minimumPerSecond = *b.MinimumPerSecond
	}
	return fraction, minimumPerSecond
}

func (b *Breaker) build() *ration.BreakerSettings {
	switch {
	case b == nil:
		return nil
	case off(b.Enabled):
		return ration.NoBreaker
	}
	s := &ration.BreakerSettings{
		ConsecutiveFailures: int(value(b.ConsecutiveFailures)),
		FailureRatio:        float64(value(b.FailureRatio)),
		Break:               time.Duration(value(b.Break)),
		MaxBreak:            time.Duration(value(b.MaxBreak)),
		Probes:              value(b.Probes),
		ProbeSuccesses:      value(b.ProbeSuccesses),
	}
	if s.FailureRatio > 0 {
		// Without it these are left over from an earlier file, and the core
		// refuses what has no effect.
		s.Window, s.MinimumCalls = time.Duration(value(b.Window)), value(b.MinimumCalls)
	}
	return s
}

func off(enabled *bool) bool { return enabled != nil && !*enabled }

func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

func limit(l *strict.Limit) time.Duration {
	if value(l).None {
		return ration.NoLimit
	}
	return value(l).Duration
}
