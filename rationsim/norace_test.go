//go:build !race

package rationsim

// raceEnabled reports whether the race detector is on; see skipUnderRace.
const raceEnabled = false
