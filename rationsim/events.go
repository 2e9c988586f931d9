package rationsim

import "time"

// The kinds of events.
const (
	arrival  = iota // of a call, at an entry
	thought         // the end of a user's thinking
	due             // the end of a call's wait or pause
	finished        // a service's own work on a request, or an answer without any
	timedOut        // an attempt's bound
)

// An event is what happens at one time. What it happens to may be over by then
// and its memory in use for something else: the tag tells.
type event struct {
	at      time.Duration
	order   uint64 // of events at one time: as they were scheduled
	kind    uint8
	tag     uint32   // the generation of the call or request, or the number of the entry
	user    uint32   // thought
	call    *call    // due
	request *request // finished, timedOut
}

func (e *event) before(f *event) bool {
	return e.at < f.at || e.at == f.at && e.order < f.order
}

// events is a heap with four children to a node: half as deep as with two, and
// the children share a cache line or so. That of container/heap boxes every event
// it moves, which costs a simulation more than all its decisions do.
type events []event

func (q *events) push(e event) {
	h := append(*q, e)
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
	*q = h
}

func (q *events) pop() event {
	h := *q
	top, last := h[0], len(h)-1
	e := h[last]
	h[last] = event{} // for the garbage collector
	h = h[:last]
	*q = h
	if last == 0 {
		return top
	}
	i := 0
	for {
		child := 4*i + 1
		if child >= last {
			break
		}
		least := child
		for child++; child < min(4*i+5, last); child++ {
			if h[child].before(&h[least]) {
				least = child
			}
		}
		if !h[least].before(&e) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = e
	return top
}
