package rationsim

import (
	"context"
	"time"

	"github.com/ration-go/ration"
)

// A request is one attempt as the service has it. It is also the context of the
// calls that are made for it, so that the deadline, the level of criticality, the
// mark of nested retries and the note of having given up are read from where
// they are read in production, by the same code.
//
// It may outlive the attempt, which its caller gives up, and then has no call.
type request struct {
	engine  *engine
	server  *server
	replica *replica
	call    *call // that waits for the answer; nil = nobody does
	key     uint64
	number  int // of the attempt

	until  time.Duration // when the caller gives up; never = not at all
	finish time.Duration // of the work, once that has begun
	phase  phase
	failed bool
	how    end // turnedAway: the answer

	nested      bool // its sender would retry it
	criticality int  // index of levels
	giveUp      ration.GiveUp
	noting      context.Context // the request, with giveUp

	edge     int // of the server: the next call to make
	times    int // how often it has been made
	pending  int // calls under way, with Parallel
	children []*call

	tag        uint32 // generation
	prev, next *request
}

// A phase is where a request is on its way.
type phase uint8

const (
	turnedAway phase = iota // the answer is on its way, without any work
	waiting                 // in the queue
	working
	calling
)

// levels are the levels of criticality that a load has, least critical first.
var levels = [...]ration.Criticality{ration.Sheddable, ration.Critical, ration.CriticalPlus}

const (
	sheddable = iota
	critical
	criticalPlus
)

// values are the contexts that answer for the values of a request: shared, since
// there are few, and each would be an allocation. Unlabelled work is critical.
var values = func() (v [len(levels)][2]context.Context) {
	for i, level := range levels {
		v[i][0] = context.Background()
		if level != ration.Critical {
			v[i][0] = ration.WithCriticality(context.Background(), level)
		}
		v[i][1] = ration.WithNestedRetry(v[i][0])
	}
	return v
}()

func (r *request) values() context.Context {
	if r.nested {
		return values[r.criticality][1]
	}
	return values[r.criticality][0]
}

// context returns the context of the calls made for r. A server notes whether it
// has given up only for those who would retry it.
func (r *request) context() context.Context {
	if r.nested {
		return r.noting
	}
	return r
}

// Deadline is that of the attempt, where the service keeps it.
func (r *request) Deadline() (time.Time, bool) {
	if !r.server.KeepsDeadline || r.until == never {
		return time.Time{}, false
	}
	return epoch.Add(r.until), true
}

// Done returns nil: in a simulation nobody blocks. A request that is cancelled
// abandons its calls.
func (r *request) Done() <-chan struct{} { return nil }

// Err reads the simulation's clock.
func (r *request) Err() error {
	if r.server.KeepsDeadline && r.until <= r.engine.now {
		return context.DeadlineExceeded
	}
	return nil
}

// Value answers for what travels with the request.
func (r *request) Value(key any) any { return r.values().Value(key) }

// newRequest returns a request from the free list, or a new one.
func (e *engine) newRequest() *request {
	r := e.requests
	if r == nil {
		r = &request{engine: e}
		r.noting = ration.WithGiveUp(r, &r.giveUp)
		return r
	}
	e.requests = r.next
	r.next = nil
	return r
}

// freeRequest makes r available. Events that still mean it are void, by its tag.
func (e *engine) freeRequest(r *request) {
	*r = request{
		engine:   e,
		noting:   r.noting,
		children: r.children[:0],
		tag:      r.tag + 1,
		next:     e.requests,
	}
	e.requests = r
}

// A queue is a list of waiting requests.
type queue struct {
	first, last *request
	len         int
}

func (q *queue) push(r *request) {
	r.prev = q.last
	if q.last != nil {
		q.last.next = r
	} else {
		q.first = r
	}
	q.last = r
	q.len++
}

// pop takes the next one out, of at least one.
func (q *queue) pop(o Order) *request {
	r := q.first
	if o == LIFO {
		r = q.last
	}
	q.remove(r)
	return r
}

func (q *queue) remove(r *request) {
	if r.prev != nil {
		r.prev.next = r.next
	} else {
		q.first = r.next
	}
	if r.next != nil {
		r.next.prev = r.prev
	} else {
		q.last = r.prev
	}
	r.prev, r.next = nil, nil
	q.len--
}
