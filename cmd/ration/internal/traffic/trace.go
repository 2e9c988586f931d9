package traffic

import (
	"cmp"
	"slices"
)

// mostSpans bounds how many spans wait for the others of their trace, in some 30 MB.
const mostSpans = 100_000

type spanKind byte

const (
	spanOther spanKind = iota
	spanServer
	spanClient
)

// A span is what matters of one. Times are nanoseconds since 1970.
type span struct {
	id, parent string // the parent is empty at the root
	service    string
	peer       string // of a client
	target     string // of a client
	code       string
	start, end int64
	resent     int
	kind       spanKind
	failed     bool
}

// traces holds spans until those that belong to them have come, in whatever order:
// when there are too many, the trace that began first is taken to be complete.
type traces struct {
	names interner
	spans map[string][]span
	order []string // of the traces, by their first span
	n     int
}

func (t *traces) add(trace string, s span, to *inferred) {
	if t.spans == nil {
		t.spans = make(map[string][]span)
	}
	if _, known := t.spans[trace]; !known {
		t.order = append(t.order, trace)
	}
	t.spans[trace] = append(t.spans[trace], s)
	for t.n++; t.n > mostSpans; {
		t.flush(to)
	}
}

// flush hands on the oldest trace.
func (t *traces) flush(to *inferred) {
	trace := t.order[0]
	t.order = t.order[1:]
	spans := t.spans[trace]
	delete(t.spans, trace)
	t.n -= len(spans)
	to.trace(spans)
}

func (t *traces) flushAll(to *inferred) {
	for len(t.order) > 0 {
		t.flush(to)
	}
}

// A tree is a trace with its spans in relation.
type tree struct {
	spans []span
	byID  map[string]int
	owner []int   // of each client, the server span that it works for; -1 = none
	calls [][]int // of each server span, the client spans that work for it
	heard []bool  // of each client, whether the server has a span of it too
}

func newTree(spans []span) *tree {
	// By time, and not as they came, so that a result does not depend on that.
	slices.SortStableFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.id, b.id))
	})
	t := &tree{
		spans: spans, byID: make(map[string]int, len(spans)), owner: make([]int, len(spans)),
		calls: make([][]int, len(spans)), heard: make([]bool, len(spans)),
	}
	for i := range spans {
		t.byID[spans[i].id] = i
	}
	for i := range spans {
		switch s := &spans[i]; s.kind {
		case spanClient:
			if t.owner[i] = t.ownerOf(i); t.owner[i] >= 0 {
				t.calls[t.owner[i]] = append(t.calls[t.owner[i]], i)
			}
		case spanServer:
			if p := t.parent(i); p >= 0 && spans[p].kind == spanClient {
				t.heard[p] = true
				spans[p].peer = s.service
			}
		}
	}
	return t
}

// parent returns the parent of a span, -1 if it is not there.
func (t *tree) parent(i int) int {
	if p, ok := t.byID[t.spans[i].parent]; ok && t.spans[i].parent != "" && p != i {
		return p
	}
	return -1
}

// ownerOf walks up to the request that a call is made for, within the service.
func (t *tree) ownerOf(i int) int {
	service := t.spans[i].service
	// A cycle of parents is nonsense that somebody may send.
	for range t.spans {
		if i = t.parent(i); i < 0 || t.spans[i].service != service {
			return -1
		}
		if t.spans[i].kind == spanServer {
			return i
		}
	}
	return -1
}

// A group is the attempts of one call, in order.
type group struct {
	to       string
	attempts []int
}

func (t *tree) failed(g group) bool { return t.spans[g.attempts[len(g.attempts)-1]].failed }

// groups joins client spans into calls. One is a retry of another if it says so, or
// if it has the same parent and target, and begins after that has failed: sequential
// calls look the same apart from the failure.
func (t *tree) groups(clients []int) (calls []group) {
next:
	for _, i := range clients {
		s := &t.spans[i]
		for k := len(calls) - 1; k >= 0; k-- {
			last := &t.spans[calls[k].attempts[len(calls[k].attempts)-1]]
			if last.parent != s.parent || last.target != s.target || last.peer != s.peer ||
				last.end > s.start {
				continue
			}
			if s.resent > 0 || last.failed {
				calls[k].attempts = append(calls[k].attempts, i)
				continue next
			}
			break
		}
		calls = append(calls, group{s.peer, []int{i}})
	}
	return calls
}

// own returns how long a server span has worked itself: its time without that during
// which at least one of its calls was under way.
func (t *tree) own(i int) int64 {
	s := &t.spans[i]
	busy, until := int64(0), s.start
	for _, c := range t.calls[i] { // by start
		from, to := max(t.spans[c].start, until), min(t.spans[c].end, s.end)
		if to > from {
			busy += to - from
			until = to
		}
	}
	return s.end - s.start - busy
}

// parallel reports whether any two calls overlap.
func (t *tree) parallel(calls []group) bool {
	last := int64(0)
	for i, g := range calls {
		first, end := &t.spans[g.attempts[0]], t.spans[g.attempts[len(g.attempts)-1]].end
		if i > 0 && first.start < last {
			return true
		}
		last = max(last, end)
	}
	return false
}
