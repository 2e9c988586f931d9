// Package window holds the estimators that look back over the recent past: a
// latency histogram ([Latency]), a pair of outcome counters ([Counts]), and the
// cache that keeps an answer derived from them off the hot path ([Memo]).
//
// # Time
//
// Nothing here reads a clock or owns a timer. Every method takes now, in
// nanoseconds from an origin of the caller's choosing; it may be negative, may
// jump, and may step back. A window is a ring of slices. Each slice carries the
// number of the stretch of time it belongs to, its epoch, and is cleared by the
// first write of another epoch, so an idle window costs nothing and an old one
// is recognised when it is read.
//
// After a step back a slice may be stamped with a time that has not come yet.
// It is not counted until the clock reaches it, and the first write that wants
// its place clears it: a wrong clock costs at most the samples it touched, and
// never freezes a window.
//
// # Stripes
//
// A success is the common case, and one cache line written by every goroutine
// would make two cores slower than one. The methods on that path therefore take
// a stripe, a number that says which of a few separate lines to write; [Stripe]
// picks a good one. Any number is valid: while time runs forward, stripes
// decide the cost of a call and not its effect. For Latency that holds after a
// step back as well; [Counts] says how it differs.
package window
