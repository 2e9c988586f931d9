package rationsim

import (
	"context"
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

// tail is how long after the last arrival the timelines go on at most. A call
// without a deadline may end years later, and each of those seconds would take
// memory.
const tail = time.Hour

// An engine runs one simulation. It is a queue of events and no goroutines: a
// call that waits is an entry in the queue.
type engine struct {
	now       time.Duration
	second    int // of the timelines
	last      int // the last that there may be
	events    events
	scheduled uint64 // events
	topology  Topology
	entries   []*entry
	servers   []*server
	edges     []*edge // those of the entries first
	decisions stream

	calls    *call // free
	requests *request
}

// An entry is the live side of an [Entry].
type entry struct {
	edge     *edge
	index    int
	load     Load
	arrivals *arrivals
	spread   stream // over the clients
	levels   stream
	thoughts stream
	arrived  uint64
	users    []uint64 // how often each has thought
	tally    entryTally
}

func newEngine(t Topology, seed uint64) (*engine, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	e := &engine{
		topology:  t,
		last:      int((t.Duration + tail) / time.Second),
		decisions: newStream(seed, purposeDecision),
	}
	servers := make(map[string]*server, len(t.Services))
	for i, s := range t.Services {
		x := newServer(s, i, seed)
		e.servers = append(e.servers, x)
		servers[s.Name] = x
	}
	for i, n := range t.Entries {
		if err := e.enter(n, i, servers[n.To], seed); err != nil {
			return nil, err
		}
	}
	for _, s := range e.servers {
		for _, d := range s.Calls {
			x := &edge{server: servers[d.To], times: max(d.Times, 1), optional: d.Optional}
			if err := e.join(x, d.caller(), len(s.replicas)); err != nil {
				return nil, err
			}
			s.edges = append(s.edges, x)
		}
	}
	return e, nil
}

// enter adds an entry.
func (e *engine) enter(n Entry, i int, to *server, seed uint64) error {
	x := &entry{
		index:    i,
		load:     n.Load,
		spread:   newStream(seed, purposeClient).of(i),
		levels:   newStream(seed, purposeLevel).of(i),
		thoughts: newStream(seed, purposeThought).of(i),
		users:    make([]uint64, n.Load.Users),
	}
	x.arrivals = newArrivals(n.Load, e.topology.Duration,
		newStream(seed, purposeArrival).of(i), newStream(seed, purposeBurst).of(i))
	x.edge = &edge{server: to, entry: x, times: 1}
	x.tally.init(e.topology)
	e.entries = append(e.entries, x)
	return e.join(x.edge, n.caller(), max(n.Clients, 1))
}

// A caller is what entries and edges have in common.
type caller struct {
	policy  ration.Policy
	limiter func() Limiter
	obey    bool
}

func (n Entry) caller() caller { return caller{n.Policy, n.Limiter, n.ObeyGiveUp} }
func (d Edge) caller() caller  { return caller{d.Policy, d.Limiter, d.ObeyGiveUp} }

// join adds an edge with an executor for each replica of the caller.
func (e *engine) join(d *edge, c caller, replicas int) error {
	d.index = len(e.edges)
	d.obey = c.obey
	d.clients = make([]client, replicas)
	p := d.listen(c.policy)
	for i := range d.clients {
		x, err := ration.New(p)
		if err != nil {
			return err
		}
		d.clients[i].executor = x
		if c.limiter != nil {
			d.clients[i].limiter = c.limiter()
		}
		d.retries = x.Policy().Attempts > 1
	}
	e.edges = append(e.edges, d)
	return nil
}

// listen returns p with buckets of its own and a listener that counts.
func (d *edge) listen(p ration.Policy) ration.Policy {
	p.Unlisted = true
	if b := p.Budget; b != nil && b != ration.NoBudget {
		template, err := ration.PrivateBudget(b.Fraction(), b.MinimumPerSecond())
		if err == nil { // else ration.New says what is wrong with it
			p.Budget = template
		}
	}
	if d.entry != nil && (p.Breaker == nil || p.Breaker == ration.NoBreaker) {
		return p // there is nothing to count: nobody nests at an entry
	}
	p.OnEvent = ration.Listeners(func(ev ration.Event) {
		switch ev.Kind {
		case ration.EventBreakerOpened:
			d.tally.breakerOpens++
		case ration.EventNestedRetry:
			d.tally.nested++
		}
	}, p.OnEvent)
	return p
}

// run runs until nothing is left to happen. Every call ends: an attempt does,
// and the policy allows a finite number of them.
func (e *engine) run(ctx context.Context) error {
	for _, n := range e.entries {
		if n.load.Users > 0 {
			for user := range n.users {
				e.think(n, user)
			}
			continue
		}
		e.expect(n)
	}
	const between = 1 << 14 // events, some milliseconds
	for step := 0; len(e.events) > 0; step++ {
		if step%between == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		e.step()
	}
	e.turn(e.second + 1)
	return nil
}

// step lets one event happen.
func (e *engine) step() {
	next := e.events.pop()
	e.now = next.at
	if second := int(min(e.now/time.Second, time.Duration(e.last))); second > e.second {
		e.turn(second)
		e.second = second
	}
	e.handle(&next)
}

func (e *engine) schedule(after time.Duration, ev event) {
	ev.at = e.now + after
	if ev.at < e.now {
		ev.at = never // time goes no further
	}
	e.scheduled++
	ev.order = e.scheduled
	e.events.push(ev)
}

func (e *engine) handle(ev *event) {
	switch ev.kind {
	case arrival:
		e.arrive(e.entries[ev.tag])
	case thought:
		n := e.entries[ev.tag]
		key := mix(uint64(ev.user)) + n.users[ev.user]
		e.enterCall(n, key, int(ev.user), int(ev.user)%len(n.edge.clients))
	case due:
		if ev.call.tag == ev.tag {
			e.goOn(ev.call)
		}
	case finished:
		if ev.request.tag == ev.tag {
			e.worked(ev.request)
		}
	case timedOut:
		if ev.request.tag == ev.tag {
			e.timeOut(ev.request)
		}
	}
}

// expect schedules the next arrival, if one is in time.
func (e *engine) expect(n *entry) {
	at := n.arrivals.next(n.arrived, e.now)
	if at < e.topology.Duration {
		e.schedule(at-e.now, event{kind: arrival, tag: uint32(n.index)})
	}
}

// arrive begins one call and schedules the next.
func (e *engine) arrive(n *entry) {
	id := n.arrived
	n.arrived++
	e.expect(n)
	client := 0
	if k := len(n.edge.clients); k > 1 {
		client = int(n.spread.at(id, 0) * float64(k))
	}
	e.enterCall(n, id, 0, client)
}

// enterCall begins a call from outside.
func (e *engine) enterCall(n *entry, key uint64, user, client int) {
	c := e.newCall()
	c.user = user
	c.level = n.level(key)
	if n.index > 0 {
		key = mix(key ^ mix(uint64(n.index)))
	}
	e.start(c, n.edge, client, key)
}

// level draws how critical a call is.
func (n *entry) level(key uint64) int {
	if n.load.Sheddable == 0 && n.load.CriticalPlus == 0 {
		return critical
	}
	switch u := n.levels.at(key, 0); {
	case u < n.load.Sheddable:
		return sheddable
	case u >= 1-n.load.CriticalPlus:
		return criticalPlus
	}
	return critical
}

// think has a user think, and call after that if there is time.
func (e *engine) think(n *entry, user int) {
	u := n.thoughts.at(uint64(user), n.users[user])
	n.users[user]++
	mean := float64(n.load.Think)
	took := time.Duration(math.Round(min(-log(1-u)*mean, farthest)))
	if took < e.topology.Duration-e.now {
		e.schedule(took, event{kind: thought, tag: uint32(n.index), user: uint32(user)})
	}
}
