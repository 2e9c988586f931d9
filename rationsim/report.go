package rationsim

import (
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/ration-go/ration"
)

// A Report is what one simulation showed. It is a value; nothing changes it.
type Report struct {
	Name string // of the configuration
	Seed uint64

	Calls     int // that arrived; each of them ended
	Succeeded int
	Failed    int
	Attempts  int // that reached the dependency

	// Availability is the share of calls that succeeded.
	Availability float64

	// LoadMultiplier is attempts per call, over the whole run.
	LoadMultiplier float64

	// Amplification is the worst second that the dependency felt: attempts in
	// it per call that arrived in it. Seconds are counted from the start, and
	// the arrivals of that same second are what attempts are measured against,
	// because the chance of a busy second is then in both numbers.
	Amplification float64

	// Latency is that of calls, retries, waits and pauses included, whether
	// they succeeded or not. It is nil when there were no calls.
	Latency *Latencies

	BreakerOpens int // times that the breaker opened

	// TimeToRecover is how long after the end of the last impairment a second
	// begins in which every call that arrives succeeds. Recovered is false if
	// there was no impairment, or no such second before the arrivals ended.
	TimeToRecover time.Duration
	Recovered     bool

	Stops    map[ration.StopReason]int // calls by how they ended
	Timeline []Second                  // from the start until the last call has ended
}

// Latencies are quantiles.
type Latencies struct {
	P50, P90, P99, Max time.Duration // by nearest rank: each is that of some call
}

// A Second is one second of the timeline.
type Second struct {
	Offered                    int // calls that arrived
	Attempts                   int // that reached the dependency
	Succeeded, Failed, Refused int // calls that ended; those refused have also failed
}

// A tally counts while a simulation runs.
type tally struct {
	end          time.Duration // of arrivals
	impaired     time.Duration // end of the last impairment
	hasImpaired  bool
	timeline     []Second
	latencies    []time.Duration
	failures     []time.Duration // arrivals, after the impairment, of calls that failed
	stops        map[ration.StopReason]int
	attempts     int
	breakerOpens int
}

func (t *tally) init(s Scenario) {
	t.end = s.Duration
	t.impaired, t.hasImpaired = s.Dependency.impairedUntil()
	t.stops = make(map[ration.StopReason]int)
}

func (t *tally) second(at time.Duration) *Second {
	i := int(at / time.Second)
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
	s := t.second(at)
	if why == ration.StopSucceeded {
		s.Succeeded++
		return
	}
	s.Failed++
	if why == ration.StopBudgetExhausted || why == ration.StopUnavailable {
		s.Refused++
	}
	if t.hasImpaired && began >= t.impaired {
		t.failures = append(t.failures, began)
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
	for _, s := range t.timeline {
		if s.Offered > 0 {
			r.Amplification = max(r.Amplification, float64(s.Attempts)/float64(s.Offered))
		}
	}
	r.TimeToRecover, r.Recovered = t.recovery()
	if r.Calls == 0 {
		return r
	}
	r.Availability = float64(r.Succeeded) / float64(r.Calls)
	r.LoadMultiplier = float64(r.Attempts) / float64(r.Calls)
	slices.Sort(t.latencies)
	r.Latency = &Latencies{
		P50: quantile(t.latencies, 0.5),
		P90: quantile(t.latencies, 0.9),
		P99: quantile(t.latencies, 0.99),
		Max: t.latencies[len(t.latencies)-1],
	}
	return r
}

// recovery finds the first second after the impairment without a failed arrival.
func (t *tally) recovery() (time.Duration, bool) {
	if !t.hasImpaired {
		return 0, false
	}
	slices.Sort(t.failures)
	from := t.impaired
	for _, failure := range t.failures {
		if failure >= from+time.Second {
			break
		}
		from = failure + 1
	}
	if from+time.Second > t.end {
		return 0, false
	}
	return from - t.impaired, true
}

// quantile returns the nearest-rank q-quantile of sorted durations, of which
// there is at least one.
func quantile(sorted []time.Duration, q float64) time.Duration {
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

// reportStops are the reasons that a report lists, in its order.
var reportStops = []ration.StopReason{
	ration.StopSucceeded,
	ration.StopPermanent,
	ration.StopAttemptsExhausted,
	ration.StopDeadlineExceeded,
	ration.StopBudgetExhausted,
	ration.StopUnavailable,
}

// MarshalJSON writes the report without its timeline, times in seconds. What
// there is no value for is null: latencies and shares when there were no calls,
// a recovery that did not happen.
func (r *Report) MarshalJSON() ([]byte, error) {
	type latencies struct {
		P50 float64 `json:"p50"`
		P90 float64 `json:"p90"`
		P99 float64 `json:"p99"`
		Max float64 `json:"max"`
	}
	out := struct {
		Name           string     `json:"name"`
		Calls          int        `json:"calls"`
		Succeeded      int        `json:"succeeded"`
		Failed         int        `json:"failed"`
		Attempts       int        `json:"attempts"`
		Availability   *float64   `json:"availability"`
		LoadMultiplier *float64   `json:"load_multiplier"`
		Amplification  *float64   `json:"amplification"`
		Latency        *latencies `json:"latency_s"`
		BreakerOpens   int        `json:"breaker_opens"`
		TimeToRecover  *float64   `json:"time_to_recover_s"`
		Stops          stops      `json:"stops"`
	}{
		Name:         r.Name,
		Calls:        r.Calls,
		Succeeded:    r.Succeeded,
		Failed:       r.Failed,
		Attempts:     r.Attempts,
		BreakerOpens: r.BreakerOpens,
		Stops:        stops(r.Stops),
	}
	if r.Calls > 0 {
		out.Availability = &r.Availability
		out.LoadMultiplier = &r.LoadMultiplier
		out.Amplification = &r.Amplification
	}
	if l := r.Latency; l != nil {
		out.Latency = &latencies{
			l.P50.Seconds(), l.P90.Seconds(), l.P99.Seconds(), l.Max.Seconds(),
		}
	}
	if r.Recovered {
		s := r.TimeToRecover.Seconds()
		out.TimeToRecover = &s
	}
	return json.Marshal(out)
}

// stops marshals as an object with every reason, in a fixed order.
type stops map[ration.StopReason]int

func (s stops) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, reason := range reportStops {
		if i > 0 {
			b = append(b, ',')
		}
		key, err := json.Marshal(reason.String())
		if err != nil {
			return nil, err
		}
		n, err := json.Marshal(s[reason])
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, key...), ':'), n...)
	}
	return append(b, '}'), nil
}
