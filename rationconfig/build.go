package rationconfig

import (
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationconfig/strict"
)

// Build returns the policy, with a bucket of its own if the file gives its budget
// numbers: what is built twice shares nothing. It expects a policy that
// [Policy.Check] has found in order.
func (p *Policy) Build() (ration.Policy, error) {
	budget, err := p.Budget.build()
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

func (b *Budget) build() (*ration.Budget, error) {
	switch {
	case b == nil:
		return nil, nil
	case off(b.Enabled):
		return ration.NoBudget, nil
	case b.Fraction == nil && b.MinimumPerSecond == nil:
		return nil, nil
	}
	fraction, floor := ration.DefaultBudgetFraction, float64(ration.DefaultBudgetMinimumPerSecond)
	if b.Fraction != nil {
		fraction = float64(*b.Fraction)
	}
	if b.MinimumPerSecond != nil {
		floor = *b.MinimumPerSecond
	}
	return ration.NewBudget(fraction, floor)
}

func (b *Breaker) build() *ration.BreakerSettings {
	switch {
	case b == nil:
		return nil
	case off(b.Enabled):
		return ration.NoBreaker
	}
	return &ration.BreakerSettings{
		ConsecutiveFailures: int(value(b.ConsecutiveFailures)),
		FailureRatio:        float64(value(b.FailureRatio)),
		Window:              time.Duration(value(b.Window)),
		MinimumCalls:        value(b.MinimumCalls),
		Break:               time.Duration(value(b.Break)),
		MaxBreak:            time.Duration(value(b.MaxBreak)),
		Probes:              value(b.Probes),
		ProbeSuccesses:      value(b.ProbeSuccesses),
	}
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
