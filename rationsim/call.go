package rationsim

import (
	"context"
	"errors"
	"time"

	"github.com/ration-go/ration"
)

// An edge is the live side of an [Edge] or an [Entry]: who calls whom.
type edge struct {
	index    int // of all edges, those of the entries first
	entry    *entry
	server   *server // that is called
	clients  []client
	times    int
	retries  bool // its attempts are marked as such that may be retried
	obey     bool
	optional bool
	tally    edgeTally
}

// A client is one replica of a caller, on one edge.
type client struct {
	executor *ration.Executor
	limiter  Limiter // nil = none
}

// A call is one simulated call.
type call struct {
	ration.Call
	edge    *edge
	client  *client
	parent  *request // nil at an entry
	slot    int      // among the children of parent
	request *request // the attempt under way
	key     uint64   // what its random numbers depend on
	draws   uint64   // random numbers its decisions have had
	began   time.Duration
	level   int // index of levels
	user    int // of a closed loop
	held    Held

	tag  uint32 // generation
	next *call
}

// context returns the context that c was begun with.
func (c *call) context() context.Context {
	if c.parent != nil {
		return c.parent.context()
	}
	return values[c.level][0]
}

func (e *engine) newCall() *call {
	c := e.calls
	if c == nil {
		return new(call)
	}
	e.calls = c.next
	c.next = nil
	return c
}

// freeCall makes c available. Events that still mean it are void, by its tag.
func (e *engine) freeCall(c *call) {
	*c = call{tag: c.tag + 1, next: e.calls}
	e.calls = c
}

// begin begins a call that a replica makes for a request.
func (e *engine) begin(d *edge, replica int, r *request, key uint64) {
	c := e.newCall()
	c.parent, c.level = r, r.criticality
	c.slot = len(r.children)
	r.children = append(r.children, c)
	e.start(c, d, replica, key)
}

func (e *engine) start(c *call, d *edge, replica int, key uint64) {
	c.edge, c.client, c.key, c.began = d, &d.clients[replica], key, e.now
	d.tally.offered(e.second)
	if l := c.client.limiter; l != nil {
		l.Begin(e.now, &c.held)
	}
	c.Call = c.client.executor.Begin(c.context(), epoch.Add(e.now))
	e.obey(c, c.Decision())
}

// next tells a call what became of its attempt and obeys what it decides.
func (e *engine) next(c *call, o ration.Outcome) {
	end := AttemptEnd{Verdict: o.Verdict.Kind, TimedOut: o.TimedOut}
	if o.TimedOut {
		c.edge.tally.timedOut++
	} else if end.Verdict == ration.VerdictThrottled {
		c.edge.tally.throttled++
	}
	l := c.client.limiter
	if l != nil {
		l.Done(e.now, &c.held, end)
	}
	d := e.decide(c, o)
	if l != nil && d.Action == ration.ActWait && !l.Retry(e.now, &c.held, end) {
		e.refuse(c)
		return
	}
	e.obey(c, d)
}

// goOn tells a call that its wait or pause is over.
func (e *engine) goOn(c *call) {
	d := e.decide(c, ration.Outcome{})
	l := c.client.limiter
	if l != nil && d.Action == ration.ActAttempt && !l.Resume(e.now, &c.held) {
		e.refuse(c)
		return
	}
	e.obey(c, d)
}

func (e *engine) decide(c *call, o ration.Outcome) ration.Decision {
	u := e.decisions.at(c.key, c.draws)
	c.draws++
	return c.Next(epoch.Add(e.now), o, u)
}

// refuse ends a call because its limiter does not let it go on.
func (e *engine) refuse(c *call) {
	c.Abandon(epoch.Add(e.now))
	e.end(c, ration.StopBudgetExhausted)
}

func (e *engine) obey(c *call, d ration.Decision) {
	switch d.Action {
	case ration.ActAttempt:
		e.attempt(c, d)
	case ration.ActWait, ration.ActPause:
		e.schedule(d.Delay, event{kind: due, call: c, tag: c.tag})
	case ration.ActStop:
		e.end(c, d.Reason)
	}
}

