//go:build !unix && !js && !wasip1 && !windows

package ration

// errno stands for error numbers on a system that has none. No error is of this
// type, so that only the rules which need no number apply.
type errno uint

func (errno) Error() string { return "" }

var connectionErrnos, mistakeErrnos [0]errno
