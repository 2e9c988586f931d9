package ration

import (
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"
)

// EventKind says what an [Event] reports.
type EventKind int

// The kinds. Exactly one terminal event ends each call; the others come before
// it. In the common case, a call that succeeds on its second attempt, they are
// EventAttempt, EventRetrying, EventAttempt, EventSucceeded.
const (
	EventAttempt    EventKind = iota + 1 // an attempt has ended
	EventRetrying                        // a retry is decided; Delay is the wait before it
	EventSucceeded                       // terminal
	EventNotRetried                      // terminal: a permanent failure, or a hook's error

	EventExhausted         // terminal: the last attempt allowed has failed
	EventDeadlineExceeded  // terminal
	EventRejectedByBreaker // terminal; Delay is the pause before the call returns
	EventRejectedByBudget  // terminal; Delay is the pause before the call returns
	EventCanceled          // terminal: the caller cancelled
	EventAbandoned         // terminal: a panic, runtime.Goexit or Call.Abandon

	EventBreakerOpened      // Delay is the break
	EventBreakerHalfOpened  // the break is over and the first probe goes out
	EventBreakerClosed      // enough probes have succeeded
	EventNestedRetry        // this call retries inside something that retries
	EventOrphanedWork       // an attempt outlived its bound by a second or more
	EventCeilingAdapted     // Delay is the measured ceiling now in force
	EventBackoffBaseAdapted // Delay is the measured base now in force
	eventKinds              = iota + 1
)

var eventNames = [eventKinds]string{
	EventAttempt:            "attempt",
	EventRetrying:           "retrying",
	EventSucceeded:          "succeeded",
	EventNotRetried:         "not_retried",
	EventExhausted:          "exhausted",
	EventDeadlineExceeded:   "deadline_exceeded",
	EventRejectedByBreaker:  "rejected_by_breaker",
	EventRejectedByBudget:   "rejected_by_budget",
	EventCanceled:           "canceled",
	EventAbandoned:          "abandoned",
	EventBreakerOpened:      "breaker_opened",
	EventBreakerHalfOpened:  "breaker_half_opened",
	EventBreakerClosed:      "breaker_closed",
	EventNestedRetry:        "nested_retry",
	EventOrphanedWork:       "orphaned_work",
	EventCeilingAdapted:     "ceiling_adapted",
	EventBackoffBaseAdapted: "backoff_base_adapted",
}

// String returns the kind in the form used by metrics and logs.
func (k EventKind) String() string {
	if k > 0 && k < eventKinds {
		return eventNames[k]
	}
	return "EventKind(" + strconv.Itoa(int(k)) + ")"
}

// An Event is something that happened to a call or to the state behind it. A
// policy's OnEvent receives each one on the goroutine of the call that caused
// it, outside every lock and before the call goes on, so a listener that blocks
// holds up its call. The fields that a kind does not mention are zero.
//
// An Event is a value: it may be kept, copied and sent elsewhere.
type Event struct {
	Kind    EventKind
	Policy  string // the policy's name
	Key     string // the key given to [Executor.For], if any
	Attempt int    // the attempt that ended, or that comes next; 0 before the first

	// Verdict is that of the attempt that ended, or that the stop rests on. A
	// call abandoned during an attempt rests on none: Verdict and Err are zero,
	// and Attempt counts that attempt, which has no EventAttempt.
	Verdict Verdict

	// Duration is the attempt's own time for EventAttempt and
	// EventOrphanedWork, and otherwise the time since the call began.
	Duration time.Duration

	Delay  time.Duration // see the kinds
	Reason StopReason    // of a terminal event

	// Err is the last failure, as the function returned it; if the attempt's
	// own timer ended it, it matches [ErrAttemptTimeout] as well.
	Err error

	// Unclassified names the type of Err, or of what it wraps if it only adds
	// words, when the call ended because no rule knew that type, and the policy
	// meets it for the first time. If such an error can heal, wrap it in
	// [Transient] or teach the policy's Classifier.
	Unclassified string
}

// Terminal reports whether the event ends its call.
func (ev Event) Terminal() bool {
	return ev.Kind == EventSucceeded || ev.Kind >= EventNotRetried && ev.Kind <= EventAbandoned
}

// Rejection reports whether the budget or the breaker refused.
func (ev Event) Rejection() bool {
	return ev.Kind == EventRejectedByBreaker || ev.Kind == EventRejectedByBudget
}

// stopEvents is the terminal event of each reason.
var stopEvents = [...]EventKind{
	StopSucceeded:         EventSucceeded,
	StopPermanent:         EventNotRetried,
	StopAttemptsExhausted: EventExhausted,
	StopDeadlineExceeded:  EventDeadlineExceeded,
	StopBudgetExhausted:   EventRejectedByBudget,
	StopUnavailable:       EventRejectedByBreaker,
	StopCanceled:          EventCanceled,
	StopAbandoned:         EventAbandoned,
}

// deliver calls a listener with ev and isolates a panic in it: a fault in
// telemetry must not fail the call that it describes. The first panic of a
// listener is logged, as failed notes; repeating it for each call would be a
// second incident.
func deliver(failed *atomic.Bool, ev Event, listen func()) {
	defer func() {
		if p := recover(); p != nil && failed.CompareAndSwap(false, true) {
			slog.Error("ration: a listener panicked; later panics of it are not logged",
				"policy", ev.Policy, "event", ev.Kind.String(), "panic", p)
		}
	}()
	listen()
}
