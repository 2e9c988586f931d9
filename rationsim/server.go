package rationsim

import (
	"math"
	"time"

	"github.com/ration-go/ration"
)

// A server is the live side of a [Service].
type server struct {
	Service
	sampler  sampler
	latency  stream
	failure  stream
	balance  stream
	replicas []replica
	edges    []*edge

	tokens float64 // of the rate limit
	filled time.Duration

	tally serverTally
}

// A replica is one of a server's.
type replica struct {
	number int
	busy   int // requests held
	queue  queue
	warmed int           // requests that have warmed it
	outage time.Duration // the end of the one that they came after
}

func newServer(s Service, index int, seed uint64) *server {
	x := &server{
		Service:  s,
		sampler:  newSampler(s.Latency),
		latency:  newStream(seed, purposeLatency).of(index),
		failure:  newStream(seed, purposeFailure).of(index),
		balance:  newStream(seed, purposeBalance).of(index),
		replicas: make([]replica, max(s.Replicas, 1)),
	}
	for i := range x.replicas {
		x.replicas[i].number = i
	}
	if s.RateLimit != nil {
		x.tokens = float64(s.RateLimit.Burst)
	}
	return x
}

// pick returns the replica that attempt n of a call goes to.
func (s *server) pick(call uint64, n int) *replica {
	if len(s.replicas) == 1 {
		return &s.replicas[0]
	}
	return &s.replicas[int(s.balance.at(call, uint64(n))*float64(len(s.replicas)))]
}

// within reports whether a time is in a stretch. A length of 0 has no end.
func within(at, from, length time.Duration) bool {
	return at >= from && (length == 0 || at-from < length)
}

// down reports whether an attempt that arrives at the given time fails at once.
func (s *server) down(at time.Duration) bool {
	for _, o := range s.Outages {
		if within(at, o.From, o.For) {
			return true
		}
	}
	return false
}

// admits reports whether the rate limit lets a request in, and takes its token.
func (s *server) admits(at time.Duration) bool {
	l := s.RateLimit
	if l == nil {
		return true
	}
	accrued := float64(l.PerSecond * (at - s.filled).Seconds())
	s.tokens = min(s.tokens+accrued, float64(l.Burst))
	s.filled = at
	if s.tokens < 1 {
		return false
	}
	s.tokens--
	return true
}

// busy reports whether a replica has no place free.
func (s *server) busy(r *replica) bool { return s.Concurrency > 0 && r.busy >= s.Concurrency }

// full reports whether a replica sheds what arrives now.
func (s *server) full(r *replica) bool { return s.busy(r) && r.queue.len >= s.Queue }

// takes returns how long work on an attempt takes that begins at the given time.
func (s *server) takes(r *replica, call uint64, n int, at time.Duration) time.Duration {
	took := s.sampler.sample(s.latency.at(call, uint64(n)))
	for _, b := range s.Brownouts {
		if within(at, b.From, b.For) {
			took *= b.Slower
		}
	}
	for _, b := range s.Bad {
		if b.Replica == r.number && b.Slower > 0 && within(at, b.From, b.For) {
			took *= b.Slower
		}
	}
	if s.Cold != nil {
		took *= s.chill(r, at)
	}
	return time.Duration(math.Round(min(took, farthest)))
}

// chill returns how many times as slow a replica is for being cold.
func (s *server) chill(r *replica, at time.Duration) float64 {
	end := time.Duration(0)
	for _, o := range s.Outages {
		if over := o.From + o.For; over <= at {
			end = max(end, over)
		}
	}
	if end == 0 {
		return 1
	}
	if r.outage != end {
		r.outage, r.warmed = end, 0
	}
	halvings := float64(r.warmed) / float64(s.Cold.HalfLife)
	return 1 + float64((s.Cold.Slower-1)*exp(-math.Ln2*halvings))
}

// fails reports whether the work on an attempt that begins at the given time
// ends in a failure.
func (s *server) fails(r *replica, call uint64, n int, at time.Duration) bool {
	p := s.FailureRate
	for _, f := range s.Failures {
		if within(at, f.From, f.For) {
			p += float64((1 - p) * f.Rate)
		}
	}
	for _, b := range s.Bad {
		if b.Replica == r.number && within(at, b.From, b.For) {
			p += float64((1 - p) * b.FailureRate)
		}
	}
	return p > 0 && s.failure.at(call, uint64(n)) < p
}

// troubledUntil returns when the last trouble of s ends, and false if there is
// none that does.
func (s Service) troubledUntil() (end time.Duration, ok bool) {
	for _, b := range s.Brownouts {
		end, ok = max(end, b.From+b.For), true
	}
	for _, o := range s.Outages {
		end, ok = max(end, o.From+o.For), true
	}
	for _, f := range s.Failures {
		end, ok = max(end, f.From+f.For), true
	}
	for _, b := range s.Bad {
		if b.For > 0 {
			end, ok = max(end, b.From+b.For), true
		}
	}
	return end, ok
}

