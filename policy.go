package ration

import (
	"context"
	"fmt"
	"math"
	"time"
)

// NoLimit means without bound, as a duration. It is the spelling of off for
// [Policy] fields whose zero value means a default.
const NoLimit time.Duration = -1

// What the zero fields of a [Policy] mean.
const (
	DefaultAttempts       = 3
	DefaultDeadline       = 30 * time.Second
	DefaultAttemptTimeout = 10 * time.Second
)

// A Policy says how calls to one dependency are protected. It is a plain value:
// copy it and change fields. The zero Policy is complete, and each zero field
// means the default named beside it, so that a policy states only what differs.
//
// A Policy holds no live state. [New] builds an [Executor], which does, and
// building or running it changes nothing about the policy. Two executors built
// from one policy share nothing but what the policy points to: an explicit
// Budget. A Policy may be read concurrently; it must not be changed while [New]
// or [Executor.Update] reads it.
type Policy struct {
	// Name tags events, metrics and logs.
	Name string

	// Attempts is the number of attempts in all, the first included. 0 = 3,
	// 1 = no retries. It is only a maximum: the budget decides how many of the
	// attempts there are.
	Attempts int

	// Deadline bounds the whole call: attempts, waits and hooks. 0 = 30 s,
	// NoLimit = none. The deadline of the caller's context always binds too.
	Deadline time.Duration

	// AttemptTimeout bounds one attempt. 0 = 10 s, NoLimit = none. A function
	// that ignores its context cannot be stopped: the call waits for it.
	AttemptTimeout time.Duration

	// Ceiling tightens AttemptTimeout to what is normal for the dependency.
	// nil = on with its defaults, NoCeiling = off.
	Ceiling *Ceiling

	// Backoff says how long to wait before a retry. Zero = exponential from
	// 100 ms (1 s when throttled), factor 2, at most 30 s, full jitter.
	Backoff Backoff

	// Budget bounds retries as a fraction of traffic. nil = automatic: a bucket
	// of 0.1 per success and 3 per second, private to the executor, or to each
	// key of [Executor.For]; a policy of one attempt has none. NoBudget = off.
	// One from PrivateBudget is automatic with other numbers. Any other explicit
	// budget is one bucket, fed by every policy and every key that names it.
	Budget *Budget

	// Breaker refuses attempts after a run of failures. nil = none for [New],
	// one for each host or service in the adapters; NoBreaker = none anywhere.
	Breaker *BreakerSettings

	// Classify gives the verdict on what an attempt returned. nil =
	// [DefaultClassifier]. Errors made with [Transient], [Throttled], [Refused]
	// and [Permanent] carry their own verdict and never reach it; neither does
	// an attempt's own timeout. It runs on the calling goroutine and must be
	// safe for concurrent use.
	Classify Classifier

	// BeforeAttempt runs before each attempt n, from 1, within the deadline but
	// outside the attempt's timeout. An error ends the call and is returned as
	// it is: the hook prepares an attempt, it does not judge the dependency.
	BeforeAttempt func(ctx context.Context, n int) error

	// Admit decides locally, within each attempt, whether it may go out: nil =
	// it may. An error is classified as if the function had returned it; one
	// made with [Refused] is a refusal of this process, which costs no token,
	// is evidence of nothing, and is retried after its hint or the throttled
	// wait.
	Admit func(ctx context.Context) error

	// OnEvent receives every [Event], on the goroutine that caused it and
	// outside every lock. nil = none, at no cost. It must be safe for
	// concurrent use. A panic in it is isolated. It must not call under this
	// policy, of which it would hear again, without end.
	OnEvent func(Event)

	// Unlisted keeps the executor out of [Executors] and of [Observe], and so
	// out of metrics and health: for simulations and tests, whose calls are not
	// traffic, and for what sends telemetry. [New] reads it; [Executor.Update]
	// does not change it.
	Unlisted bool
}

