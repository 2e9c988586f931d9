package ration

import "time"

// Attempt is one line of a call's log.
type Attempt struct {
	Number   int           // from 1
	Start    time.Duration // since the call began
	Duration time.Duration // how long the attempt took, hooks aside
	Delay    time.Duration // the wait that was decided before it
	Verdict  Verdict
	Err      error // what it failed with, nil if it succeeded
}

// Result is what [Try] returns: everything there is to know about a call that
// has ended. It is a value; nothing changes it later.
type Result[T any] struct {
	// Value is what the last attempt returned, also when it failed. If it needs
	// closing, close it.
	Value T

	// Err is what [Do] would have returned.
	Err error

	Stop     StopReason    // StopSucceeded if and only if the last attempt was OK
	Attempts []Attempt     // one for each attempt made
	Elapsed  time.Duration // of the whole call
}

// OK reports whether the call succeeded.
func (r Result[T]) OK() bool { return r.Stop == StopSucceeded }
