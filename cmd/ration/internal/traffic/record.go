// Package traffic reads what servers have recorded of their traffic, and sums it up
// as what a simulation needs to know: how calls arrive, how long they take, and how
// many of them fail.
package traffic

import "time"

// A record is one call, as one line of a log has it, or one attempt of it.
type record struct {
	at       time.Time // when it began
	duration time.Duration
	timed    bool // it has a duration
	status   int  // of HTTP; 0 when there is none
	failed   bool
	gaveUp   bool // its caller did not wait for the end
	retry    bool // an attempt after the first of its call, which has a record too
	host     string
	attempts []attempt // nil: one, of which nothing else is known
	local    bool      // it reached no dependency: whoever logged it has answered
}

// An attempt is one of several that a proxy made for a call.
type attempt struct {
	duration time.Duration
	timed    bool
	failed   bool
	host     string
}

// A fault is why a line could not be used.
type fault string

func (f fault) Error() string { return string(f) }

// statusGaveUp is what nginx logs when the client has closed the connection.
const statusGaveUp = 499

// failing reports whether a status of HTTP is a failure that a retry may mend, or at
// least one that is not the caller's fault.
func failing(status int) bool { return status >= 500 || status == 429 || status == 408 }
