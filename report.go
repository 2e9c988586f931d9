package ration

import "time"

// heard reports whether anyone listens to the call's events.
func (c *Call) heard() bool { return c.s.OnEvent != nil || c.observers != nil }

// record notes the attempt that has just ended in the log and tells of it. This
// half is small enough to be inlined, and usually there is neither.
func (c *Call) record(now instant) {
	if c.log != nil || c.heard() {
		c.write(now)
	}
}

func (c *Call) write(now instant) {
	duration := now.since(c.started)
	if c.log != nil {
		*c.log = append(*c.log, Attempt{
			Number:   c.attempt,
			Start:    c.started.since(c.begun),
			Duration: duration,
			Delay:    c.delay,
			Verdict:  c.verdict,
			Err:      c.last,
		})
	}
	if !c.heard() {
		return
	}
	ev := Event{Kind: EventAttempt, Verdict: c.verdict, Duration: duration, Err: c.last}
	c.emit(now, ev)
	if c.until != never && !c.untimed && now.since(c.until) >= orphanAge {
		ev.Kind = EventOrphanedWork
		c.emit(now, ev)
	}
}

// orphanAge is how far past its bound an attempt must have run before it is
// reported as work that ignores its context.
const orphanAge = time.Second

// adapted tells of a measured term that differs from what was last told.
func (c *Call) adapted(now instant, kind EventKind, value time.Duration) {
	which := 0
	if kind == EventBackoffBaseAdapted {
		which = 1
	}
	if c.heard() && c.e.state.estimates().changed(which, value) {
		c.emit(now, Event{Kind: kind, Delay: value})
	}
}

// report tells of a change of the breaker's state, if there is one.
func (c *Call) report(now instant, t transition) {
	if t.kind != 0 {
		c.changed(now, t)
	}
}

func (c *Call) changed(now instant, t transition) {
	c.emit(now, Event{Kind: t.kind, Delay: t.delay})
}

// emit fills in what every event carries and delivers it. No lock is held.
func (c *Call) emit(now instant, ev Event) {
	if !c.heard() {
		return
	}
	ev.Policy, ev.Key = c.s.Name, c.e.key
	if ev.Attempt == 0 {
		ev.Attempt = c.attempt
	}
	if ev.Kind != EventAttempt && ev.Kind != EventOrphanedWork {
		ev.Duration = now.since(c.begun)
	}
	if c.s.OnEvent != nil {
		deliver(&c.e.root.listenerFailed, ev, func() { c.s.OnEvent(ev) })
	}
	if c.observers != nil {
		for _, o := range *c.observers {
			deliver(&o.failed, ev, func() { o.notify(c.ctx, c.e, ev) })
		}
	}
}
