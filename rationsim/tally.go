package rationsim

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/ration-go/ration"
)

// tail is how long after the last arrival the timeline goes on at most. A call
// without a deadline may end years later, and each of those seconds would take
// memory.
const tail = time.Hour

// A tally counts while a simulation runs.
type tally struct {
	rate         float64       // calls expected per second
	end          time.Duration // of arrivals
	impaired     time.Duration // end of the last impairment
	hasImpaired  bool
	timeline     []Second
	latencies    []time.Duration
	after        []fate // of the calls that arrived after the last impairment
	stops        map[ration.StopReason]int
	attempts     int
	breakerOpens int
}

// A fate is what became of a call that arrived at a given time.
type fate struct {
	at     time.Duration
	failed bool
}

func (t *tally) init(s Scenario) {
	t.rate = s.Rate
	t.end = s.Duration
	t.impaired, t.hasImpaired = s.Dependency.impairedUntil()
	t.stops = make(map[ration.StopReason]int)
}

func (t *tally) second(at time.Duration) *Second {
	i := int(min(at, t.end+tail) / time.Second)
	if i >= len(t.timeline) {
		t.timeline = append(t.timeline, make([]Second, i+1-len(t.timeline))...)
	}
	return &t.timeline[i]
}

func (t *tally) offered(at time.Duration) { t.second(at).Offered++ }

func (t *tally) attempted(at time.Duration) {
	t.attempts++
	t.second(at).Attempts++
}

func (t *tally) ended(began, at time.Duration, why ration.StopReason) {
	t.stops[why]++
	t.latencies = append(t.latencies, at-began)
	failed := why != ration.StopSucceeded
	if t.hasImpaired && began >= t.impaired {
		t.after = append(t.after, fate{began, failed})
	}
	s := t.second(at)
	if !failed {
		s.Succeeded++
		return
	}
	s.Failed++
	if why == ration.StopBudgetExhausted || why == ration.StopUnavailable {
		s.Refused++
	}
}

func (t *tally) report(name string, seed uint64) *Report {
	r := &Report{
		Name:         name,
		Seed:         seed,
		Calls:        len(t.latencies),
		Succeeded:    t.stops[ration.StopSucceeded],
		Attempts:     t.attempts,
		BreakerOpens: t.breakerOpens,
		Stops:        t.stops,
		Timeline:     t.timeline,
	}
	r.Failed = r.Calls - r.Succeeded
	r.TimeToRecover, r.Recovered = t.recovery()
	if r.Calls == 0 {
		return r
	}
	r.Availability = float64(r.Succeeded) / float64(r.Calls)
	r.LoadMultiplier = float64(r.Attempts) / float64(r.Calls)
	r.Amplification = t.amplification()
	slices.Sort(t.latencies)
	r.Latency = &Latencies{
		P50: quantile(t.latencies, 0.5),
		P90: quantile(t.latencies, 0.9),
		P99: quantile(t.latencies, 0.99),
		Max: t.latencies[len(t.latencies)-1],
	}
	return r
}

// amplification measures the attempts in a second against the larger of two
// loads. The arrivals expected in a second would not do alone: at 500 a second,
// the busiest of 300 seconds has 13 % more by chance, which hides all that a
// budget lets through. Nor would the arrivals that there were: a quiet second
// that gets the retries of a busy one, or the last, broken one, would look like
// a storm.
func (t *tally) amplification() (worst float64) {
	for i, s := range t.timeline {
		if time.Duration(i)*time.Second >= t.end {
			break
		}
		load := max(float64(s.Offered), t.rate, 1)
		worst = max(worst, float64(s.Attempts)/load)
	}
	return worst
}

// recovery finds the first call after the impairments from which on every call
// succeeds for a second, and returns how long after them it arrived.
func (t *tally) recovery() (time.Duration, bool) {
	slices.SortFunc(t.after, func(a, b fate) int { return cmp.Compare(a.at, b.at) })
	const none = -1
	first := time.Duration(none)
	for _, f := range t.after {
		switch {
		case f.failed && (first == none || f.at < first+time.Second):
			first = none
		case first == none:
			first = f.at
		case f.at >= first+time.Second:
			return first - t.impaired, true
		}
	}
	if first == none || first+time.Second > t.end {
		return 0, false
	}
	return first - t.impaired, true
}

// quantile returns the nearest-rank q-quantile of sorted durations, of which
// there is at least one.
func quantile(sorted []time.Duration, q float64) time.Duration {
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}
