package ration

import (
	"fmt"
	"strings"
	"time"
)

// DegradedUtilization is how much of a budget must be spent for its executor to
// be [HealthDegraded], as [Budget.Utilization] gives it. Past it the budget is
// about to refuse retries, or does.
const DegradedUtilization = 0.9

// A HealthState is how an executor fares. There is no state for dead: an executor
// that refuses does its work.
type HealthState int

// The states.
const (
	HealthOK HealthState = iota
	HealthDegraded
)

// String returns the state's name: ok or degraded.
func (s HealthState) String() string {
	if s == HealthDegraded {
		return "degraded"
	}
	return "ok"
}

// Health is how one executor fares, or one of its keys. It is a value.
type Health struct {
	Name   string // the policy's
	Key    string // that of [Executor.For], if any
	State  HealthState
	Reason string // why it is not ok, in words; "" if it is
}

// CheckHealth returns the health of every executor in [Executors], each followed
// by its keys, at the given time, which is to be the present.
//
// It is for a page that people and alerts read, and must not be a reason to
// restart the process: what is degraded is a dependency, and a new process would
// start with full budgets and closed breakers, so that a restart discards the
// very protection that is at work. Keep it out of a liveness probe. In a
// readiness probe it takes a process out of service that can serve everything
// else.
func CheckHealth(now time.Time) []Health {
	var all []Health
	for _, e := range Executors() {
		all = append(all, e.Health(now))
		for _, k := range e.Keys() {
			all = append(all, k.Health(now))
		}
	}
	return all
}

// Health returns the health of e itself at the given time, which is to be the
// present; its keys have their own. It is degraded while its budget is spent to
// [DegradedUtilization] or its breaker is open. A half-open breaker is on its way
// back and degrades nothing.
func (e *Executor) Health(now time.Time) Health {
	h := Health{Name: e.Policy().Name, Key: e.key}
	var reasons []string
	if s := e.Breaker(now); s.State == BreakerOpen {
		reasons = append(reasons, fmt.Sprintf("the breaker is open, for another %v",
			roundUp(s.Break)))
	}
	if b := e.Budget(); b != nil {
		if u := b.UtilizationAt(now); u >= DegradedUtilization {
			which := "the retry budget"
			if b.Name() != "" {
				which += fmt.Sprintf(" %q", b.Name())
			}
			reasons = append(reasons, fmt.Sprintf("%s is spent to %d%%", which, int(100*u)))
		}
	}
	if len(reasons) > 0 {
		h.State, h.Reason = HealthDegraded, strings.Join(reasons, "; ")
	}
	return h
}

// roundUp returns d in the units that people count in: a break that lasts another
// 300 ms is not over.
func roundUp(d time.Duration) time.Duration {
	unit := 100 * time.Millisecond
	if d > 10*time.Second {
		unit = time.Second
	}
	if whole := d.Truncate(unit); whole < d {
		return whole + unit
	}
	return d
}
