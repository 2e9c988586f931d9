package ration

import (
	"fmt"
	"strings"
	"time"
)

// Explain describes, for a person, what the policy of e will do: each attempt
// of the worst case with its times, what binds first, how far retries can
// amplify traffic, and where the protection ends. It has no side effects.
func (e *Executor) Explain() string { return e.explain(clock()) }

func (e *Executor) explain(now instant) string {
	x := &explainer{e: e, s: e.root.settings.Load(), now: now}
	x.attempts = x.s.Attempts
	if e.single {
		x.attempts = 1
	}
	x.policy()
	x.timeline()
	x.amplification()
	x.limits()
	return x.String()
}

type explainer struct {
	strings.Builder
	e        *Executor
	s        *settings
	now      instant
	attempts int
}

func (x *explainer) line(label, format string, args ...any) {
	fmt.Fprintf(x, "  %-16s %s\n", label, fmt.Sprintf(format, args...))
}

func (x *explainer) policy() {
	name := x.s.Name
	if name == "" {
		name = "(unnamed)"
	}
	if x.e.key != "" {
		name += ", key " + x.e.key
	}
	fmt.Fprintf(x, "policy %s\n", name)
	x.line("attempts", "%d in all", x.attempts)
	x.line("deadline", "%s for the whole call", bound(x.s.Deadline))
	x.line("attempt timeout", "%s", bound(x.s.AttemptTimeout))
	if c := x.s.ceiling; c != nil {
		x.line("  tightened to", "%g x p%g of recent successes, at least %v (%s)",
			c.Multiple, c.Quantile*100, c.Floor, x.ceiling(c))
	}
	x.line("backoff", "%s", x.backoff())
	x.line("budget", "%s", x.budget())
	x.line("breaker", "%s", x.breaker())
}

func bound(d time.Duration) string {
	if d == NoLimit {
		return "none"
	}
	return d.String()
}

func (x *explainer) ceiling(c *Ceiling) string {
	if d, warm := x.measuredCeiling(c); warm {
		return "now " + d.String()
	}
	return fmt.Sprintf("cold: it needs %d in five minutes", c.MinimumSamples)
}

// measuredCeiling and median make no estimator where there is none yet: a page
// that explains a thousand keys must not add 4 KB to each.
func (x *explainer) measuredCeiling(c *Ceiling) (time.Duration, bool) {
	d, state := x.e.measured(func(m *estimator) (time.Duration, bool) {
		return m.attemptCeiling(x.now, c)
	})
	return d, state == EstimateWarm
}

func (x *explainer) median(base *MeasuredBase) (time.Duration, bool) {
	d, state := x.e.measured(func(m *estimator) (time.Duration, bool) {
		return m.median(x.now, base)
	})
	return d, state == EstimateWarm
}

func (x *explainer) backoff() string {
	b := &x.s.Backoff
	switch {
	case b.none:
		return "none; hints of the dependency up to " + bound(b.Max)
	case b.Custom != nil:
		return "custom; hints of the dependency up to " + bound(b.Max)
	}
	jitter := [...]string{FullJitter: "full", EqualJitter: "equal", NoJitter: "no"}[b.Jitter]
	text := fmt.Sprintf("from %v (throttled: %v), factor %g, at most %s, %s jitter",
		b.Transient, b.Throttled, b.Factor, bound(b.Max), jitter)
	if b.Measured == nil {
		return text
	}
	if median, warm := x.median(b.Measured); warm {
		return text + fmt.Sprintf("; measured base now %v", b.measuredBase(median))
	}
	return text + "; measured base cold"
}

func (x *explainer) budget() string {
	b := x.e.budget(x.s)
	switch {
	case b == nil && !x.s.retries:
		return "none: nothing is retried"
	case b == nil:
		return "off"
	}
	name := ""
	if b.Name() != "" {
		name = fmt.Sprintf(", shared as %q", b.Name())
	}
	return fmt.Sprintf("%g per success, %g per second, at most %g%s; %.0f%% spent",
		b.Fraction(), b.MinimumPerSecond(), b.Capacity(), name, 100*b.utilization(x.now))
}

func (x *explainer) breaker() string {
	if x.s.breaker == nil {
		return "none"
	}
	s := x.e.state.breaker.status(x.now)
	var trips []string
	if n := x.s.breaker.ConsecutiveFailures; n > 0 {
		trips = append(trips, fmt.Sprintf("%d failures in a row", n))
	}
	if r := x.s.breaker.FailureRatio; r > 0 {
		trips = append(trips, fmt.Sprintf("%g%% of at least %d calls in %v",
			100*r, x.s.breaker.MinimumCalls, x.s.breaker.Window))
	}
	return fmt.Sprintf("%v; opens for %v after %s",
		s.State, x.s.breaker.Break, strings.Join(trips, " or "))
}

