package rationhttp

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/ration-go/ration"
)

// A history is what a [DebugPage] has seen since it was made: a trace for each
// executor and each key.
//
// Traces are found by a weak pointer to the executor that Once returns, which
// lives exactly as long as the state of the executor or key does: it is one and
// the same for an executor and for the one that Once makes of it. So a trace
// keeps nothing alive, and goes when what it traces is collected.
type history struct {
	begun  time.Time
	stop   func() // of the observer
	closed atomic.Bool
	last   atomic.Uint64 // the id given last
	traces sync.Map      // of weak.Pointer[ration.Executor] to *trace

	leaving sync.Mutex // held while a trace moves from traces to gone
	gone    trace      // what ended in executors and keys that are no more
}

// recording is how many histories there are. Middleware names callers only while
// somebody listens.
var recording atomic.Int64

func newHistory() *history {
	h := &history{begun: time.Now()}
	recording.Add(1)
	h.stop = ration.Observe(h.observe)
	return h
}

// close ends the history and forgets it.
func (h *history) close() {
	if !h.closed.CompareAndSwap(false, true) {
		return
	}
	h.stop()
	recording.Add(-1)
	h.traces.Range(func(key, value any) bool {
		value.(*trace).cleanup().Stop()
		h.traces.Delete(key)
		return true
	})
	h.gone.clear()
}

// observe notes the end of each call, with what it came to, and nested retries.
// It is on the way of every call, so attempts are not counted one by one: the end
// of a call tells how many there were.
func (h *history) observe(ctx context.Context, e *ration.Executor, ev ration.Event) {
	switch {
	case h.closed.Load(): // the call began before
	case ev.Terminal():
		now := time.Now()
		t := h.trace(e)
		t.ended(h.second(now), ev)
		if reason := refusalOf(ev); reason != "" {
			t.refused(now, refusal{reason: reason, attempts: ev.Attempt, err: textOf(ev.Err)})
		}
	case ev.Kind == ration.EventNestedRetry:
		h.trace(e).nested(time.Now(), callerOf(ctx))
	}
}

// second returns the number of the second that now is in.
func (h *history) second(now time.Time) int64 {
	return max(int64(now.Sub(h.begun)/time.Second), 0)
}

// trace returns the trace of e, which it makes if need be: also once closed, since
// the page goes on to find items by their id.
func (h *history) trace(e *ration.Executor) *trace {
	e = e.Once()
	w := weak.Make(e)
	if t, ok := h.traces.Load(w); ok {
		return t.(*trace)
	}
	t := &trace{id: h.last.Add(1)}
	if first, ok := h.traces.LoadOrStore(w, t); ok {
		return first.(*trace)
	}
	t.cleaned(runtime.AddCleanup(e, h.forget, w))
	return t
}

// seen returns the trace of e, nil if there is none.
func (h *history) seen(e *ration.Executor) *trace {
	t, _ := h.traces.Load(weak.Make(e.Once()))
	known, _ := t.(*trace)
	return known
}

// forget drops the trace of what was collected, and keeps its counts: a program
// that makes an executor for each call, or calls more hosts than are remembered,
// is what the sum of all must not hide.
func (h *history) forget(w weak.Pointer[ration.Executor]) {
	h.leaving.Lock()
	defer h.leaving.Unlock()
	if t, ok := h.traces.LoadAndDelete(w); ok {
		h.gone.absorb(t.(*trace))
	}
}

// minute sums the last minute of all that was called.
func (h *history) minute(at int64) debugTraffic {
	h.leaving.Lock()
	defer h.leaving.Unlock()
	sum := newDebugTraffic()
	sum.add(h.gone.minute(at))
	h.traces.Range(func(_, t any) bool {
		sum.add(t.(*trace).minute(at))
		return true
	})
	return sum
}
