package ration

import (
	"context"
	"time"
)

// The phases of a call: what it waits to be told.
type phase uint8

const (
	phaseDue     phase = iota // that the time for an attempt has come
	phasePrepare              // that the hook has run
	phaseAttempt              // how the attempt went
	phasePause                // that the pause is over
	phaseDone
)

// A Call is the decision about one call: whether to make an attempt, wait, or
// stop, and what each costs. It reads no clock, draws no random number and
// starts nothing, so that it serves [Do], the simulator, and callers who have
// no goroutine to block: a queue worker, an event loop. Most programs want [Do].
//
// Driven by hand, a Call is a loop over decisions:
//
//	call := executor.Begin(ctx, now)
//	for d := call.Decision(); d.Action != ration.ActStop; {
//		switch d.Action {
//		case ration.ActAttempt:
//			d = call.Next(now, attempt(d.Until), rand.Float64())
//		default: // ActWait, ActPause: come back at d.At
//			d = call.Next(now, ration.Outcome{}, rand.Float64())
//		}
//	}
//
// A call that is given up before it stops must be told so with [Call.Abandon],
// or it keeps what it holds. BeforeAttempt and Admit are left to the driver. A
// Call belongs to one goroutine at a time; any number of calls may run at once.
type Call struct {
	e      *Executor
	s      *settings
	ctx    context.Context
	budget *Budget // nil = none

	begun    instant
	decided  instant // when the present decision was made
	deadline instant
	started  instant // the present attempt
	until    instant // its bound
	due      instant // the end of a wait or pause

	admission admission
	attempt   int // attempts made or under way
	stripe    uint32
	phase     phase
	action    Action
	reason    StopReason
	verdict   Verdict // on the last attempt

	retries         bool // more than one attempt is allowed
	hooks           bool // the driver runs BeforeAttempt
	prepared        bool // and has done so for the coming attempt
	admitted        bool // the breaker let the coming or present attempt through
	owed            bool // a token is withdrawn for a retry that has not started
	boundByDeadline bool // until is the call's deadline
	unknown         bool // no rule matched the last failure
	untimed         bool // the attempt was not held to its bound

	delay   time.Duration   // decided before the present attempt
	bounded *attemptContext // of the attempt that run has under way; nil = the caller's own

	last   error      // the last failure
	result error      // what the call returns
	log    *[]Attempt // nil = none is kept

	observers *[]*observer // process-wide; nil = none
}

// Begin starts a call at the given time: it resolves the deadline, reports a
// nested retry, and asks the breaker for the first attempt. Read the decision
// with [Call.Decision].
func (e *Executor) Begin(ctx context.Context, now time.Time) Call {
	var c Call
	c.decided = instantOf(now)
	c.begin(ctx, e, c.decided)
	return c
}

// Classify returns the policy's verdict on what an attempt returned, for
// outcomes that are built by hand.
func (e *Executor) Classify(value any, err error) Verdict {
	v, _ := verdictOn(e.root.settings.Load(), value, err)
	return v
}

// Decision returns the decision that now stands.
func (c *Call) Decision() Decision { return c.decision(c.decided) }

// Next tells the call what happened since its last decision and returns the
// next one. After ActAttempt, o is the outcome of that attempt; otherwise it is
// ignored. u, in [0, 1), is the random number that a jitter may need; anything
// outside [0, 1] reads as 1, which spreads nothing. Waiting is up to the driver:
// told early, the call goes on early. After ActStop it changes nothing.
func (c *Call) Next(now time.Time, o Outcome, u float64) Decision {
	if !(u >= 0 && u <= 1) { // NaN included
		u = 1
	}
	c.decided = instantOf(now)
	c.advance(c.decided, &o, u)
	return c.Decision()
}

// Abandon ends a call that will not be driven to its end: it gives back the
// probe and the token that the call may hold, and reports [EventAbandoned]. After
// ActStop it changes nothing.
func (c *Call) Abandon(now time.Time) { c.abandon(instantOf(now)) }

func (c *Call) decision(now instant) Decision {
	d := Decision{Action: c.action, Attempt: c.attempt}
	switch c.action {
	case ActAttempt:
		if c.until != never {
			d.Until = c.until.time()
		}
	case ActWait:
		d.Attempt++
		d.At, d.Delay = c.due.time(), c.due.since(now)
	case ActPause:
		d.At, d.Delay, d.Reason = c.due.time(), c.due.since(now), c.reason
	case ActStop:
		d.Reason, d.Err = c.reason, c.result
	}
	return d
}