// timeline walks the worst case: every attempt hangs until its bound, and every
// wait is as long as its jitter allows.
func (x *explainer) timeline() {
	x.WriteString("worst case: each attempt hangs, each wait is as long as it can be\n")
	var at time.Duration
	var binds string
	for n := 1; n <= min(x.attempts, maxTimeline) && binds == ""; n++ {
		if n > 1 {
			if at, binds = x.waitFrom(at, n); binds != "" {
				break
			}
		}
		at, binds = x.attemptFrom(at, n)
	}
	if binds == "" {
		binds = "the attempts"
		if x.attempts > maxTimeline {
			x.line("...", "and so on, up to attempt %d", x.attempts)
		}
	}
	x.line("binds first", "%s", x.first(binds))
}

// waitFrom writes the wait before attempt n, and returns when it is over or what
// ends the call instead.
func (x *explainer) waitFrom(at time.Duration, n int) (end time.Duration, binds string) {
	wait := x.wait(n)
	over := instant(at).add(wait)
	switch deadline := x.s.Deadline; {
	case deadline != NoLimit && time.Duration(over) >= deadline:
		x.line("stop", "at %v: a wait of %v would meet the deadline", at, wait)
		return at, "the deadline"
	case over == never:
		x.line("wait", "%v to beyond all counting", at)
		return at, "the waits"
	case x.s.Backoff.Custom != nil:
		x.line("wait", "as the custom curve says; none is assumed")
	case wait > 0:
		x.line("wait", "%v to %v", at, time.Duration(over))
	}
	return time.Duration(over), ""
}

// attemptFrom does the same for attempt n.
func (x *explainer) attemptFrom(at time.Duration, n int) (end time.Duration, binds string) {
	label := fmt.Sprintf("attempt %d", n)
	end, cut := x.attemptEnd(at)
	switch {
	case end == NoLimit:
		x.line(label, "%v until the function returns", at)
		return at, "nothing: an attempt may hang for ever"
	case cut:
		x.line(label, "%v to %v, cut short by the deadline", at, end)
		return end, "the deadline"
	}
	x.line(label, "%v to %v", at, end)
	return end, ""
}

// maxTimeline is how many attempts are worth a line each.
const maxTimeline = 20

// attemptEnd returns when an attempt begun at the given time is cut off, and
// whether by the deadline; NoLimit when by nothing.
func (x *explainer) attemptEnd(at time.Duration) (end time.Duration, cut bool) {
	timeout := x.s.AttemptTimeout
	if c := x.s.ceiling; c != nil {
		if d, warm := x.measuredCeiling(c); warm {
			if timeout == NoLimit || d < timeout {
				timeout = d
			}
		}
	}
	deadline := x.s.Deadline
	switch {
	case timeout == NoLimit && deadline == NoLimit:
		return NoLimit, false
	case timeout == NoLimit || deadline != NoLimit && at+timeout >= deadline:
		return deadline, true
	}
	return time.Duration(instant(at).add(timeout)), false
}

// wait returns the longest wait before attempt n. A custom curve is not asked:
// it is the user's code.
func (x *explainer) wait(n int) time.Duration {
	b := x.s.Backoff
	if b.Custom != nil {
		return 0
	}
	var base time.Duration
	if b.Measured != nil {
		if median, warm := x.median(b.Measured); warm {
			base = b.measuredBase(median)
		}
	}
	b.Jitter = NoJitter
	return b.delay(n, Verdict{Kind: VerdictTransient}, base, 0)
}

// first names what ends calls at present: a breaker that is open or a budget
// that is spent outranks the arithmetic.
func (x *explainer) first(arithmetic string) string {
	if x.s.breaker != nil && x.e.state.breaker.status(x.now).State == BreakerOpen {
		return "the breaker, which is open"
	}
	if b := x.e.budget(x.s); b != nil {
		if wait, ok := b.retryAfter(x.now, Critical); wait > 0 || !ok {
			return "the budget, which is spent"
		}
	}
	return arithmetic
}

func (x *explainer) amplification() {
	x.WriteString("amplification\n")
	if x.attempts == 1 {
		x.line("one call", "one attempt")
		return
	}
	x.line("one call", "at most %d attempts", x.attempts)
	b := x.e.budget(x.s)
	if b == nil {
		x.line("all calls", "up to %d times the traffic: no budget bounds it", x.attempts)
		return
	}
	x.line("all calls", "in any t seconds, retries <= %g + %g x t + %g x successes",
		b.Capacity(), b.MinimumPerSecond(), b.Fraction())
	x.line("through a chain", "about 1 + depth x %g at the bottom, if every layer retries",
		b.Fraction())
}

func (x *explainer) limits() {
	b := x.e.budget(x.s)
	if b == nil || x.attempts == 1 {
		return
	}
	x.WriteString("limits\n")
	if floor := b.MinimumPerSecond(); floor > 0 {
		x.line("little traffic", "below about %.3g calls a second the budget never binds; "+
			"only attempts protects", floor/float64(x.attempts-1))
		x.line("many processes", "the floor is per process: n of them may send n x %g retries "+
			"a second", floor)
	}
	x.line("long failures", "while far more than %g%% of attempts fail, callers see those failures",
		100*b.Fraction())
}
