package ration

import (
	"fmt"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// almostOne is the largest number that a decision may be given.
var almostOne = math.Nextafter(1, 0)

// A breakerRig is a breaker with what the calls through it hold. A break is
// never shortened unless a step says so.
type breakerRig struct {
	breaker
	s     BreakerSettings
	lease time.Duration
	held  map[string]admission
	u     float64
}

func newBreakerRig(s BreakerSettings) *breakerRig {
	return &breakerRig{
		s:     s.withDefaults(),
		lease: 10 * second,
		held:  make(map[string]admission),
		u:     almostOne,
	}
}

// A breakerOp does something to a breaker and says what came of it.
type breakerOp func(r *breakerRig, now instant) string

func tell(t transition) string {
	switch t.kind {
	case 0:
		return ""
	case EventBreakerOpened:
		return "opened " + t.delay.String()
	case EventBreakerHalfOpened:
		return "half-opened"
	case EventBreakerClosed:
		return "closed"
	}
	return t.kind.String()
}

// enter asks for an attempt under a name.
func enter(name string) breakerOp {
	return func(r *breakerRig, now instant) string {
		a, ok, tr := r.admit(now, &r.s, r.lease)
		said := tell(tr)
		if said != "" {
			said += ", "
		}
		if !ok {
			return said + "refused"
		}
		r.held[name] = a
		if a.probe != 0 {
			return said + "probe"
		}
		return said + "in"
	}
}

// The ways in which a named attempt ends. ignored is every end without
// evidence.
func succeeds(name string) breakerOp {
	return func(r *breakerRig, now instant) string {
		return tell(r.succeeded(now, &r.s, r.held[name], 0))
	}
}

func fails(name string) breakerOp {
	return func(r *breakerRig, now instant) string {
		return tell(r.failed(now, &r.s, r.held[name], false, r.u))
	}
}

func timesOut(name string) breakerOp {
	return func(r *breakerRig, now instant) string {
		return tell(r.failed(now, &r.s, r.held[name], true, r.u))
	}
}

func ignored(name string) breakerOp {
	return func(r *breakerRig, now instant) string {
		r.returned(now, r.held[name])
		return ""
	}
}

// good and bad make whole attempts, and return what the last one caused.
func good(n int) breakerOp { return attempts(n, succeeds("")) }
func bad(n int) breakerOp  { return attempts(n, fails("")) }

func attempts(n int, end breakerOp) breakerOp {
	return func(r *breakerRig, now instant) (last string) {
		for range n {
			if in := enter("")(r, now); in != "in" {
				return in
			}
			last = end(r, now)
		}
		return last
	}
}

// probed makes one probe that ends so.
func probed(end func(string) breakerOp) breakerOp {
	return func(r *breakerRig, now instant) string {
		if in := enter("a probe")(r, now); in != "probe" {
			return in
		}
		return end("a probe")(r, now)
	}
}

// draw sets the random number of the breaks to come.
func draw(u float64) breakerOp {
	return func(r *breakerRig, _ instant) string {
		r.u = u
		return ""
	}
}

// setTo changes the settings under the state, as an update does.
func setTo(s BreakerSettings) breakerOp {
	return func(r *breakerRig, _ instant) string {
		r.s = s.withDefaults()
		return ""
	}
}

func seen(r *breakerRig, now instant) string {
	s := r.status(now)
	if s.State != BreakerOpen {
		return s.State.String()
	}
	return fmt.Sprintf("open, %v left", s.Break)
}

// left is the hint of a refusal.
func left(r *breakerRig, now instant) string {
	if d, ok := r.retryAfter(now); ok {
		return d.String()
	}
	return "unknown"
}

// refusing is what a retry asks before it is paid for.
func refusing(r *breakerRig, now instant) string { return strconv.FormatBool(r.refuses(now)) }

type breakerStep struct {
	at   time.Duration
	op   breakerOp
	want string
}

// tripped is a breaker that opened at 0 and whose first probe, p, goes out as
// the break ends.
func tripped(then ...breakerStep) []breakerStep {
	return append([]breakerStep{
		{0, bad(5), "opened 15s"},
		{15 * second, enter("p"), "half-opened, probe"},
	}, then...)
}

type breakerTable struct {
	settings BreakerSettings
	steps    []breakerStep
}

var breakerTables = map[string]breakerTable{
	"closed": {steps: []breakerStep{
		{0, seen, "closed"},
		{0, refusing, "false"},
		{0, left, "unknown"},
		{0, good(1000), ""},
		{0, bad(4), ""},
		{hour, seen, "closed"},
	}},
	"five in a row": {steps: []breakerStep{
		{0, bad(4), ""},
		{0, good(1), ""},
		{0, bad(4), ""},
		{hour, good(1), ""},
		{hour, bad(4), ""},
		{24 * hour, bad(1), "opened 15s"}, // a count has no age
		{24 * hour, seen, "open, 15s left"},
		{24 * hour, enter("x"), "refused"},
		{24 * hour, refusing, "true"},
		{24 * hour, left, "15s"},
	}},
	"what is no evidence resets nothing": {steps: []breakerStep{
		{0, bad(4), ""},
		{0, attempts(100, ignored("")), ""},
		{0, bad(1), "opened 15s"},
	}},
	"C18: what is no evidence trips nothing": {steps: []breakerStep{
		{0, attempts(1000, ignored("")), ""},
		{0, bad(4), ""},
		{0, seen, "closed"},
		{0, bad(1), "opened 15s"},
	}},
	"one is enough": {BreakerSettings{ConsecutiveFailures: 1}, []breakerStep{
		{0, good(9), ""},
		{0, bad(1), "opened 15s"},
	}},
	"a timeout is a failure": {BreakerSettings{ConsecutiveFailures: 2}, []breakerStep{
		{0, enter("a"), "in"},
		{0, enter("b"), "in"},
		{10 * second, timesOut("a"), ""},
		{10 * second, timesOut("b"), "opened 15s"},
	}},
	"the break ends on time": {steps: []breakerStep{
		{0, bad(5), "opened 15s"},
		{15*second - 1, seen, "open, 1ns left"},
		{15*second - 1, enter("x"), "refused"},
		{15*second - 1, refusing, "true"},
		{15*second - 1, left, "1ns"},
		{15 * second, seen, "half-open"}, // as the next attempt would find it
		{15 * second, refusing, "false"},
		{15 * second, left, "0s"},
		{15 * second, enter("p"), "half-opened, probe"},
		{15 * second, left, "unknown"},
		{15 * second, seen, "half-open"},
	}},
	"two successes close it": {steps: tripped(
		breakerStep{16 * second, succeeds("p"), ""},
		breakerStep{16 * second, seen, "half-open"},
		breakerStep{16 * second, enter("q"), "probe"},
		breakerStep{16 * second, succeeds("q"), "closed"},
		breakerStep{16 * second, seen, "closed"},
		breakerStep{16 * second, bad(4), ""},
		breakerStep{16 * second, bad(1), "opened 15s"}, // a recovery forgets the growth
	)},
	"successes of two half-open periods do not add up": {steps: tripped(
		breakerStep{15 * second, succeeds("p"), ""},
		breakerStep{15 * second, probed(fails), "opened 30s"},
		breakerStep{45 * second, enter("p"), "half-opened, probe"},
		breakerStep{45 * second, succeeds("p"), ""},
		breakerStep{45 * second, seen, "half-open"},
	)},
	"half-open waits for ever": {steps: tripped(
		breakerStep{15 * second, succeeds("p"), ""},
		breakerStep{99 * hour, seen, "half-open"},
		breakerStep{99 * hour, probed(succeeds), "closed"},
	)},
	"a break doubles up to the longest": {steps: []breakerStep{
		{0, bad(5), "opened 15s"},
		{1 * minute, enter("p"), "half-opened, probe"},
		{1 * minute, fails("p"), "opened 30s"},
		{2 * minute, enter("p"), "half-opened, probe"},
		{2 * minute, timesOut("p"), "opened 1m0s"},
		{3 * minute, enter("p"), "half-opened, probe"},
		{3 * minute, fails("p"), "opened 2m0s"},
		{5 * minute, enter("p"), "half-opened, probe"},
		{5 * minute, fails("p"), "opened 2m0s"},
		{7 * minute, enter("p"), "half-opened, probe"},
		{7 * minute, succeeds("p"), ""},
		{7 * minute, probed(succeeds), "closed"},
		{7 * minute, bad(5), "opened 15s"},
	}},
	"growth is that of the nominal break": {steps: []breakerStep{
		{0, draw(0), ""},
		{0, bad(5), "opened 7.5s"},
		{8 * second, enter("p"), "half-opened, probe"},
		{8 * second, fails("p"), "opened 15s"},
		{1 * minute, enter("p"), "half-opened, probe"},
		{1 * minute, draw(0.5), ""},
		{1 * minute, fails("p"), "opened 45s"},
		{2 * minute, enter("p"), "half-opened, probe"},
		{2 * minute, draw(0), ""},
		{2 * minute, fails("p"), "opened 1m0s"},
		{3 * minute, enter("p"), "half-opened, probe"},
		{3 * minute, draw(almostOne), ""},
		{3 * minute, fails("p"), "opened 2m0s"},
	}},
	"a longest break that is no power": {
		BreakerSettings{ConsecutiveFailures: 1, Break: 10 * second, MaxBreak: 25 * second},
		[]breakerStep{
			{0, bad(1), "opened 10s"},
			{1 * minute, enter("p"), "half-opened, probe"},
			{1 * minute, fails("p"), "opened 20s"},
			{2 * minute, enter("p"), "half-opened, probe"},
			{2 * minute, fails("p"), "opened 25s"},
		},
	},
	"no growth": {
		BreakerSettings{ConsecutiveFailures: 1, Break: 10 * second, MaxBreak: 10 * second},
		[]breakerStep{
			{0, bad(1), "opened 10s"},
			{1 * minute, enter("p"), "half-opened, probe"},
			{1 * minute, fails("p"), "opened 10s"},
		},
	},
	"one probe at a time": {steps: tripped(
		breakerStep{15 * second, enter("x"), "refused"},
		breakerStep{15 * second, refusing, "false"}, // a slot may be free when the retry is due
		breakerStep{16 * second, succeeds("p"), ""},
		breakerStep{16 * second, enter("q"), "probe"},
		breakerStep{16 * second, enter("x"), "refused"},
	)},
	"C15: a probe without evidence gives its slot back": {steps: tripped(
		breakerStep{15 * second, ignored("p"), ""},
		breakerStep{15 * second, seen, "half-open"},
		breakerStep{15 * second, enter("q"), "probe"},
		breakerStep{15 * second, succeeds("q"), ""},
		breakerStep{15 * second, probed(ignored), ""},
		breakerStep{15 * second, probed(succeeds), "closed"},
	)},
	"C15: three probes, two without evidence": {BreakerSettings{Probes: 3}, tripped(
		breakerStep{15 * second, enter("q"), "probe"},
		breakerStep{15 * second, enter("r"), "probe"},
		breakerStep{15 * second, enter("x"), "refused"},
		breakerStep{16 * second, succeeds("p"), ""},
		breakerStep{16 * second, ignored("q"), ""},
		breakerStep{16 * second, ignored("r"), ""},
		breakerStep{16 * second, probed(succeeds), "closed"},
	)},
	"C16: two probes are two": {BreakerSettings{Probes: 2}, tripped(
		breakerStep{15 * second, enter("q"), "probe"},
		breakerStep{15 * second, enter("x"), "refused"},
		breakerStep{15 * second, enter("x"), "refused"},
		breakerStep{15 * second, enter("x"), "refused"},
		breakerStep{16 * second, succeeds("q"), ""},
		breakerStep{16 * second, succeeds("p"), "closed"},
	)},
	"C17: stragglers from before the trip": {
		settings: BreakerSettings{ConsecutiveFailures: 2},
		steps: []breakerStep{
			{0, enter("slow"), "in"},
			{0, enter("a"), "in"},
			{0, enter("b"), "in"},
			{0, enter("c"), "in"},
			{0, bad(2), "opened 15s"},
			{1 * second, fails("a"), ""}, // no second event while open
			{1 * second, seen, "open, 14s left"},
			{15 * second, enter("p"), "half-opened, probe"},
			{16 * second, succeeds("slow"), ""},
			{16 * second, fails("b"), ""},
			{16 * second, timesOut("c"), ""},
			{16 * second, seen, "half-open"},
			{16 * second, enter("x"), "refused"}, // the probe is still out
			{17 * second, fails("p"), "opened 30s"},
		},
	},
	"stragglers across a whole cycle": {
		settings: BreakerSettings{ConsecutiveFailures: 2, ProbeSuccesses: 1, Probes: 2},
		steps: []breakerStep{
			{0, enter("old"), "in"},
			{0, enter("old too"), "in"},
			{0, bad(2), "opened 15s"},
			{15 * second, enter("p"), "half-opened, probe"},
			{15 * second, enter("late"), "probe"},
			{15 * second, succeeds("p"), "closed"},
			{15 * second, bad(1), ""},
			{15 * second, fails("old"), ""},
			{15 * second, fails("late"), ""}, // a probe of a period that is over
			{15 * second, succeeds("old too"), ""},
			{15 * second, succeeds("late"), ""},
			{15 * second, ignored("late"), ""},
			{15 * second, bad(1), "opened 15s"}, // none of them touched the count
		},
	},
	"probes of another half-open period": {
		settings: BreakerSettings{Probes: 2, ProbeSuccesses: 1},
		steps: tripped(
			breakerStep{15 * second, enter("q"), "probe"},
			breakerStep{15 * second, fails("q"), "opened 30s"},
			breakerStep{16 * second, fails("p"), ""},
			breakerStep{45 * second, enter("r"), "half-opened, probe"},
			breakerStep{45 * second, succeeds("p"), ""},
			breakerStep{45 * second, ignored("p"), ""},
			breakerStep{45 * second, enter("s"), "probe"},
			breakerStep{45 * second, enter("x"), "refused"},
			breakerStep{45 * second, succeeds("s"), "closed"},
		),
	},
	"a hung probe gives its slot up when its lease ends": {steps: tripped(
		breakerStep{25*second - 1, enter("x"), "refused"},
		breakerStep{25 * second, enter("q"), "probe"},
		breakerStep{25 * second, enter("x"), "refused"},
		breakerStep{26 * second, succeeds("p"), ""}, // dropped
		breakerStep{26 * second, fails("p"), ""},
		breakerStep{26 * second, timesOut("p"), ""},
		breakerStep{26 * second, ignored("p"), ""},
		breakerStep{26 * second, seen, "half-open"},
		breakerStep{26 * second, enter("x"), "refused"}, // q still holds the slot
		breakerStep{27 * second, succeeds("q"), ""},
		breakerStep{27 * second, probed(succeeds), "closed"},
	)},
	"a breaker never runs out of slots": {BreakerSettings{Probes: 2}, tripped(
		breakerStep{16 * second, enter("q"), "probe"},
		breakerStep{25 * second, enter("r"), "probe"},
		breakerStep{25 * second, enter("x"), "refused"},
		breakerStep{26 * second, enter("s"), "probe"},
		breakerStep{26 * second, enter("x"), "refused"},
		breakerStep{35 * second, enter("t"), "probe"},
		breakerStep{99 * hour, enter("u"), "probe"},
		breakerStep{99 * hour, enter("v"), "probe"},
		breakerStep{99 * hour, enter("x"), "refused"},
	)},
	"a late success is dropped, though nobody took the slot": {steps: tripped(
		breakerStep{25 * second, succeeds("p"), ""},
		breakerStep{25 * second, probed(succeeds), ""},
		breakerStep{25 * second, probed(succeeds), "closed"},
	)},
	"a late failure is dropped too": {steps: tripped(
		breakerStep{25 * second, fails("p"), ""},
		breakerStep{25 * second, probed(succeeds), ""},
	)},
	"a success within the lease counts": {steps: tripped(
		breakerStep{25*second - 1, succeeds("p"), ""},
		breakerStep{25*second - 1, probed(succeeds), "closed"},
	)},
	"a timed-out probe that holds its slot is evidence": {steps: tripped(
		breakerStep{25 * second, timesOut("p"), "opened 30s"},
	)},
	"a timed-out probe whose slot was given away is none": {steps: tripped(
		breakerStep{25 * second, enter("q"), "probe"},
		breakerStep{25 * second, timesOut("p"), ""},
		breakerStep{25 * second, fails("q"), "opened 30s"},
	)},
	"another's success gives no slot away": {BreakerSettings{Probes: 2}, tripped(
		breakerStep{16 * second, enter("q"), "probe"},
		breakerStep{25 * second, succeeds("q"), ""},
		breakerStep{25 * second, timesOut("p"), "opened 30s"},
	)},
	"a slot is given away only to one who needs it": {
		BreakerSettings{Probes: 2, ProbeSuccesses: 3}, tripped(
			breakerStep{16 * second, enter("q"), "probe"},
			breakerStep{20 * second, succeeds("q"), ""},
			breakerStep{26 * second, enter("r"), "probe"}, // there was one free
			breakerStep{26 * second, succeeds("r"), ""},
			breakerStep{26 * second, timesOut("p"), "opened 30s"},
		)},
	"ratio": {BreakerSettings{FailureRatio: 0.5, ConsecutiveFailures: -1}, []breakerStep{
		{0, good(10), ""},
		{0, bad(9), ""}, // 9 of 19: too few calls, and too few failures
		{0, bad(1), "opened 15s"},
	}},
	"ratio: nothing is judged below the minimum": {
		BreakerSettings{FailureRatio: 0.1, ConsecutiveFailures: -1, MinimumCalls: 50},
		[]breakerStep{
			{0, bad(49), ""},
			{0, bad(1), "opened 15s"},
		},
	},
	"ratio: only a failure trips": {
		BreakerSettings{FailureRatio: 0.2, ConsecutiveFailures: -1, MinimumCalls: 10},
		[]breakerStep{
			{0, bad(9), ""},
			{0, good(1), ""}, // nine of ten failed, and the tenth did not
			{0, seen, "closed"},
			{0, good(29), ""},
			{0, bad(1), "opened 15s"},
		},
	},
	"ratio: all of them": {
		BreakerSettings{FailureRatio: 1, ConsecutiveFailures: -1, MinimumCalls: 3},
		[]breakerStep{
			{0, good(1), ""},
			{0, bad(100), ""},
			{31 * second, bad(2), ""},
			{31 * second, bad(1), "opened 15s"},
		},
	},
	"ratio: what is old does not count": {
		BreakerSettings{FailureRatio: 0.5, ConsecutiveFailures: -1, Window: 10 * second},
		[]breakerStep{
			{0, bad(19), ""},
			{11 * second, bad(1), ""}, // alone
			{12 * second, good(18), ""},
			{12 * second, bad(16), ""}, // 17 of 35
			{12 * second, bad(1), "opened 15s"},
		},
	},
	"ratio: what is no evidence is no call": {
		BreakerSettings{FailureRatio: 0.5, ConsecutiveFailures: -1},
		[]breakerStep{
			{0, bad(19), ""},
			{0, attempts(100, ignored("")), ""},
			{0, bad(1), "opened 15s"},
		},
	},
	"ratio: a trip empties the window": {
		BreakerSettings{FailureRatio: 0.5, ConsecutiveFailures: -1, ProbeSuccesses: 1,
			Window: hour},
		[]breakerStep{
			{0, bad(20), "opened 15s"},
			{15 * second, enter("p"), "half-opened, probe"},
			{15 * second, succeeds("p"), "closed"},
			{15 * second, bad(19), ""},
			{15 * second, bad(1), "opened 15s"},
		},
	},
	"both trips": {BreakerSettings{FailureRatio: 0.5, MinimumCalls: 4}, []breakerStep{
		{0, good(2), ""},
		{0, bad(1), ""},
		{0, bad(1), "opened 15s"},
		{15 * second, enter("p"), "half-opened, probe"},
		{15 * second, succeeds("p"), ""},
		{15 * second, probed(succeeds), "closed"},
		{15 * second, good(100), ""},
		{15 * second, bad(4), ""},
		{15 * second, bad(1), "opened 15s"},
	}},
	"an update keeps the break": {BreakerSettings{ConsecutiveFailures: 1}, []breakerStep{
		{0, bad(1), "opened 15s"},
		{1 * second, setTo(BreakerSettings{ConsecutiveFailures: 9, Break: second}), ""},
		{1 * second, seen, "open, 14s left"},
		{15*second - 1, enter("x"), "refused"},
		{15 * second, enter("p"), "half-opened, probe"},
		{15 * second, fails("p"), "opened 2s"},
	}},
	"an update to fewer probes": {BreakerSettings{Probes: 3}, tripped(
		breakerStep{15 * second, enter("q"), "probe"},
		breakerStep{15 * second, enter("r"), "probe"},
		breakerStep{16 * second, setTo(BreakerSettings{}), ""},
		breakerStep{16 * second, ignored("p"), ""},
		breakerStep{16 * second, enter("x"), "refused"},
		breakerStep{16 * second, ignored("q"), ""},
		breakerStep{16 * second, enter("x"), "refused"},
		breakerStep{25 * second, enter("s"), "probe"},
		breakerStep{25 * second, enter("x"), "refused"},
	)},
	"an update to fewer probes, all hung": {BreakerSettings{Probes: 3}, tripped(
		breakerStep{15 * second, enter("q"), "probe"},
		breakerStep{15 * second, enter("r"), "probe"},
		breakerStep{16 * second, setTo(BreakerSettings{}), ""},
		breakerStep{25 * second, enter("s"), "probe"},
		breakerStep{25 * second, enter("x"), "refused"},
		breakerStep{25 * second, timesOut("r"), ""},
	)},
	"C36: the clock steps back in a break": {steps: []breakerStep{
		{2 * hour, bad(5), "opened 15s"},
		{2*hour + 5*second, seen, "open, 10s left"},
		{hour, seen, "open, 15s left"},
		{hour, left, "15s"},
		{hour, refusing, "true"},
		{hour + 14*second, enter("x"), "refused"},
		{hour + 14*second, left, "1s"},
		{hour + 15*second, seen, "half-open"},
		{hour + 15*second, enter("p"), "half-opened, probe"},
	}},
	"C36: seen only by an attempt": {steps: []breakerStep{
		{2 * hour, bad(5), "opened 15s"},
		{hour, enter("x"), "refused"},
		{hour + 15*second, enter("p"), "half-opened, probe"},
	}},
	"C36: seen only by a retry": {steps: []breakerStep{
		{2 * hour, bad(5), "opened 15s"},
		{hour, refusing, "true"},
		{hour + 15*second, enter("p"), "half-opened, probe"},
	}},
	"C36: a step back within the break": {steps: []breakerStep{
		{0, bad(5), "opened 15s"},
		{14 * second, seen, "open, 1s left"},
		{5 * second, seen, "open, 10s left"},
		{-1, seen, "open, 15s left"},
		{14 * second, seen, "open, 999.999999ms left"},
	}},
	"C36: the clock steps back under a probe": {steps: []breakerStep{
		{2 * hour, bad(5), "opened 15s"},
		{2*hour + 15*second, enter("p"), "half-opened, probe"},
		{hour, enter("x"), "refused"},
		{hour + 10*second - 1, enter("x"), "refused"},
		{hour + 10*second, enter("q"), "probe"},
		{hour, succeeds("q"), ""},
		{hour, probed(succeeds), "closed"},
	}},
	"C36: nothing is negative": {steps: []breakerStep{
		{0, bad(5), "opened 15s"},
		{99 * hour, left, "0s"},
		{99 * hour, seen, "half-open"},
		{-99 * hour, seen, "open, 15s left"},
	}},
}

func TestBreakerSteps(t *testing.T) {
	for name, table := range breakerTables {
		for origin, start := range stateOrigins {
			if origin == "early" || origin == "late" {
				continue // the steps would run over the ends of time
			}
			t.Run(name+", "+origin, func(t *testing.T) {
				r := newBreakerRig(table.settings)
				for i, s := range table.steps {
					if got := s.op(r, start+instant(s.at)); got != s.want {
						t.Fatalf("step %d at %v: %q, want %q", i, s.at, got, s.want)
					}
				}
			})
		}
	}
}

func TestBreakerSince(t *testing.T) {
	r := newBreakerRig(BreakerSettings{})
	start := base.Add(hour)
	at := func(d time.Duration) instant { return instantOf(start.Add(d)) }
	since := func(d time.Duration, want time.Time) {
		t.Helper()
		if got := r.status(at(d)).Since; !got.Equal(want) {
			t.Errorf("after %v: since %v, want %v", d, got, want)
		}
	}
	since(0, time.Time{})
	bad(5)(r, at(0))
	since(0, start)
	since(minute, start) // half-open to whoever looks
	enter("p")(r, at(minute))
	since(minute, start)
	fails("p")(r, at(minute))
	since(2*minute, start) // a break that follows a break
	enter("p")(r, at(2*minute))
	succeeds("p")(r, at(2*minute))
	probed(succeeds)(r, at(2*minute))
	since(2*minute, time.Time{})
	bad(5)(r, at(3*minute))
	since(3*minute, start.Add(3*minute))
}

// A break is between half and all of what it would be without jitter, and both
// ends are reached.
func TestBreakerJitterNeverLengthens(t *testing.T) {
	for _, nominal := range []time.Duration{1, 2, 3, 15 * second, 2 * minute, maxDuration} {
		s := BreakerSettings{ConsecutiveFailures: 1, Break: nominal, MaxBreak: nominal}
		for _, u := range []float64{0, 0.1, 0.25, 0.5, 0.75, 0.999, almostOne} {
			r := newBreakerRig(s)
			r.u = u
			bad(1)(r, 0)
			if r.length > nominal || r.length < nominal/2 {
				t.Errorf("a break of %v lasts %v at u = %v", nominal, r.length, u)
			}
			inexact := time.Duration(float64(nominal) * 1e-15)
			if u == almostOne && r.length < nominal-inexact {
				t.Errorf("a break of %v lasts %v at most", nominal, r.length)
			}
			if u == 0 && r.length > nominal-nominal/2 {
				t.Errorf("a break of %v lasts %v at least", nominal, r.length)
			}
		}
	}
}

// However often it opens, a break is no longer than the longest.
func TestBreakerGrowthIsBounded(t *testing.T) {
	r := newBreakerRig(BreakerSettings{ConsecutiveFailures: 1})
	now := instant(0)
	bad(1)(r, now)
	for i := range 5000 {
		now += instant(r.length)
		enter("p")(r, now)
		fails("p")(r, now)
		if want := min(15*second<<min(i+1, 10), 2*minute); r.length != want {
			t.Fatalf("break %d lasts %v, want %v", i+2, r.length, want)
		}
	}
}

// Looking at a breaker takes no slot and moves nothing, however late it is.
func TestBreakerStatusIsPure(t *testing.T) {
	type snapshot struct {
		word      uint64
		failures  int32
		openedAt  instant
		length    time.Duration
		breaks    int
		successes int
		probes    string
	}
	shoot := func(r *breakerRig) snapshot {
		return snapshot{r.word.Load(), r.failures.Load(), r.openedAt, r.length, r.breaks,
			r.successes, fmt.Sprint(r.probes)}
	}
	for name, table := range breakerTables {
		r := newBreakerRig(table.settings)
		for i, s := range table.steps {
			now := instant(s.at)
			s.op(r, now)
			before := shoot(r)
			for _, d := range []time.Duration{0, second, minute, hour, 1000 * hour} {
				later := max(now, r.openedAt).add(d)
				r.status(later)
				r.retryAfter(later)
				r.refuses(later)
				r.openUntil()
			}
			if after := shoot(r); after != before {
				t.Errorf("%s, step %d: looking turned %v into %v", name, i, before, after)
			}
		}
	}
}

// An attempt that saw the breaker open, and waited for the lock while it closed,
// is let in as any other.
func TestBreakerClosesMeanwhile(t *testing.T) {
	r := newBreakerRig(BreakerSettings{ConsecutiveFailures: 1})
	a, ok, tr := r.admitSlow(0, &r.s, second)
	if !ok || a.probe != 0 || tr.kind != 0 {
		t.Errorf("%+v, %t, %+v, want an ordinary admission", a, ok, tr)
	}
	if got := tell(r.failed(0, &r.s, a, false, almostOne)); got != "opened 15s" {
		t.Errorf("its failure: %q", got)
	}
}

// The number of a probe skips zero, which stands for none, when it wraps.
func TestBreakerProbeNumbersWrap(t *testing.T) {
	r := newBreakerRig(BreakerSettings{ProbeSuccesses: 4})
	bad(5)(r, 0)
	r.lastProbe = math.MaxUint32 - 1
	r.admit(instant(minute), &r.s, 0) // hung at once
	for i, want := range []string{"", "", "", "closed"} {
		if got := probed(succeeds)(r, instant(minute)); got != want {
			t.Fatalf("probe %d: %q, want %q", i, got, want)
		}
	}
	if r.lastProbe != 4 {
		t.Errorf("the last probe is number %d, want 4", r.lastProbe)
	}
}

// The period is part of what a probe holds: its number comes again one day.
func TestBreakerProbeNumbersRepeat(t *testing.T) {
	r := newBreakerRig(BreakerSettings{})
	bad(5)(r, 0)
	enter("old")(r, instant(minute))
	enter("p")(r, instant(2*minute)) // old has hung
	fails("p")(r, instant(2*minute))
	r.lastProbe = 0
	enter("new")(r, instant(3*minute))
	if r.held["new"].probe != r.held["old"].probe {
		t.Fatalf("probes %d and %d", r.held["new"].probe, r.held["old"].probe)
	}
	if got := fails("old")(r, instant(3*minute)); got != "" || len(r.probes) != 1 {
		t.Errorf("a probe of another period speaks for this one: %q", got)
	}
}

func TestBreakerStateString(t *testing.T) {
	for s, want := range map[BreakerState]string{
		BreakerOff: "off", BreakerClosed: "closed", BreakerOpen: "open",
		BreakerHalfOpen: "half-open", -1: "off", 99: "off",
	} {
		if got := s.String(); got != want {
			t.Errorf("%d: %q, want %q", s, got, want)
		}
	}
}

// The lease of a probe is the attempt timeout, and without one the break.
func TestBreakerLease(t *testing.T) {
	for _, tt := range []struct {
		timeout, length, want time.Duration
	}{
		{0, 0, 10 * second},
		{3 * second, 0, 3 * second},
		{NoLimit, 0, 15 * second},
		{NoLimit, 7 * second, 7 * second},
	} {
		p := Policy{AttemptTimeout: tt.timeout, Breaker: &BreakerSettings{Break: tt.length}}
		s, err := p.resolve()
		if err != nil {
			t.Fatal(err)
		}
		if s.lease != tt.want {
			t.Errorf("timeout %v, break %v: a lease of %v, want %v",
				tt.timeout, tt.length, s.lease, tt.want)
		}
	}
}

// A breakerWitness checks, from outside, what a crowd of calls is promised.
type breakerWitness struct {
	inFlight                 [1 << 16]atomic.Int32 // probes, by generation
	openedBy                 [1 << 16]atomic.Int32 // events, by the generation they ended
	opened, halfOpen, closed atomic.Int64
}

// saw notes a change of state that was told to an attempt of the given
// generation.
func (w *breakerWitness) saw(t *testing.T, tr transition, generation uint64) {
	switch tr.kind {
	case EventBreakerOpened:
		w.opened.Add(1)
		if n := w.openedBy[generation].Add(1); n != 1 {
			t.Errorf("generation %d was ended by %d opened events", generation, n)
		}
	case EventBreakerHalfOpened:
		w.halfOpen.Add(1)
	case EventBreakerClosed:
		w.closed.Add(1)
	}
}

// Many goroutines, all kinds of endings, a clock that runs: never more than
// Probes of a period are out, and each change of state is told exactly once.
func TestBreakerHammer(t *testing.T) {
	const goroutines, probes = 8, 2
	s := BreakerSettings{ConsecutiveFailures: 3, Probes: probes, FailureRatio: 0.6,
		MinimumCalls: 10, Break: time.Millisecond, MaxBreak: 4 * time.Millisecond}.withDefaults()
	var b breaker
	var w breakerWitness
	var clock atomic.Int64
	var wg sync.WaitGroup
	for g := range goroutines {
		random := newStateRand(uint64(g))
		now := func() instant { return instant(clock.Add(random.Int64N(100_000))) }
		wg.Go(func() {
			for range 4000 {
				a, ok, tr := b.admit(now(), &s, hour)
				w.saw(t, tr, 0)
				if !ok {
					b.status(now())
					b.retryAfter(now())
					continue
				}
				generation := a.word >> stateBits
				if a.probe != 0 {
					if n := w.inFlight[generation].Add(1); n > probes {
						t.Errorf("%d probes of generation %d are out", n, generation)
					}
				}
				b.refuses(now())
				if a.probe != 0 {
					w.inFlight[generation].Add(-1)
				}
				switch random.Int64N(5) {
				case 0, 1:
					w.saw(t, b.succeeded(now(), &s, a, uint32(g)), generation)
				case 2:
					w.saw(t, b.failed(now(), &s, a, false, random.Float64()), generation)
				case 3:
					w.saw(t, b.failed(now(), &s, a, true, random.Float64()), generation)
				case 4:
					b.returned(now(), a)
				}
			}
		})
	}
	wg.Wait()
	opened, halfOpen, closed := w.opened.Load(), w.halfOpen.Load(), w.closed.Load()
	if generation := int64(b.word.Load() >> stateBits); opened+halfOpen+closed != generation {
		t.Errorf("%d + %d + %d events of %d changes", opened, halfOpen, closed, generation)
	}
	if opened < 100 || closed < 20 {
		t.Errorf("opened %d times and closed %d times: too little was tried", opened, closed)
	}
	if d := opened - halfOpen; d != 0 && d != 1 {
		t.Errorf("opened %d times and half-opened %d times", opened, halfOpen)
	}
	if len(b.probes) != 0 && b.state() != stateHalfOpen {
		t.Errorf("%d slots are taken outside the half-open state", len(b.probes))
	}
}

func TestBreakerAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	s := BreakerSettings{FailureRatio: 0.9}.withDefaults()
	var b breaker
	if n := testing.AllocsPerRun(1000, func() {
		a, _, _ := b.admit(0, &s, second)
		b.succeeded(0, &s, a, 0)
		b.failed(0, &s, a, false, 0)
		b.succeeded(0, &s, a, 0)
		b.status(0)
	}); n != 0 {
		t.Errorf("closed: %v allocations, want none", n)
	}
	b.open(0, &s, 0)
	if n := testing.AllocsPerRun(1000, func() {
		b.admit(0, &s, second)
		b.refuses(0)
		b.retryAfter(0)
		b.status(0)
	}); n != 0 {
		t.Errorf("open: %v allocations, want none", n)
	}
	now := instant(hour)
	b.admit(now, &s, second)
	if n := testing.AllocsPerRun(1000, func() {
		now += instant(second)
		a, _, _ := b.admit(now, &s, second)
		b.returned(now, a)
	}); n != 0 {
		t.Errorf("half-open: %v allocations, want none", n)
	}
}

func BenchmarkBreaker(b *testing.B) {
	for name, s := range map[string]BreakerSettings{
		"consecutive": {}, "ratio": {FailureRatio: 0.5},
	} {
		s = s.withDefaults()
		pass := func(br *breaker, stripe uint32) {
			a, _, _ := br.admit(0, &s, second)
			br.succeeded(0, &s, a, stripe)
		}
		b.Run(name+", closed", func(b *testing.B) {
			var br breaker
			for b.Loop() {
				pass(&br, 0)
			}
		})
		b.Run(name+", closed parallel", func(b *testing.B) {
			var br breaker
			var stripes atomic.Uint32
			b.RunParallel(func(pb *testing.PB) {
				stripe := stripes.Add(1)
				for pb.Next() {
					pass(&br, stripe)
				}
			})
		})
	}
	b.Run("open", func(b *testing.B) {
		s := BreakerSettings{}.withDefaults()
		var br breaker
		br.open(0, &s, 0)
		for b.Loop() {
			br.admit(0, &s, second)
		}
	})
}
