package rationsim

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/ration-go/ration"
)

// epoch is when every simulation begins. Nothing depends on it but the times
// that a policy's own hooks may print.
var epoch = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// farthest is the longest that anything takes, in nanoseconds: a century and a
// half, as a number that converts to a duration alike on every machine.
const farthest = 1 << 62

var errFailed = errors.New("rationsim: the attempt failed")

// An engine runs one simulation. It is a queue of events and no goroutines: a
// call that waits is an entry in the queue.
type engine struct {
	now        time.Duration
	events     events
	scenario   Scenario
	executor   *ration.Executor
	dependency *dependency
	arrivals   stream
	decisions  stream
	calls      uint64 // arrived
	scheduled  uint64 // events
	tally      tally
}

// A call is one simulated call.
type call struct {
	ration.Call
	id    uint64
	began time.Duration
	draws uint64 // random numbers its decisions have had
}

// An attempt is one attempt at the dependency.
type attempt struct {
	call    *call
	number  int
	finish  time.Duration // of its work, once that has begun
	working bool          // it occupies one of the dependency's servers
	failed  bool
	told    bool // the call has its outcome
}

// Run runs one simulation. The error tells every problem of the scenario or of
// the policy. It is safe for concurrent use: runs share nothing.
func Run(s Scenario, c Config, seed uint64) (*Report, error) {
	e, err := newEngine(s, c.Policy, seed)
	if err != nil {
		return nil, err
	}
	e.run()
	return e.tally.report(c.Name, seed), nil
}

func newEngine(s Scenario, p ration.Policy, seed uint64) (*engine, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	e := &engine{
		scenario:   s,
		dependency: newDependency(s.Dependency, seed),
		arrivals:   newStream(seed, purposeArrival),
		decisions:  newStream(seed, purposeDecision),
	}
	e.tally.init(s)
	var err error
	e.executor, err = ration.New(e.policy(p))
	return e, err
}

// run runs until nothing is left to happen. Every call ends: an attempt does,
// and the policy allows a finite number of them.
func (e *engine) run() {
	e.schedule(e.gap(), event{kind: arrival})
	for len(e.events) > 0 {
		next := e.events.pop()
		e.now = next.at
		e.handle(next)
	}
}

// policy returns p with a bucket of its own and a listener that counts.
func (e *engine) policy(p ration.Policy) ration.Policy {
	if b := p.Budget; b != nil && b != ration.NoBudget {
		fresh, err := ration.NewBudget(b.Fraction(), b.MinimumPerSecond())
		if err == nil { // else ration.New says what is wrong with it
			p.Budget = fresh
		}
	}
	count := func(ev ration.Event) {
		if ev.Kind == ration.EventBreakerOpened {
			e.tally.breakerOpens++
		}
	}
	p.OnEvent = ration.Listeners(count, p.OnEvent)
	return p
}

// gap returns the time to the next arrival.
func (e *engine) gap() time.Duration {
	u := e.arrivals.at(e.calls, 0)
	return time.Duration(min(-log(1-u)/e.scenario.Rate*float64(time.Second), farthest))
}

func (e *engine) schedule(after time.Duration, ev event) {
	ev.at = e.now + after
	if ev.at < e.now {
		ev.at = math.MaxInt64 // time goes no further
	}
	e.scheduled++
	ev.order = e.scheduled
	e.events.push(ev)
}

func (e *engine) handle(ev event) {
	switch ev.kind {
	case arrival:
		e.arrive()
	case due:
		e.next(ev.call, ration.Outcome{})
	case finished:
		e.finish(ev.attempt)
	case timedOut:
		e.timeOut(ev.attempt)
	}
}

// arrive begins one call and schedules the next.
func (e *engine) arrive() {
	if e.now >= e.scenario.Duration {
		return
	}
	c := &call{id: e.calls, began: e.now}
	e.calls++
	e.schedule(e.gap(), event{kind: arrival})
	e.tally.offered(e.now)
	c.Call = e.executor.Begin(context.Background(), epoch.Add(e.now))
	e.obey(c, c.Decision())
}

// next tells a call what happened and obeys what it decides.
func (e *engine) next(c *call, o ration.Outcome) {
	u := e.decisions.at(c.id, c.draws)
	c.draws++
	e.obey(c, c.Next(epoch.Add(e.now), o, u))
}

func (e *engine) obey(c *call, d ration.Decision) {
	switch d.Action {
	case ration.ActAttempt:
		e.attempt(c, d)
	case ration.ActWait, ration.ActPause:
		e.schedule(d.Delay, event{kind: due, call: c})
	case ration.ActStop:
		e.tally.ended(c.began, e.now, d.Reason)
	}
}

// attempt sends one attempt to the dependency.
func (e *engine) attempt(c *call, d ration.Decision) {
	e.tally.attempted(e.now)
	a := &attempt{call: c, number: d.Attempt}
	switch dep := e.dependency; {
	case dep.down(e.now), dep.full():
		a.failed = true
		e.schedule(0, event{kind: finished, attempt: a})
		return
	case dep.Concurrency > 0 && dep.busy >= dep.Concurrency:
		dep.queue.push(a)
	default:
		e.work(a)
	}
	if d.Until.IsZero() {
		return
	}
	// An attempt whose end is known to be in time needs no timer.
	until := d.Until.Sub(epoch)
	if a.finish == 0 || a.finish > until {
		e.schedule(until-e.now, event{kind: timedOut, attempt: a})
	}
}

// work begins the dependency's work on an attempt.
func (e *engine) work(a *attempt) {
	took := e.dependency.service(a.call.id, a.number, e.now)
	a.failed = e.dependency.fails(a.call.id, a.number)
	a.finish = e.now + took
	a.working = true
	e.dependency.busy++
	e.schedule(took, event{kind: finished, attempt: a})
}

// finish ends the work on an attempt, and begins that on the next in the queue.
func (e *engine) finish(a *attempt) {
	if a.working {
		e.dependency.busy--
		if e.dependency.queue.len() > 0 {
			e.work(e.dependency.queue.pop())
		}
	}
	if a.told {
		return
	}
	a.told = true
	if !a.failed {
		e.next(a.call, ration.Outcome{})
		return
	}
	e.next(a.call, ration.Outcome{
		Verdict: ration.Verdict{Kind: ration.VerdictTransient},
		Err:     errFailed,
	})
}

// timeOut gives an attempt up. Work that ends at that very moment counts.
func (e *engine) timeOut(a *attempt) {
	if a.told || a.finish == e.now {
		return
	}
	a.told = true
	e.next(a.call, ration.Outcome{
		Verdict:  ration.Verdict{Kind: ration.VerdictTransient},
		Err:      context.DeadlineExceeded,
		TimedOut: true,
	})
}
