package ration

// A superseded failure is told when a retry takes its place.
type superseded interface {
	error

	// Superseded is called at most once, on the goroutine of the call.
	Superseded()
}

// supersede tells a failure, or the first one within it that wants to know, that
// a retry takes its place. It comes before the wait: what a failure holds, such
// as the connection of a response that was not read to its end, is of use to
// others meanwhile. Only the driver could tell: while the function runs nobody
// knows yet whether there will be a retry, and when it runs again the wait is
// over.
func supersede(err error) {
	if s, ok := find[superseded](err); ok {
		s.Superseded()
	}
}
