package ration

import "time"

// An Action is what a [Decision] asks for.
type Action int

// The actions.
const (
	ActAttempt Action = iota + 1 // make an attempt, then call Next with its outcome
	ActWait                      // wait until At, then call Next with a zero Outcome
	ActPause                     // the same: a refusal is paused so that no caller can spin on it
	ActStop                      // the call is over

	actPrepare // run the BeforeAttempt hook; only run sees it
)

// String returns the action's name.
func (a Action) String() string {
	switch a {
	case ActAttempt:
		return "attempt"
	case ActWait:
		return "wait"
	case ActPause:
		return "pause"
	case ActStop:
		return "stop"
	}
	return "none"
}

// A Decision is what happens next in a call.
type Decision struct {
	Action  Action
	Attempt int           // the attempt to make, or that is waited for; from 1
	Until   time.Time     // ActAttempt: when the attempt must have ended; zero = no bound
	At      time.Time     // ActWait, ActPause: when to call Next
	Delay   time.Duration // the same, from the time of the decision
	Reason  StopReason    // ActPause, ActStop: why the call ends
	Err     error         // ActStop: what Do would return
}

// An Outcome is what became of an attempt. It is a value; the zero value is a
// success.
type Outcome struct {
	// Verdict is what [Executor.Classify] or the caller's own rules say.
	Verdict Verdict

	// Err is the failure. With VerdictOK it reads as permanent; with TimedOut
	// it may be nil.
	Err error

	// TimedOut says that the attempt was given up because its Until passed. It
	// is then transient, unless it was the call's deadline that passed.
	TimedOut bool

	// Untimed says that the attempt was not held to its Until and took its time
	// for reasons of its own, as the first answer on a stream does. How long it
	// took then enters no estimate and is not reported as orphaned work, and it
	// has not met the call's deadline by ending after it.
	Untimed bool

	// Unrepeatable says that the attempt cannot be made again; see the function
	// of that name.
	Unrepeatable bool

	unknown bool // no rule matched Err
}

func (o *Outcome) ok() bool { return o.Verdict.Kind == VerdictOK && o.Err == nil && !o.TimedOut }
