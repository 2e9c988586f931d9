package ration

// A superseded failure is told when the call goes on without it.
type superseded interface {
	error

	// Superseded is called on the goroutine of the call, and may be called again.
	Superseded()
}

// supersede tells a failure, or the first one within it that wants to know,
// that the call goes on without it: a retry takes its place, or a refusal does.
// It comes before the wait or the pause, since what a failure holds, such as
// the connection of a response that was not read to its end, is of use to
// others meanwhile. Only the driver can tell: while the function runs nobody
// knows yet what will follow, and when it runs again the wait is over.
func supersede(err error) {
	if s, ok := find[superseded](err); ok {
		s.Superseded()
	}
}