func (c *Call) begin(ctx context.Context, e *Executor, now instant) {
	c.e, c.ctx = e, ctx
	c.s = e.root.settings.Load()
	c.budget = e.budget(c.s)
	c.retries = c.s.retries && !e.single
	c.begun = now
	c.deadline = now.add(c.s.Deadline)
	if d, ok := ctx.Deadline(); ok {
		c.deadline = min(c.deadline, instantOf(d))
	}
	if e.keyed {
		e.root.keys.touch(&e.state.used, now)
	}
	if e.root.listed {
		c.observers = observers.list.Load()
	}
	if c.heard() && c.retries && IsNestedRetry(ctx) {
		c.emit(now, Event{Kind: EventNestedRetry})
	}
	c.start(now)
}

// advance moves the call on. It is the whole of what a call decides. o comes by
// reference: to copy what was just written in pieces would stall the processor.
func (c *Call) advance(now instant, o *Outcome, u float64) {
	switch c.phase {
	case phaseDue:
		c.start(now)
	case phasePrepare:
		c.afterHook(now, o.Err)
	case phaseAttempt:
		c.judge(now, o, u)
	case phasePause:
		c.finish(now)
	}
}

// start decides whether the attempt that is due may go out. Cancellation and the
// deadline come before the breaker, so that no probe is taken in vain.
func (c *Call) start(now instant) {
	if reason, ended := c.ended(); ended {
		c.stop(now, reason)
		return
	}
	if now >= c.deadline {
		c.stop(now, StopDeadlineExceeded)
		return
	}
	if !c.admit(now) {
		return
	}
	if c.hooks && !c.prepared && c.s.BeforeAttempt != nil {
		c.phase, c.action = phasePrepare, actPrepare
		return
	}
	c.attempt++
	c.prepared = false
	c.owed = false // the retry that the token paid for starts now
	c.started = now
	c.setBound(now)
	c.phase, c.action = phaseAttempt, ActAttempt
}

// afterHook goes on once BeforeAttempt has run. Its error is returned as it is,
// unless it only tells that the caller has gone.
func (c *Call) afterHook(now instant, err error) {
	if err == nil {
		c.prepared = true
		// A hook can outlast a probe's lease or the breaker's state: what it was
		// admitted to is then over, and the breaker is asked anew.
		c.admitted = c.admitted && c.e.state.breaker.renew(now, c.admission)
		c.start(now)
		return
	}
	c.verdict, c.last = Verdict{Kind: VerdictPermanent}, err
	reason, ended := c.ended()
	if !ended {
		reason = StopPermanent
	}
	c.stop(now, reason)
}

// admit asks the breaker, once for each attempt.
func (c *Call) admit(now instant) bool {
	if c.s.breaker == nil || c.admitted {
		return true
	}
	a, ok, t := c.e.state.breaker.admit(now, c.s.breaker, c.s.lease)
	c.admission, c.admitted = a, ok
	c.report(now, t)
	if !ok {
		c.refuse(now, StopUnavailable)
	}
	return ok
}

// setBound computes when the attempt must have ended: by the attempt timeout,
// the measured ceiling or the deadline, whichever is first.
func (c *Call) setBound(now instant) {
	c.until = now.add(c.s.AttemptTimeout)
	if c.s.ceiling != nil {
		d, warm := c.e.state.estimates().attemptCeiling(now, c.s.ceiling)
		if warm && now.add(d) < c.until {
			c.until = now.add(d)
			c.adapted(now, EventCeilingAdapted, d)
		}
	}
	c.boundByDeadline = c.deadline <= c.until && c.deadline != never
	c.until = min(c.until, c.deadline)
}

// judge records the outcome of an attempt and decides what follows.
func (c *Call) judge(now instant, o *Outcome, u float64) {
	c.verdict, c.last, c.unknown, c.untimed = o.Verdict, o.Err, o.unknown, o.Untimed
	if o.ok() {
		c.succeed(now)
		return
	}
	c.normalize(o)
	reason, ended := c.ended()
	if !ended && c.deadlineMet(now, o.TimedOut) {
		reason, ended = StopDeadlineExceeded, true
	}
	c.record(now)
	evidence := c.verdict.Kind == VerdictTransient && !ended
	c.inform(now, evidence, o.TimedOut, u)
	if ended {
		c.stop(now, reason)
		return
	}
	c.follow(now, o.Unrepeatable, u)
}

