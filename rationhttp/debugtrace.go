package rationhttp

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ration-go/ration"
)

// Bounds of what is remembered of one executor or key, which is some 1 KB, and at
// most 6 KB.
const (
	traceSeconds  = 60
	traceRefusals = 8   // different ones
	traceCallers  = 8   // different ones; the rest are counted together
	errorLength   = 240 // bytes of an error's text
)

// A trace is what is remembered of one executor or key. It is safe for concurrent
// use; no user code runs under its lock.
type trace struct {
	id uint64

	mu       sync.Mutex
	clean    runtime.Cleanup
	ring     *[traceSeconds]second // nil until a call ends
	newest   int64                 // the last second that is in the ring
	refusals []refusal             // the latest last
	callers  []nestedCaller
}

// A second is what ended within it.
type second struct{ calls, succeeded, attempts, refused uint32 }

// A refusal is one kind of refusal: those that agree in reason and error.
type refusal struct {
	reason   string
	attempts int // of the last one
	err      string
	count    uint64
	first    time.Time
	last     time.Time
}

// A nestedCaller is one source of nested retries.
type nestedCaller struct {
	caller
	count uint64
	last  time.Time
}

// The reasons of a refusal, as the page words them.
const (
	refusedByBudget  = "budget"
	refusedByBreaker = "breaker"
	refusedByLimit   = "limit"
)

// refusalOf returns why ev, which ends a call, refuses it, "" if it does not. A
// limit of this process is not the library's, but it is what the page is asked
// about when calls fail that no server has seen.
func refusalOf(ev ration.Event) string {
	switch ev.Kind {
	case ration.EventRejectedByBudget:
		return refusedByBudget
	case ration.EventRejectedByBreaker:
		return refusedByBreaker
	case ration.EventExhausted, ration.EventDeadlineExceeded:
		if ev.Verdict.SelfImposed {
			return refusedByLimit
		}
	}
	return ""
}

// textOf returns the beginning of an error's text. It keeps nothing of the error,
// which may hold a response, or a megabyte.
func textOf(err error) string {
	if err == nil {
		return ""
	}
	return strings.Clone(keep(err.Error(), errorLength))
}

func (t *trace) cleaned(c runtime.Cleanup) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clean = c
}

func (t *trace) cleanup() runtime.Cleanup {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.clean
}

// ended notes the end of a call in the given second.
func (t *trace) ended(at int64, ev ration.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ring == nil {
		t.ring, t.newest = new([traceSeconds]second), at
	}
	t.advance(at)
	s := &t.ring[max(at, t.newest-traceSeconds+1)%traceSeconds]
	s.calls++
	s.attempts += uint32(ev.Attempt)
	if ev.Kind == ration.EventSucceeded {
		s.succeeded++
	}
	if refusalOf(ev) != "" {
		s.refused++
	}
}

// advance empties the seconds that have come since the last call. Callers hold mu.
func (t *trace) advance(at int64) {
	for n := max(t.newest+1, at-traceSeconds+1); n <= at; n++ {
		t.ring[n%traceSeconds] = second{}
	}
	t.newest = max(t.newest, at)
}

// absorb adds what other has counted. Nothing else holds two locks.
func (t *trace) absorb(other *trace) {
	other.mu.Lock()
	defer other.mu.Unlock()
	ring, newest := other.ring, other.newest
	if ring == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ring == nil {
		t.ring, t.newest = new([traceSeconds]second), newest
	}
	t.advance(newest)
	for n := max(t.newest-traceSeconds+1, 0); n <= newest; n++ {
		s, more := &t.ring[n%traceSeconds], ring[n%traceSeconds]
		s.calls += more.calls
		s.succeeded += more.succeeded
		s.attempts += more.attempts
		s.refused += more.refused
	}
}

func (t *trace) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ring = nil
}

// minute returns the seconds up to the given one, the oldest first.
func (t *trace) minute(at int64) (seconds [traceSeconds]second) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ring == nil {
		return seconds
	}
	t.advance(at)
	for i := range seconds {
		if n := t.newest - traceSeconds + 1 + int64(i); n >= 0 {
			seconds[i] = t.ring[n%traceSeconds]
		}
	}
	return seconds
}

// refused notes a refusal. A storm refuses hundreds of calls a second, nearly all
// alike, and a list of the last eight calls would tell nothing; so those that are
// alike are one entry with a count.
func (t *trace) refused(now time.Time, r refusal) {
	r.count, r.first, r.last = 1, now, now
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.refusals, func(x refusal) bool {
		return x.reason == r.reason && x.err == r.err
	})
	switch {
	case i >= 0:
		r.count, r.first = t.refusals[i].count+1, t.refusals[i].first
		t.refusals = slices.Delete(t.refusals, i, i+1)
	case len(t.refusals) == traceRefusals:
		t.refusals = slices.Delete(t.refusals, 0, 1)
	}
	t.refusals = append(t.refusals, r)
}

// nested notes a nested retry. Whoever calls chooses its user agent, so that the
// number of sources has no bound but this one.
func (t *trace) nested(now time.Time, from caller) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.callers, func(x nestedCaller) bool { return x.caller == from })
	if i < 0 && len(t.callers) >= traceCallers {
		from = otherCallers
		i = slices.IndexFunc(t.callers, func(x nestedCaller) bool { return x.caller == from })
	}
	if i < 0 {
		t.callers = append(t.callers, nestedCaller{caller: from.clone()})
		i = len(t.callers) - 1
	}
	t.callers[i].count++
	t.callers[i].last = now
}

// tells returns copies of the refusals, the latest first, and of the nested
// retries.
func (t *trace) tells() ([]refusal, []nestedCaller) {
	t.mu.Lock()
	defer t.mu.Unlock()
	refusals := slices.Clone(t.refusals)
	slices.Reverse(refusals)
	return refusals, slices.Clone(t.callers)
}
