package traffic

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// mostServices and mostEntries bound what is told apart: names come from anybody.
const (
	mostServices = 200
	mostEntries  = 20
)

// inferred is the topology that spans come to.
type inferred struct {
	services map[string]*inferredService
	entries  map[[2]string]*inferredEntry // by the caller, which may be nobody, and the service
	orphans  uint64                       // requests whose caller has a span that is not there
	excess   uint64                       // beyond the bounds
	arrival  func(time.Time)
}

type inferredService struct {
	tally
	edges    map[string]*inferredEdge
	several  uint64 // requests that made several calls
	parallel uint64 // of them
}

type inferredEdge struct {
	calls, retries  uint64
	failed, forgave uint64 // calls, and those of requests that succeeded all the same
}

type inferredEntry struct {
	calls, retries uint64
	timeline       timeline
}

func (x *inferred) service(name string) *inferredService {
	s := x.services[name]
	if s == nil {
		if len(x.services) >= mostServices {
			return nil
		}
		if x.services == nil {
			x.services = make(map[string]*inferredService)
		}
		s = &inferredService{edges: make(map[string]*inferredEdge)}
		x.services[name] = s
	}
	return s
}

// trace adds the spans of one trace.
func (x *inferred) trace(spans []span) {
	t := newTree(spans)
	var roots []int // clients that work for no request
	for i := range spans {
		switch s := &spans[i]; s.kind {
		case spanServer:
			x.request(t, i)
		case spanClient:
			if t.owner[i] < 0 {
				roots = append(roots, i)
			}
			if !t.heard[i] {
				x.leaf(s)
			}
		}
	}
	for _, g := range t.groups(roots) {
		first := &spans[g.attempts[0]]
		x.arrive(first.service, g.to, t, g)
	}
}

// request adds what a server span says of its service.
func (x *inferred) request(t *tree, i int) {
	s := &t.spans[i]
	service := x.service(s.service)
	if service == nil {
		x.excess++
		return
	}
	calls := t.groups(t.calls[i])
	own := s.failed
	for _, g := range calls {
		e := service.edges[g.to]
		if e == nil {
			e = &inferredEdge{}
			service.edges[g.to] = e
		}
		e.calls++
		e.retries += uint64(len(g.attempts) - 1)
		if t.failed(g) {
			e.failed++
			if !s.failed {
				e.forgave++
			}
			own = false // it has failed because of the call
		}
	}
	if len(calls) > 1 {
		service.several++
		if t.parallel(calls) {
			service.parallel++
		}
	}
	service.add("", time.Duration(t.own(i)), true, own, false)
	if s.code != "" {
		service.code(s.code)
	}
	p := t.parent(i)
	if p < 0 {
		if s.parent != "" {
			x.orphans++
		}
		x.arrive("", s.service, t, group{s.service, []int{i}})
	}
}

// leaf adds a call whose other end has recorded nothing.
func (x *inferred) leaf(s *span) {
	service := x.service(s.peer)
	if service == nil {
		x.excess++
		return
	}
	service.add("", time.Duration(s.end-s.start), true, s.failed, false)
	if s.code != "" {
		service.code(s.code)
	}
}

// arrive adds a call from outside.
func (x *inferred) arrive(from, to string, t *tree, g group) {
	key := [2]string{from, to}
	e := x.entries[key]
	if e == nil {
		if len(x.entries) >= mostEntries {
			x.excess++
			return
		}
		if x.entries == nil {
			x.entries = make(map[[2]string]*inferredEntry)
		}
		e = &inferredEntry{}
		x.entries[key] = e
	}
	first, last := &t.spans[g.attempts[0]], &t.spans[g.attempts[len(g.attempts)-1]]
	e.calls++
	e.retries += uint64(len(g.attempts) - 1)
	at := time.Unix(0, first.start)
	e.timeline.add(at, time.Duration(last.end-first.start), true, last.failed)
	if x.arrival != nil {
		x.arrival(at)
	}
}

