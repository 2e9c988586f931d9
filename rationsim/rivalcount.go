package rationsim

import "time"

// envoy bounds what is in flight and remembers nothing: with few requests in
// flight its minimum is all there is, and slow attempts widen the allowance.
type envoy struct {
	fraction float64
	least    int
	active   int // attempts in flight
	retries  int // granted and not done, in their wait or in flight
}

func (e *envoy) Begin(_ time.Duration, h *Held) { e.start(h) }

func (e *envoy) start(h *Held) {
	h.Attempt = true
	e.active++
}

func (e *envoy) Done(_ time.Duration, h *Held, _ AttemptEnd) { e.release(h) }

// release ends what the call has in flight, or waiting to be.
func (e *envoy) release(h *Held) {
	if h.Attempt {
		h.Attempt = false
		e.active--
	}
	if h.Retry {
		h.Retry = false
		e.retries--
	}
}

// Retry counts the attempt that has just failed as active: Envoy decides on its
// headers, when its stream has not yet been closed.
func (e *envoy) Retry(_ time.Duration, h *Held, _ AttemptEnd) bool {
	if e.retries >= max(int(e.fraction*float64(e.active+1)), e.least) {
		return false
	}
	e.retries++
	h.Retry = true
	return true
}

func (e *envoy) Resume(_ time.Duration, h *Held) bool {
	e.start(h) // and it goes on being counted as a retry
	return true
}

func (e *envoy) End(_ time.Duration, h *Held, _ bool) { e.release(h) }

// failsafe is the budget of failsafe-go. A permit is asked for when the wait is
// over and held for the attempt alone, while the executions that it is compared
// with include the calls that sleep: the more calls fail, the larger the share
// of retries that passes.
type failsafe struct {
	unlimited
	rate       float64
	least      int
	executions int // calls that have not ended, and retries in flight
	inflight   int // retries in flight
}

func (f *failsafe) Begin(time.Duration, *Held) { f.executions++ }

func (f *failsafe) Done(_ time.Duration, h *Held, _ AttemptEnd) { f.release(h) }

func (f *failsafe) release(h *Held) {
	if h.Retry {
		h.Retry = false
		f.inflight--
		f.executions--
	}
}

func (f *failsafe) Resume(_ time.Duration, h *Held) bool {
	if f.inflight >= f.least && float64(f.inflight)/float64(f.executions) > f.rate {
		return false
	}
	h.Retry = true
	f.inflight++
	f.executions++
	return true
}

func (f *failsafe) End(_ time.Duration, h *Held, _ bool) {
	f.release(h)
	f.executions--
}
