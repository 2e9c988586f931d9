package bench

import (
	"math"
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
var gates = []struct {
	name      string
	loop      func(tb testing.TB) func(n int)
	reference func(n int)
	most      float64
}{
	{"success", rationRow("Success", "retry+budget+breaker"), clockPair, 3},               // contract: 1.5
	{"success with timeout", rationRow("Timeout", "ignored"), clockPair, 5},               // 2.5
	{"success with timeout, waited on", rationRow("Timeout", "waited-on"), waitLoop, 2.6}, // 1.3
	{"deposit into a full bucket", depositFull, loadLoop, 6},                              // 3
	{"lookup of a key", rationRow("Extra", "for,keys=100"), clockPair, 1.5},               // about 1
}

func TestGate(t *testing.T) {
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
	if raceEnabled {
		t.Skip("the race detector serializes what it watches")
	}
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("one processor")
	}
	given := scaling(clockPair)
	if given > 0.75 {
		t.Skipf("two goroutines that share nothing take %.2f of the time of one: "+
			"there is no second processor to be had", given)
	}
	const most = 0.9
	for _, g := range []struct {
		name string
		loop func(tb testing.TB) func(int)
	}{
		{"success", sharedBy(plan{budget: true, breaker: true}, rationCall)},
		{"with a failure ratio", sharedBy(plan{budget: true, breaker: true}, ratioCall)},
		{"with timeouts", sharedBy(timed, rationCall)},
		{"deposit into a full bucket", depositFull},
	} {
		got := scaling(g.loop(t))
		if got > most {
			t.Errorf("%s: %.2f of the time of one goroutine, want at most %v", g.name, got, most)
		}
		t.Logf("%s: %.2f (two clock reads: %.2f)", g.name, got, given)
	}
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

// minimumOf returns the least time of a job, in nanoseconds, over rounds of 500.
func minimumOf(loop func(n int)) float64 {
	const rounds, n = 1000, 500
	least := math.Inf(1)
	for range rounds {
		least = min(least, timePer(n, func() { loop(n) }))
	}
	return least
}

// scaling returns the ratio of the least wall time per job of two goroutines to
// that of one.
func scaling(loop func(n int)) float64 {
	const rounds, n = 300, 2000
	one, two := math.Inf(1), math.Inf(1)
	for range rounds {
		one = min(one, timePer(n, func() { loop(n) }))
		two = min(two, timePer(n, func() { together(n, loop) }))
	}
	return two / one
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
