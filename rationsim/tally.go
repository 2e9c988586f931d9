package rationsim

import (
	"slices"
	"time"

	"github.com/ration-go/ration"
)

// An edgeTally counts, while a simulation runs, what the callers of an edge see.
type edgeTally struct {
	timeline     []EdgeSecond
	used         int // seconds in which something happened, or before one
	stops        [ration.StopAbandoned + 1]int
	attempts     int
	timedOut     int
	throttled    int
	breakerOpens int
	nested       int
	latencies    latencies
	recent       []time.Duration // of the calls that ended in this second
}

func (t *edgeTally) second(i int) *EdgeSecond {
	t.used = i + 1
	return extend(&t.timeline, i)
}

// extend returns item i of a slice, which it makes long enough.
func extend[T any](s *[]T, i int) *T {
	if i >= len(*s) {
		*s = append(*s, make([]T, i+1-len(*s))...)
	}
	return &(*s)[i]
}

func (t *edgeTally) offered(second int) { t.second(second).Offered++ }

func (t *edgeTally) attempted(second int) {
	t.attempts++
	t.second(second).Attempts++
}

func (t *edgeTally) ended(second int, took time.Duration, why ration.StopReason) {
	t.stops[why]++
	t.latencies.add(took)
	t.recent = append(t.recent, took)
	s := t.second(second)
	switch why {
	case ration.StopSucceeded:
		s.Succeeded++
		return
	case ration.StopBudgetExhausted:
		s.RefusedByBudget++
	case ration.StopUnavailable:
		s.RefusedByBreaker++
	}
	s.Failed++
}

func (t *edgeTally) canceled(second int) {
	t.stops[ration.StopCanceled]++
	t.second(second).Canceled++
}

// turn completes a second that is over.
func (t *edgeTally) turn(second int, budget float64) {
	s := extend(&t.timeline, second)
	s.Budget = budget
	if len(t.recent) > 0 {
		slices.Sort(t.recent)
		s.P50, s.P99 = quantile(t.recent, 0.5), quantile(t.recent, 0.99)
		t.recent = t.recent[:0]
	}
}

// report returns what was counted.
func (t *edgeTally) report() EdgeReport {
	r := EdgeReport{
		Succeeded:    t.stops[ration.StopSucceeded],
		Canceled:     t.stops[ration.StopCanceled],
		Attempts:     t.attempts,
		TimedOut:     t.timedOut,
		Throttled:    t.throttled,
		BreakerOpens: t.breakerOpens,
		Nested:       t.nested > 0,
		NestedCalls:  t.nested,
		Stops:        make(map[ration.StopReason]int),
		Latency:      t.latencies.report(),
		Timeline:     t.timeline,
	}
	for why, n := range t.stops {
		r.Calls += n
		if n > 0 {
			r.Stops[ration.StopReason(why)] = n
		}
	}
	r.Failed = r.Calls - r.Succeeded - r.Canceled
	if r.Calls > 0 {
		r.LoadMultiplier = float64(r.Attempts) / float64(r.Calls)
	}
	if n := r.Calls - r.Canceled; n > 0 {
		r.Availability = float64(r.Succeeded) / float64(n)
	}
	return r
}

// A serverTally counts what a service sees.
type serverTally struct {
	timeline []ServiceSecond
	used     int
	requests int
	ends     [ends]int
	wasted   int
	waiting  int           // in the queues now
	holding  int           // now
	counted  time.Duration // until when area is
	area     float64       // of holding over this second, in seconds
}

func (t *serverTally) second(i int) *ServiceSecond {
	t.used = i + 1
	return extend(&t.timeline, i)
}

func (t *serverTally) received(second int) {
	t.requests++
	t.second(second).Received++
}

func (t *serverTally) ended(second int, how end, wasted bool) {
	t.ends[how]++
	s := t.second(second)
	switch how {
	case endSucceeded:
		s.Succeeded++
	case endFailed:
		s.Failed++
	case endCanceled:
		return
	default:
		s.Refused++
		return
	}
	if wasted {
		t.wasted++
		s.Wasted++
	}
}

