//go:build !race

package main

// raceEnabled says that the race detector is on, which makes a simulation take ten
// times as long. Tests of what long ones print leave them to an ordinary run.
const raceEnabled = false
