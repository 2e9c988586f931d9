package bench

import (
	"math"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
)

// The gate keeps the hot paths from becoming slow unnoticed. It asserts no time:
// each path is held against a reference in the same process, by the fastest of many
// rounds of some tens of microseconds, which interleave. What else a machine does
// only ever adds time, and never to every round, so the ratio of two minima is
// steady where that of two means is not: under a load of ten per processor it moves
// by a tenth.
//
// A limit here is about twice the contract of docs/performance.md, for processors
// on which the reference is relatively cheaper. That still tells a path that has
// gained a lock, a clock read, a map or an allocation from one that has not, which
// is what a change does to it by accident.
var gates = []gate{
	{"success", rationRow("Success", "retry+budget+breaker"), clockPair, 3}, // contract: 1.5
	{"timeout", rationRow("Timeout", "ignored"), clockPair, 5},              // 2.5
	{"timeout,waited-on", rationRow("Timeout", "waited-on"), waitLoop, 2.6}, // 1.3
	{"deposit-full", depositFull, loadLoop, 6},                              // 3
	{"lookup", rationRow("Extra", "for,keys=1000"), clockPair, 2},           // about 1
}

// A gate is a hot path, its reference, and the highest ratio that passes.
type gate struct {
	name      string
	loop      func(tb testing.TB) func(n int)
	reference func(n int)
	most      float64
}

// shared are the hot paths that two goroutines must be able to use at once, with
// the number of jobs in a round.
var shared = []struct {
	name string
	n    int
	loop func(tb testing.TB) func(n int)
}{
	{"success", 4000, sharedBy(plan{budget: true, breaker: true}, rationCall)},
	{"failure-ratio", 4000, sharedBy(plan{budget: true, breaker: true}, ratioCall)},
	{"timeout", 2000, sharedBy(timed, rationCall)},
	{"deposit-full", 400_000, depositFull},
	{"floor", 4000, func(testing.TB) func(int) { return clockPair }},
}

// mostShared is the highest ratio that passes. A path with a lock never gets below
// 1, and not above it either: in the best of its rounds the two take turns.
const mostShared = 0.9

// alone skips a gate unless it is told that it has the machine to itself. The tests
// of other packages run beside those of this one, and on two processors there is
// then no second one for two goroutines to share.
func alone(t *testing.T) {
	t.Helper()
	if os.Getenv("RATION_GATE") != "alone" {
		t.Skip("needs the machine to itself; .ci/run gate runs it")
	}
}

func TestGate(t *testing.T) {
	alone(t)
	if raceEnabled {
		t.Skip("the race detector slows one side of a ratio more than the other")
	}
	for _, g := range gates {
		loop := g.loop(t)
		// One round of good luck is enough; a path that has become slow has none.
		var got float64
		for range 5 {
			if got = minimumOf(loop) / minimumOf(g.reference); got <= g.most {
				break
			}
		}
		if got > g.most {
			t.Errorf("%s: %.2f times its reference, want at most %v", g.name, got, g.most)
		}
		t.Logf("%s: %.2f", g.name, got)
	}
}

// TestGateScaling holds the wall time per call of two goroutines against that of
// one. The contract is 0.7 at best; two goroutines that meet in a stripe, which is
// one time in four, or share a processor with something else, are slower, so the
// best of many rounds counts, each with goroutines of its own. A path with a lock
// never gets below 1.
func TestGateScaling(t *testing.T) {
	alone(t)
	if raceEnabled {
		t.Skip("the race detector serializes what it watches")
	}
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("one processor")
	}
	for _, g := range shared {
		got, seen := bestScaling(g.n, g.loop(t), mostShared)
		if !seen {
			t.Skip("there is no second processor to be had: " +
				"two goroutines that share nothing take as long as one")
		}
		if got > mostShared {
			t.Errorf("%s: %.2f of the time of one goroutine, want at most %v",
				g.name, got, mostShared)
		}
		t.Logf("%s: %.2f", g.name, got)
	}
}

// bestScaling returns the best of some measurements of scaling, of which one that
// is good enough is the last, and whether there was a second processor for three:
// only those count in which two goroutines that share nothing could use one, and a
// path is not called slow for one bad moment.
func bestScaling(n int, loop func(n int), enough float64) (best float64, seen bool) {
	best = math.Inf(1)
	counted := 0
	for tries := 0; tries < 20 && counted < 5 && best > enough; tries++ {
		if got, given := scaling(n, loop); given < 0.75 {
			best = min(best, got)
			counted++
		}
	}
	return best, best <= enough || counted >= 3
}

func rationRow(group, row string) func(testing.TB) func(int) {
	for _, g := range groups {
		for _, r := range g.rows {
			if g.name == group && r.name == row {
				return r.peers[0].prepare
			}
		}
	}
	return nil
}

// minimumOf returns the least time of a job, in nanoseconds, over rounds that are
// short enough for some to be left alone.
func minimumOf(loop func(n int)) float64 {
	const rounds, round = 1000, 30_000 // nanoseconds
	loop(1)
	n := max(int(round/max(timePer(1000, func() { loop(1000) }), 0.1)), 1)
	least := math.Inf(1)
	for range rounds {
		least = min(least, timePer(n, func() { loop(n) }))
	}
	return least
}

// scaling returns the ratio of the least wall time per job of two goroutines to
// that of one, over rounds of n jobs, which are to take some hundred microseconds:
// long beside the start of a goroutine. given is that of two clock reads, which
// share nothing, in rounds between those.
func scaling(n int, loop func(n int)) (got, given float64) {
	const rounds, reads = 200, 4000
	one, two := math.Inf(1), math.Inf(1)
	floorOne, floorTwo := one, two
	for range rounds {
		one = min(one, timePer(n, func() { loop(n) }))
		two = min(two, timePer(n, func() { together(n, loop) }))
		floorOne = min(floorOne, timePer(reads, func() { clockPair(reads) }))
		floorTwo = min(floorTwo, timePer(reads, func() { together(reads, clockPair) }))
	}
	return two / one, floorTwo / floorOne
}

// together divides n jobs between two goroutines.
func together(n int, loop func(n int)) {
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { loop(n / 2) })
	}
	wg.Wait()
}

func timePer(n int, f func()) float64 {
	begin := time.Now()
	f()
	return float64(time.Since(begin)) / float64(n)
}