func (t *serverTally) queued(second, n int) {
	t.waiting += n
	if n > 0 {
		s := t.second(second)
		s.Queue = max(s.Queue, t.waiting)
	}
}

func (t *serverTally) held(now time.Duration, n int) {
	t.accrue(now)
	t.holding += n
}

func (t *serverTally) accrue(until time.Duration) {
	t.area += float64(float64(t.holding) * (until - t.counted).Seconds())
	t.counted = until
}

// turn completes a second that is over, and is until the given time. places is
// how many requests can be held; 0 = any number.
func (t *serverTally) turn(second int, until time.Duration, places int) {
	begun := time.Duration(second) * time.Second
	t.accrue(until)
	s := extend(&t.timeline, second)
	s.Busy = t.area / (until - begun).Seconds()
	if places > 0 {
		s.Utilization = s.Busy / float64(places)
	}
	t.area = 0
	if t.waiting > 0 {
		extend(&t.timeline, second+1).Queue = t.waiting
	}
}

// report returns what was counted.
func (t *serverTally) report(name string) ServiceReport {
	return ServiceReport{
		Name:      name,
		Received:  t.requests,
		Succeeded: t.ends[endSucceeded],
		Failed:    t.ends[endFailed],
		Down:      t.ends[endDown],
		Throttled: t.ends[endThrottled],
		Shed:      t.ends[endShed],
		Expired:   t.ends[endExpired],
		Canceled:  t.ends[endCanceled],
		Wasted:    t.wasted,
		Timeline:  t.timeline,
	}
}

// An entryTally counts what becomes of the calls of an entry, beyond what its
// edge counts.
type entryTally struct {
	end         time.Duration // of arrivals
	troubled    time.Duration // end of the last trouble
	hasTroubled bool
	after       []fate // of the calls that arrived after the last trouble
	calls       [len(levels)]int
	succeeded   [len(levels)]int
}

// A fate is what became of a call: when it arrived, in nanoseconds, times two,
// and one if it failed. A storm has millions.
type fate int64

func fateOf(at time.Duration, failed bool) fate {
	f := fate(at) << 1
	if failed {
		f |= 1
	}
	return f
}

func (f fate) at() time.Duration { return time.Duration(f >> 1) }
func (f fate) failed() bool      { return f&1 != 0 }

func (t *entryTally) init(p Topology) {
	t.end = p.Duration
	for _, s := range p.Services {
		if end, ok := s.troubledUntil(); ok {
			t.troubled, t.hasTroubled = max(t.troubled, end), true
		}
	}
}

func (t *entryTally) ended(began time.Duration, level int, ok bool) {
	t.calls[level]++
	if ok {
		t.succeeded[level]++
	}
	if t.hasTroubled && began >= t.troubled {
		t.after = append(t.after, fateOf(began, !ok))
	}
}

// recovery finds the first call after the troubles from which on every call
// succeeds for a second, and returns how long after them it arrived.
func (t *entryTally) recovery() (time.Duration, bool) {
	slices.Sort(t.after)
	const none = -1
	first := time.Duration(none)
	for _, f := range t.after {
		switch at := f.at(); {
		case f.failed() && (first == none || at < first+time.Second):
			first = none
		case first == none:
			first = at
		case at >= first+time.Second:
			return first - t.troubled, true
		}
	}
	if first == none || first+time.Second > t.end {
		return 0, false
	}
	return first - t.troubled, true
}

// byCriticality returns the fates by level.
func (t *entryTally) byCriticality() (rows []CriticalityReport) {
	for i, level := range levels {
		if t.calls[i] == 0 {
			continue
		}
		rows = append(rows, CriticalityReport{
			Criticality:  level,
			Calls:        t.calls[i],
			Succeeded:    t.succeeded[i],
			Availability: float64(t.succeeded[i]) / float64(t.calls[i]),
		})
	}
	return rows
}
