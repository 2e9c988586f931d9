package drill

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/ration-go/ration"
)

// A hopIndex is a place where something retries: each calls the tier of the same
// number.
type hopIndex int

const (
	hopClient hopIndex = iota
	hopFrontend
	hopBackend
	hops = iota
)

var hopNames = [hops]string{"client", "frontend", "backend"}

// A tierIndex is a server.
type tierIndex int

const (
	tierFrontend tierIndex = iota
	tierBackend
	tierDatabase
	tiers = iota
)

var tierNames = [tiers]string{"frontend", "backend", "database"}

// counts are what happens from the moment the trouble begins. A nil counts counts
// nothing. It is safe for concurrent use.
type counts struct {
	begun time.Time
	tiers [tiers]tally
	hops  [hops]hop
}

// arrive counts an attempt where it arrives.
func (n *counts) arrive(t tierIndex) {
	if n != nil {
		n.tiers[t].add(time.Since(n.begun))
	}
}

// hear counts what the executor of a hop reports.
func (n *counts) hear(h hopIndex, ev ration.Event) {
	if n == nil {
		return
	}
	switch ev.Kind {
	case ration.EventRetrying:
		n.hops[h].retries.Add(1)
	case ration.EventSucceeded:
		n.hops[h].succeeded.Add(1)
	case ration.EventNestedRetry:
		n.hops[h].nested.Add(1)
	case ration.EventRejectedByBudget:
		n.hops[h].refused.Add(1)
	}
}

// A hop counts what one executor reports.
type hop struct{ retries, succeeded, nested, refused atomic.Int64 }

// burst returns how many retries of a hop nothing but the tokens can have funded
// that its bucket began with: those beyond the floor and the deposits of the time.
// At most a full bucket's worth counts, so that a bucket which funds more than it
// may is not excused. A full bucket lets deposits go, so that it is at times a few
// more; then amplification is overstated, and not the budget flattered.
func (h *hop) burst(elapsed time.Duration, a Allowance) int {
	earned := a.MinimumPerSecond*elapsed.Seconds() + a.Fraction*float64(h.succeeded.Load())
	return int(math.Floor(min(max(float64(h.retries.Load())-earned, 0), a.Tokens())))
}

// A tally counts in all and second by second.
type tally struct {
	total   atomic.Int64
	seconds [tallied]atomic.Int64
}

// tallied is for how many seconds a tally goes: until the last action of the longest
// load is past its deadline. What may come later counts in all.
const tallied = int((MaxEach + Deadline) / time.Second)

// MaxEach is the longest load of a phase.
const MaxEach = 10 * time.Minute

func (t *tally) add(since time.Duration) {
	t.total.Add(1)
	if second := int(since / time.Second); second < tallied {
		t.seconds[second].Add(1)
	}
}

func (t *tally) count() int { return int(t.total.Load()) }

// most returns the count of the second that has the most.
func (t *tally) most() (n int) {
	for i := range t.seconds {
		n = max(n, int(t.seconds[i].Load()))
	}
	return n
}