// receive takes an attempt in.
func (e *engine) receive(r *request) {
	s, x := r.server, r.replica
	s.tally.received(e.second)
	switch {
	case s.down(e.now):
		e.turnAway(r, endDown)
	case !s.admits(e.now):
		e.turnAway(r, endThrottled)
	case s.full(x):
		e.turnAway(r, endShed)
	case s.busy(x):
		r.phase = waiting
		x.queue.push(r)
		s.tally.queued(e.second, 1)
	default:
		e.work(r)
	}
}

// turnAway answers a request at once, but not before what happens now is over.
func (e *engine) turnAway(r *request, how end) {
	r.phase, r.how = turnedAway, how
	e.schedule(0, event{kind: finished, request: r, tag: r.tag})
}

// work begins a service's own work on a request.
func (e *engine) work(r *request) {
	s, x := r.server, r.replica
	took := s.takes(x, r.key, r.number, e.now)
	r.failed = s.fails(x, r.key, r.number, e.now)
	r.finish = e.now + min(took, never-e.now)
	r.phase = working
	x.busy++
	s.tally.held(e.now, 1)
	e.schedule(took, event{kind: finished, request: r, tag: r.tag})
}

// worked ends a service's own work on a request, or answers one that had none.
func (e *engine) worked(r *request) {
	switch {
	case r.phase == turnedAway:
		e.answer(r, r.how)
	case r.failed:
		e.answer(r, endFailed)
	default:
		r.replica.warmed++
		e.callOn(r)
	}
}

// callOn makes the calls of a request whose own work is done.
func (e *engine) callOn(r *request) {
	edges := r.server.edges
	if len(edges) == 0 {
		e.answer(r, endSucceeded)
		return
	}
	r.phase = calling
	if !r.server.Parallel {
		e.callNext(r)
		return
	}
	for _, d := range edges {
		r.pending += d.times
	}
	// The last one to end answers, and r is gone: none ends before it has begun.
	for _, d := range edges {
		for i := range d.times {
			e.begin(d, r.replica.number, r, r.childKey(d, i))
		}
	}
}

// callNext makes the next call of a sequence, or answers.
func (e *engine) callNext(r *request) {
	edges := r.server.edges
	if r.times == edges[r.edge].times {
		r.edge, r.times = r.edge+1, 0
		if r.edge == len(edges) {
			e.answer(r, endSucceeded)
			return
		}
	}
	r.times++
	d := edges[r.edge]
	e.begin(d, r.replica.number, r, r.childKey(d, r.times-1))
}

// childKey returns what the i-th call on an edge draws its random numbers by.
func (r *request) childKey(d *edge, i int) uint64 {
	return mix(mix(r.key+uint64(r.number)<<48) ^ mix(uint64(d.index)<<32+uint64(i)))
}

// called tells a request that one of its calls has ended.
func (e *engine) called(r *request, d *edge, ok bool) {
	if !ok && !d.optional {
		r.failed = true
	}
	if r.server.Parallel {
		r.pending--
		if r.pending > 0 {
			return
		}
		how := endSucceeded
		if r.failed {
			how = endFailed
		}
		e.answer(r, how)
		return
	}
	if r.failed {
		e.answer(r, endFailed)
		return
	}
	e.callNext(r)
}

// answer ends a request and tells whoever waits for it.
func (e *engine) answer(r *request, how end) {
	s, c := r.server, r.call
	s.tally.ended(e.second, how, c == nil)
	e.release(r)
	o := outcomes[how]
	if how == endThrottled {
		o.Verdict.RetryAfter = s.RateLimit.RetryAfter
	}
	gaveUp := how == endFailed && r.giveUp.Marked()
	e.freeRequest(r)
	if c == nil {
		return
	}
	c.request = nil
	if gaveUp && c.edge.obey {
		ration.GiveUpOf(c.context()).Mark()
		o.Unrepeatable = true
	}
	e.next(c, o)
}

// release gives up the place that a request has, and begins work on the next.
func (e *engine) release(r *request) {
	s, x := r.server, r.replica
	switch r.phase {
	case waiting:
		x.queue.remove(r)
		s.tally.queued(e.second, -1)
	case working, calling:
		x.busy--
		s.tally.held(e.now, -1)
	}
	for x.queue.len > 0 && !s.busy(x) {
		n := x.queue.pop(s.Order)
		s.tally.queued(e.second, -1)
		if n.call == nil && s.DropExpired {
			s.tally.ended(e.second, endExpired, true)
			e.freeRequest(n)
			continue
		}
		e.work(n)
	}
}

// leave tells a service that nobody waits for a request any more.
func (e *engine) leave(r *request) {
	r.call = nil
	if r.server.CancelsWork {
		e.cancel(r)
	}
}

// cancel ends a request for good, and the calls made for it.
func (e *engine) cancel(r *request) {
	if r.phase == turnedAway {
		return // its answer is out
	}
	for len(r.children) > 0 {
		e.abandon(r.children[len(r.children)-1])
	}
	r.server.tally.ended(e.second, endCanceled, true)
	e.release(r)
	e.freeRequest(r)
}
