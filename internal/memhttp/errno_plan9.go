package memhttp

import "errors"

// Plan 9 has no numbers for these.
var (
	errRefused = errors.New("connection refused")
	errPipe    = errors.New("broken pipe")
)
