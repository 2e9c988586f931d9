//go:build !race

package rationotel_test

// raceEnabled reports whether the race detector is on. It allocates on its own
// account, so tests that count allocations skip themselves under it.
const raceEnabled = false
