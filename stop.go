package ration

import "time"

// rejectionPause is how long a refused call waits before it returns. A caller
// that polls in a loop must not turn a refusal into a spin.
const rejectionPause = 100 * time.Millisecond

// refuse ends the call after a pause. The event tells of both before it.
func (c *Call) refuse(now instant, reason StopReason) {
	pause := min(rejectionPause, c.deadline.since(now))
	c.giveBack(now)
	c.reason = reason
	c.due = now.add(pause)
	c.phase, c.action = phasePause, ActPause
	GiveUpOf(c.ctx).Mark()
	c.emit(now, Event{
		Kind:    stopEvents[reason],
		Verdict: c.verdict,
		Delay:   pause,
		Err:     c.last,
		Reason:  reason,
	})
}

// finish ends a refused call. The hint is computed here, after the pause, so
// that it is not the pause too long.
func (c *Call) finish(now instant) {
	e := c.error()
	if c.reason == StopUnavailable {
		e.retryAfter, e.hinted = c.e.state.breaker.retryAfter(now)
	} else {
		e.retryAfter, e.hinted = c.budget.retryAfter(now, CriticalityOf(c.ctx))
	}
	c.result = e
	c.phase, c.action = phaseDone, ActStop
}

// stop ends the call at once.
func (c *Call) stop(now instant, reason StopReason) {
	c.giveBack(now)
	c.reason = reason
	switch reason {
	case StopSucceeded, StopAbandoned:
	case StopPermanent:
		c.result = c.last
	case StopAttemptsExhausted:
		c.result = c.last
		if c.retries {
			GiveUpOf(c.ctx).Mark()
		}
	default:
		e := c.error()
		if hint := c.verdict.RetryAfter; hint > 0 {
			e.retryAfter, e.hinted = hint, true
		}
		c.result = e
	}
	c.phase, c.action = phaseDone, ActStop
	if !c.heard() {
		return
	}
	ev := Event{Kind: stopEvents[reason], Verdict: c.verdict, Err: c.last, Reason: reason}
	if reason == StopPermanent && c.unknown {
		ev.Unclassified, _ = c.e.root.unclassified.first(c.last)
	}
	c.emit(now, ev)
}

func (c *Call) abandon(now instant) {
	if c.phase == phaseDone {
		return
	}
	if c.phase == phasePause { // its terminal event is out already
		c.finish(now)
		return
	}
	if c.phase == phaseAttempt { // the attempt has told nothing, and an earlier failure was its own
		c.verdict, c.last = Verdict{}, nil
	}
	c.stop(now, StopAbandoned)
}

// giveBack returns what the call holds for an attempt that does not start or has
// not reported: a token, a probe.
func (c *Call) giveBack(now instant) {
	if c.owed {
		c.owed = false
		c.budget.refund(now)
	}
	if c.admitted {
		c.admitted = false
		c.e.state.breaker.returned(now, c.admission)
	}
}
