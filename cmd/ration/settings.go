package main

import (
	"fmt"
	"time"

	"github.com/ration-go/ration"
)

// resolved returns a policy with its defaults filled in, and with the bucket that
// it uses, nil for none.
func resolved(p ration.Policy) ration.Policy {
	e, err := ration.New(p)
	if err != nil { // found by whoever ran it
		return p
	}
	p = e.Policy()
	p.Budget = e.Budget()
	return p
}

const off = "off"

func limitText(d time.Duration) string {
	if d == ration.NoLimit {
		return "none"
	}
	return short(d)
}

func ceilingText(p ration.Policy) string {
	if p.Ceiling == ration.NoCeiling || p.Ceiling == nil {
		return off
	}
	return fmt.Sprintf("%s x p%s", decimal(p.Ceiling.Multiple), decimal(100*p.Ceiling.Quantile))
}

func backoffText(p ration.Policy) string {
	b := p.Backoff
	if b.Transient == 0 {
		return off
	}
	base := short(b.Transient)
	if b.Measured != nil {
		base = decimal(b.Measured.Multiple) + " x p50"
	}
	return fmt.Sprintf("%s, x%s", base, decimal(b.Factor))
}

func budgetText(p ration.Policy) string {
	if p.Budget == nil {
		return off
	}
	return fmt.Sprintf("%s%% + %s/s", decimal(100*p.Budget.Fraction()),
		decimal(p.Budget.MinimumPerSecond()))
}

func hasBreaker(p ration.Policy) bool { return p.Breaker != nil && p.Breaker != ration.NoBreaker }

func breakerText(p ration.Policy) string {
	if !hasBreaker(p) {
		return off
	}
	return "on"
}