// settings are a policy with its defaults filled in. They are immutable; a call
// uses the ones it began with.
type settings struct {
	Policy
	ceiling *Ceiling         // nil = none
	breaker *BreakerSettings // nil = none
	retries bool
	private bool          // each executor and each key has a bucket of its own
	lease   time.Duration // of a half-open probe
}

// automatic returns the parameters of the bucket that an executor or a key has
// of its own. It has one, although it does not use it, under every policy.
func (s *settings) automatic() tuning {
	if b := s.Budget; b != nil && b.private {
		return b.tuning()
	}
	return tuning{DefaultBudgetFraction, DefaultBudgetMinimumPerSecond}
}

// resolve checks p, and fills in what its zero fields mean.
func (p Policy) resolve() (*settings, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	s := &settings{Policy: p}
	s.Attempts = orDefault(p.Attempts, DefaultAttempts)
	s.Deadline = orDefault(p.Deadline, DefaultDeadline)
	s.AttemptTimeout = orDefault(p.AttemptTimeout, DefaultAttemptTimeout)
	s.Backoff = p.Backoff.withDefaults()
	s.ceiling = p.ceiling(s.AttemptTimeout)
	s.Ceiling = orDefault(s.ceiling, NoCeiling)
	s.retries = s.Attempts > 1
	s.private = p.Budget == nil && s.retries || p.Budget != nil && p.Budget.private
	if p.Breaker != nil && p.Breaker != NoBreaker {
		b := p.Breaker.withDefaults()
		s.breaker = &b
		s.lease = s.AttemptTimeout
		if s.lease == NoLimit {
			s.lease = b.Break
		}
	}
	return s, nil
}

// ceiling returns the ceiling in force, nil for none. The default one steps
// aside where it could not bind; a written one is taken at its word.
func (p *Policy) ceiling(attemptTimeout time.Duration) *Ceiling {
	if p.Ceiling == NoCeiling {
		return nil
	}
	if p.Ceiling == nil && (attemptTimeout == NoLimit || attemptTimeout <= defaultCeilingFloor) {
		return nil
	}
	c := orDefault(p.Ceiling, &Ceiling{}).withDefaults(attemptTimeout)
	return &c
}

func (p *Policy) check() error {
	c := &checker{}
	c.count("Attempts", p.Attempts)
	c.limit("Deadline", p.Deadline)
	c.limit("AttemptTimeout", p.AttemptTimeout)
	p.Backoff.check(c)
	if p.Ceiling != nil && p.Ceiling != NoCeiling {
		p.Ceiling.check(c, orDefault(p.AttemptTimeout, DefaultAttemptTimeout))
	}
	if p.Breaker != nil && p.Breaker != NoBreaker {
		p.Breaker.check(c)
	}
	if !p.Budget.unlimited() && p.Budget.Capacity() == 0 {
		c.problem("Budget is a zero Budget; make it with NewBudget or SharedBudget, " +
			"or use NoBudget")
	}
	if len(c.problems) == 0 {
		return nil
	}
	return &ConfigError{Policy: p.Name, Problems: c.problems}
}

// A checker gathers every problem of a policy, so that the caller mends them in
// one round.
type checker struct{ problems []string }

func (c *checker) problem(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

func (c *checker) count(field string, n int) {
	if n < 0 {
		c.problem("%s %d is negative; 0 means the default", field, n)
	}
}

func (c *checker) duration(field string, d, least time.Duration) {
	if d != 0 && d < max(least, 0) || d < 0 {
		c.problem("%s %v is below %v; 0 means the default", field, d, max(least, 1))
	}
}

func (c *checker) limit(field string, d time.Duration) {
	if d < 0 && d != NoLimit {
		c.problem("%s %v is negative; 0 means the default, NoLimit none", field, d)
	}
}

func (c *checker) positive(field string, x float64) {
	if x != 0 && !(x > 0 && !math.IsInf(x, 0)) {
		c.problem("%s %v is not a finite number above 0; 0 means the default", field, x)
	}
}

func orDefault[T comparable](x, ifZero T) T {
	var zero T
	if x == zero {
		return ifZero
	}
	return x
}