// finishSpans sums up spans.
func (c *collector) finishSpans() (*Summary, error) {
	c.traces.flushAll(&c.inferred)
	if err := c.usable(); err != nil {
		return nil, err
	}
	x := &c.inferred
	if len(x.entries) == 0 {
		return nil, fmt.Errorf("none of %d spans is a request or a call", c.summary.Counts.Read)
	}
	c.summary.Input = "spans of OTLP"
	keys := slices.SortedFunc(maps.Keys(x.entries), func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(x.entries[b].calls, x.entries[a].calls),
			cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	for i, key := range keys {
		e := x.entries[key]
		entry := Entry{Name: entryName(key, len(keys), x), To: key[1], Calls: e.calls, Retries: e.retries}
		if err := c.over(&e.timeline, &entry, i == 0); err != nil {
			return nil, err
		}
		c.summary.Entries = append(c.summary.Entries, entry)
	}
	c.order()
	c.assumeOfSpans()
	return &c.summary, nil
}

// entryName names where calls come in, unlike any service.
func entryName(key [2]string, entries int, x *inferred) string {
	name := "clients of " + key[1]
	switch {
	case key[0] != "":
		name = key[0]
		if entries > 1 {
			name += " to " + key[1]
		}
	case entries == 1:
		name = "clients"
	}
	for x.services[name] != nil {
		name += " outside"
	}
	return name
}

// order lists the services from the entries on, callers first, and leaves out calls
// that would close a cycle.
func (c *collector) order() {
	x := &c.inferred
	state := make(map[string]int) // 1 = on the path, 2 = done
	var services []Service
	var visit func(name string)
	visit = func(name string) {
		state[name] = 1
		s := x.services[name]
		out := s.service(name)
		for _, to := range slices.Sorted(maps.Keys(s.edges)) {
			switch {
			case x.services[to] == nil:
				continue
			case state[to] == 1:
				c.assume("cycle", "%s calls %s, which is one of its callers; a simulation has no cycles, "+
					"and leaves %d calls out", name, to, s.edges[to].calls)
				continue
			}
			e := s.edges[to]
			out.Calls = append(out.Calls, Edge{
				To: to, Calls: e.calls, Retries: e.retries,
				PerCall:  float64(e.calls) / float64(s.requests),
				Optional: 2*e.forgave > e.failed,
			})
			if state[to] == 0 {
				visit(to)
			}
		}
		out.Parallel = 2*s.parallel > s.several
		state[name] = 2
		services = append(services, out)
	}
	for i := range c.summary.Entries {
		if to := c.summary.Entries[i].To; state[to] == 0 && x.services[to] != nil {
			visit(to)
		}
	}
	slices.Reverse(services)
	c.summary.Services = services
	c.assumeCalls()
}

// assumeCalls names what edges do not say.
func (c *collector) assumeCalls() {
	for _, s := range c.summary.Services {
		for _, e := range s.Calls {
			times := max(math.Round(e.PerCall), 1)
			if math.Abs(times-e.PerCall) > 0.05 {
				c.assume("fan-out", "%s calls %s %.3g times for each request; a simulation has whole "+
					"numbers, and takes %g", s.Name, e.To, e.PerCall, times)
			}
		}
	}
}

func (c *collector) assumeOfSpans() {
	x := &c.inferred
	c.assume("sampling", "every trace was recorded: with sampling, set the rates that much higher")
	c.assume("latency", "that of a service is its own, without the calls that it makes; that of one "+
		"without spans is what its callers have seen")
	c.assume("retries seen", "of calls to one target under one parent, one that begins after another "+
		"has failed is a retry of it")
	if x.orphans > 0 {
		c.assume("orphans", "%d requests have callers whose spans are not there; they count as calls "+
			"from outside", x.orphans)
	}
	if x.excess > 0 {
		c.assume("excess", "%d spans are of more than %d services or %d entries, and left out",
			x.excess, mostServices, mostEntries)
	}
	for i := range c.summary.Services {
		assumeOfService(c, &c.summary.Services[i])
	}
}
