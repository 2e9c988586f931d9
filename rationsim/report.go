package rationsim

import (
	"encoding/json"
	"time"

	"github.com/ration-go/ration"
)

// A Report is what one simulation showed. It is a value; nothing changes it.
type Report struct {
	Name string // of the configuration
	Seed uint64 // of the run

	Calls     int // that arrived; each of them ended
	Succeeded int // calls that ended well
	Failed    int // the others
	Attempts  int // that reached the dependency

	// Availability is the share of calls that succeeded; 0 without calls.
	Availability float64

	// LoadMultiplier is attempts per call, over the whole run; 0 without calls.
	LoadMultiplier float64

	// Amplification is the worst second that the dependency felt: the attempts
	// in it, retries included, per call that arrived in it, or per call that the
	// Rate has arrive in a second where that is more. Seconds are counted from
	// the start, until arrivals end. So a busy second is no amplification, and
	// neither is a quiet one after it: without retries it is 1 at most. It is 0
	// without calls.
	Amplification float64

	// Latency is that of calls, retries, waits and pauses included, whether
	// they succeeded or not. It is nil when there were no calls.
	Latency *Latencies

	BreakerOpens int // times that the breaker opened

	// TimeToRecover is the time from the end of the last brownout or outage to
	// the first call from whose arrival on every call that arrives within a
	// second succeeds. Recovered is false, and TimeToRecover 0, when there was
	// no brownout or outage, or no such second before the arrivals ended.
	TimeToRecover time.Duration
	Recovered     bool

	// Stops counts the calls by how they ended.
	Stops map[ration.StopReason]int

	// Timeline is the run second by second, from the start until the last call
	// has ended. Its last entry stands for all that is later than an hour after
	// the end of the arrivals.
	Timeline []Second
}

// Latencies are quantiles by nearest rank: each is the latency of some call, and
// of one call all are the same.
type Latencies struct {
	P50, P90, P99, Max time.Duration // half of the calls, 90 %, 99 % and all took no longer
}

// A Second is one second of the timeline.
type Second struct {
	Offered                    int // calls that arrived
	Attempts                   int // that reached the dependency
	Succeeded, Failed, Refused int // calls that ended; those refused have also failed
}

// newReport reads a report off that of an entry, of which the given number of
// seconds are its own.
func newReport(name string, n EntryReport, seconds int, seed uint64) *Report {
	r := &Report{
		Name:           name,
		Seed:           seed,
		Calls:          n.Calls,
		Succeeded:      n.Succeeded,
		Failed:         n.Failed,
		Attempts:       n.Attempts,
		Availability:   n.Availability,
		LoadMultiplier: n.LoadMultiplier,
		Amplification:  n.Amplification,
		Latency:        n.Latency,
		BreakerOpens:   n.BreakerOpens,
		TimeToRecover:  n.TimeToRecover,
		Recovered:      n.Recovered,
		Stops:          n.Stops,
	}
	for _, s := range n.Timeline[:seconds] {
		r.Timeline = append(r.Timeline, Second{
			Offered:   s.Offered,
			Attempts:  s.Attempts,
			Succeeded: s.Succeeded,
			Failed:    s.Failed,
			Refused:   s.RefusedByBudget + s.RefusedByBreaker,
		})
	}
	return r
}

// MarshalJSON writes the report without its seed and timeline, durations in
// seconds. What there is no value for is null: shares and latencies when there
// were no calls, a recovery that did not happen.
func (r Report) MarshalJSON() ([]byte, error) {
	out := wireReport{
		Name:         r.Name,
		Calls:        r.Calls,
		Succeeded:    r.Succeeded,
		Failed:       r.Failed,
		Attempts:     r.Attempts,
		BreakerOpens: r.BreakerOpens,
		Stops: wireStops{
			Succeeded:         r.Stops[ration.StopSucceeded],
			Permanent:         r.Stops[ration.StopPermanent],
			AttemptsExhausted: r.Stops[ration.StopAttemptsExhausted],
			DeadlineExceeded:  r.Stops[ration.StopDeadlineExceeded],
			BudgetExhausted:   r.Stops[ration.StopBudgetExhausted],
			Unavailable:       r.Stops[ration.StopUnavailable],
		},
	}
	if r.Calls > 0 {
		out.Availability = &r.Availability
		out.LoadMultiplier = &r.LoadMultiplier
		out.Amplification = &r.Amplification
	}
	if l := r.Latency; l != nil {
		out.Latency = &wireLatencies{
			l.P50.Seconds(), l.P90.Seconds(), l.P99.Seconds(), l.Max.Seconds(),
		}
	}
	if r.Recovered {
		s := r.TimeToRecover.Seconds()
		out.TimeToRecover = &s
	}
	return json.Marshal(out)
}

// wireReport is the documented form of a report. Programs rely on its names.
type wireReport struct {
	Name           string         `json:"name"`
	Calls          int            `json:"calls"`
	Succeeded      int            `json:"succeeded"`
	Failed         int            `json:"failed"`
	Attempts       int            `json:"attempts"`
	Availability   *float64       `json:"availability"`
	LoadMultiplier *float64       `json:"load_multiplier"`
	Amplification  *float64       `json:"amplification"`
	Latency        *wireLatencies `json:"latency_s"`
	BreakerOpens   int            `json:"breaker_opens"`
	TimeToRecover  *float64       `json:"time_to_recover_s"`
	Stops          wireStops      `json:"stops"`
}

type wireLatencies struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// wireStops has a key for every way in which a simulated call ends. Nobody
// cancels or abandons one.
type wireStops struct {
	Succeeded         int `json:"succeeded"`
	Permanent         int `json:"permanent"`
	AttemptsExhausted int `json:"attempts_exhausted"`
	DeadlineExceeded  int `json:"deadline_exceeded"`
	BudgetExhausted   int `json:"budget_exhausted"`
	Unavailable       int `json:"unavailable"`
}
