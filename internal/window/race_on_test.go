//go:build race

package window

// raceEnabled tells the tests that count allocations to stand aside: the race
// detector allocates.
const raceEnabled = true