// attempt sends one attempt to the service.
func (e *engine) attempt(c *call, d ration.Decision) {
	c.edge.tally.attempted(e.second)
	r := e.newRequest()
	r.server = c.edge.server
	r.replica = r.server.pick(c.key, d.Attempt)
	r.call, r.key, r.number = c, c.key, d.Attempt
	r.nested, r.criticality = c.edge.retries, c.level
	r.until = never
	if !d.Until.IsZero() {
		r.until = d.Until.Sub(epoch)
	}
	c.request = r
	e.receive(r)
	// An attempt whose end is known to be in time needs no timer.
	ends := r.failed || len(r.server.edges) == 0
	inTime := r.phase == working && ends && r.finish <= r.until
	if r.until != never && r.phase != turnedAway && !inTime {
		e.schedule(r.until-e.now, event{kind: timedOut, request: r, tag: r.tag})
	}
}

// timeOut gives an attempt up. Work that ends at that very moment counts.
func (e *engine) timeOut(r *request) {
	ends := r.failed || len(r.server.edges) == 0
	if r.call == nil || r.phase == working && ends && r.finish == e.now {
		return
	}
	c := r.call
	c.request = nil
	e.leave(r)
	e.next(c, outcomes[endTimedOut])
}

// end ends a call and tells whoever made it.
func (e *engine) end(c *call, why ration.StopReason) {
	ok := why == ration.StopSucceeded
	if c.client.limiter != nil {
		c.client.limiter.End(e.now, &c.held, ok)
	}
	d, r, user := c.edge, c.parent, c.user
	d.tally.ended(e.second, e.now-c.began, why)
	if r == nil {
		d.entry.tally.ended(c.began, c.level, ok)
	} else {
		r.disown(c)
	}
	e.freeCall(c)
	switch {
	case r != nil:
		e.called(r, d, ok)
	case d.entry.load.Users > 0:
		e.think(d.entry, user)
	}
}

// abandon ends a call since its request is cancelled.
func (e *engine) abandon(c *call) {
	c.Abandon(epoch.Add(e.now))
	if c.client.limiter != nil {
		c.client.limiter.End(e.now, &c.held, false)
	}
	c.edge.tally.canceled(e.second)
	c.parent.disown(c)
	if c.request != nil {
		e.leave(c.request)
	}
	e.freeCall(c)
}

// disown takes a call that has ended off the list.
func (r *request) disown(c *call) {
	last := len(r.children) - 1
	r.children[c.slot] = r.children[last]
	r.children[c.slot].slot = c.slot
	r.children[last] = nil
	r.children = r.children[:last]
}

// An end is how a request or an attempt ended.
type end uint8

// The ends. All but the last are those of a [ServiceReport].
const (
	endSucceeded end = iota
	endFailed
	endDown
	endThrottled
	endShed
	endExpired
	endCanceled
	ends

	endTimedOut = ends // only the caller knows
)

var (
	errFailed    = errors.New("rationsim: the attempt failed")
	errThrottled = errors.New("rationsim: the attempt was throttled")
)

// outcomes are what a caller makes of each end.
var outcomes = func() (o [ends + 1]ration.Outcome) {
	failed := ration.Outcome{
		Verdict: ration.Verdict{Kind: ration.VerdictTransient},
		Err:     errFailed,
	}
	o[endFailed], o[endDown], o[endShed] = failed, failed, failed
	o[endThrottled] = ration.Outcome{
		Verdict: ration.Verdict{Kind: ration.VerdictThrottled},
		Err:     errThrottled,
	}
	o[endTimedOut] = ration.Outcome{
		Verdict:  ration.Verdict{Kind: ration.VerdictTransient},
		Err:      context.DeadlineExceeded,
		TimedOut: true,
	}
	return o
}()
