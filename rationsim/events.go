package rationsim

import "time"

// The kinds of events.
const (
	arrival  = iota // of a call
	due             // the end of a call's wait or pause
	finished        // the dependency's work on an attempt
	timedOut        // an attempt's bound
)

type event struct {
	at      time.Duration
	order   uint64 // of events at one time: as they were scheduled
	kind    int
	call    *call
	attempt *attempt
}

func (e *event) before(f *event) bool {
	return e.at < f.at || e.at == f.at && e.order < f.order
}

// events is a binary heap. That of container/heap boxes every event it moves,
// which costs a simulation more than all its decisions do.
type events []event

func (q *events) push(e event) {
	h := append(*q, e)
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !h[i].before(&h[parent]) {
			break
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
	*q = h
}

func (q *events) pop() event {
	h := *q
	top, last := h[0], len(h)-1
	h[0] = h[last]
	h[last] = event{} // for the garbage collector
	h = h[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if h[child].before(&h[least]) {
				least = child
			}
		}
		if least == i {
			break
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
	*q = h
	return top
}