// normalize settles what a failure counts as: a timeout is transient whatever
// was said of it; an error that was called OK, or what no verdict is called, is
// permanent; and only what asks to slow down can be this process's own refusal.
func (c *Call) normalize(o *Outcome) {
	if o.TimedOut {
		if c.verdict.Kind != VerdictTransient { // else a hint may stay
			c.verdict = Verdict{Kind: VerdictTransient}
		}
		c.unknown = false
		if !c.boundByDeadline {
			c.last = withAttemptTimeout(c.last)
		}
	}
	switch c.verdict.Kind {
	case VerdictThrottled:
	case VerdictTransient:
		c.verdict.SelfImposed = false
	default:
		c.verdict.Kind, c.verdict.SelfImposed = VerdictPermanent, false
	}
}

// deadlineMet reports whether the call's deadline is what failed the attempt. The
// clock is asked beside the timer: a socket that was given the deadline fails at
// the same moment, and often first.
func (c *Call) deadlineMet(now instant, timedOut bool) bool {
	return c.boundByDeadline && !c.untimed &&
		(timedOut || c.verdict.Kind == VerdictTransient && now >= c.deadline)
}

// follow decides what comes after a failed attempt. The breaker is asked before
// the budget: this very failure may have opened it.
func (c *Call) follow(now instant, unrepeatable bool, u float64) {
	switch {
	case c.verdict.Kind == VerdictPermanent || unrepeatable:
		c.stop(now, StopPermanent)
	case !c.retries || c.attempt >= c.s.Attempts:
		c.stop(now, StopAttemptsExhausted)
	case now >= c.deadline:
		c.stop(now, StopDeadlineExceeded)
	case c.s.breaker != nil && c.e.state.breaker.refuses(now):
		c.refuse(now, StopUnavailable)
	default:
		c.retry(now, u)
	}
}

// succeed records a success. It is the hot path: with a full bucket and a closed
// breaker it writes nothing that another core reads. That the caller may have
// cancelled meanwhile is not asked: finished work is never thrown away.
func (c *Call) succeed(now instant) {
	if !c.untimed && (c.s.ceiling != nil || c.s.Backoff.Measured != nil) {
		c.e.state.estimates().record(now, c.stripe, now.since(c.started))
	}
	c.record(now)
	if c.s.breaker != nil {
		t := c.e.state.breaker.succeeded(now, c.s.breaker, c.admission, c.stripe)
		c.admitted = false
		c.report(now, t)
	}
	if c.budget != nil {
		c.budget.deposit(now)
	}
	c.stop(now, StopSucceeded)
}

// inform tells the breaker of a failed attempt: as a failure if it is evidence,
// and otherwise only that the attempt is over, which frees its probe.
func (c *Call) inform(now instant, evidence, timedOut bool, u float64) {
	if c.s.breaker == nil {
		return
	}
	c.admitted = false
	if !evidence {
		c.e.state.breaker.returned(now, c.admission)
		return
	}
	c.report(now, c.e.state.breaker.failed(now, c.s.breaker, c.admission, timedOut, u))
}

// retry decides on a retry that nothing else forbids. The budget comes last: a
// token is withdrawn only for a retry that there is time for.
func (c *Call) retry(now instant, u float64) {
	delay := c.backoff(now, u)
	if c.deadline != never && delay >= c.deadline.since(now) {
		c.stop(now, StopDeadlineExceeded)
		return
	}
	if c.budget != nil && !c.verdict.SelfImposed {
		if !c.budget.withdraw(now, CriticalityOf(c.ctx)) {
			c.refuse(now, StopBudgetExhausted)
			return
		}
		c.owed = true
	}
	c.delay = delay
	c.due = now.add(delay)
	c.phase, c.action = phaseDue, ActWait
	c.emit(now, Event{
		Kind:    EventRetrying,
		Attempt: c.attempt + 1,
		Verdict: c.verdict,
		Delay:   delay,
		Err:     c.last,
	})
}
