package bench

import (
	"strings"
	"testing"
)

// TestAllocs counts the allocations of every row of ours. Times are for
// benchmarks; this is exact, but for what HTTP and gRPC do on goroutines of their
// own, whose bounds have room.
func TestAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, g := range groups {
		for _, r := range g.rows {
			if r.goroutines > 1 || r.procs > 1 {
				continue // the same code, with goroutines that allocate
			}
			for _, p := range r.peers {
				if p.name != ours && !strings.HasPrefix(p.name, ours+"-") {
					continue
				}
				t.Run(g.name+"/"+r.name+"/"+p.name, func(t *testing.T) {
					loop := p.prepare(t)
					if got := testing.AllocsPerRun(200, func() { loop(1) }); got > p.allocs {
						t.Errorf("%v allocations, want at most %v", got, p.allocs)
					}
				})
			}
		}
	}
}
