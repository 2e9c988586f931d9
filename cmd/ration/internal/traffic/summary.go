package traffic

import "time"

// A Summary is what the records come to. It is a value.
type Summary struct {
	Input  string   // what they were read as
	Files  []string // those that were read
	Counts Counts
	Faults []Fault // the first lines that could not be used

	// Assumptions are what the records do not say, and what a simulation takes in
	// its place.
	Assumptions []Assumption

	From     time.Time     // the second of the first call; zero if times are not known
	Duration time.Duration // to the last one
	Entries  []Entry       // where calls come in, the busiest first
	Services []Service     // what is called, callers before those they call
}

// Counts say what has become of each line, or of each span.
type Counts struct {
	Unit      string // what is counted: lines, spans or series
	Read      uint64 // all
	Used      uint64
	Malformed uint64
	Empty     uint64 // lines without text
	Other     uint64 // spans that are neither client nor server, series of other metrics
	Local     uint64 // calls that the proxy has answered by itself
	Stray     uint64 // calls far from all others in time
}

// A Fault is a line that could not be used, and why.
type Fault struct {
	File string
	Line int // from 1; 0 = the file as a whole
	Text string
}

// An Assumption has a name by which it can be referred to.
type Assumption struct{ Name, Text string }

// An Entry is where calls come in.
type Entry struct {
	Name     string
	To       string // the service
	Calls    uint64
	Retries  uint64 // attempts that came in besides, and are no calls
	Arrivals Arrivals
	Windows  []Window // of trouble
}

// A Service is what is called.
type Service struct {
	Name     string
	Requests uint64 // attempts that reached it
	Failed   uint64 // of them
	GaveUp   uint64 // of them; whose callers left before the answer
	Untimed  uint64 // of them; without a duration
	Zero     uint64 // of them; with a duration below the resolution of the log

	Quantiles []Quantile    // of those that succeeded; none if there were none
	Mean      time.Duration // of the same
	Failures  time.Duration // how long half of the failures took at most

	Statuses []Status // by number
	Hosts    []Host   // the busiest first
	Replicas int      // of upstream servers; 0 if hosts are something else

	Calls    []Edge // that it makes
	Parallel bool   // at the same time
}

// FailureRate returns the share of requests that failed, of those whose end is known.
func (s *Service) FailureRate() float64 {
	if s.Requests == s.GaveUp {
		return 0
	}
	return float64(s.Failed) / float64(s.Requests-s.GaveUp)
}

// A Quantile is a point of a distribution.
type Quantile struct {
	Q     float64
	Value time.Duration
}

// A Status is how many calls ended with one of HTTP, or with that of a span.
type Status struct {
	Code  string
	Calls uint64
}

// A Host is what became of the requests to one.
type Host struct {
	Name             string
	Requests, Failed uint64
}

// An Edge is the calls of one service to another.
type Edge struct {
	To       string
	Calls    uint64  // attempts that are no retries
	Retries  uint64  // the others
	PerCall  float64 // calls for each request of the caller
	Optional bool    // requests have succeeded although the call had failed
}

// quantiles are those that are written. Between them the simulator is linear, and so
// they are closer where a distribution of latencies bends.
var quantiles = []float64{
	0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.97, 0.98,
	0.985, 0.99, 0.995, 0.999, 1,
}

// quantiles returns those that the number of samples supports.
func (h *histogram) quantiles() (out []Quantile) {
	if h.n == 0 {
		return nil
	}
	for _, q := range quantiles {
		// Beyond that, a quantile is the luck of two or three samples.
		if q < 1 && q > 0.5 && (1-q)*float64(h.n) < 3 {
			continue
		}
		out = append(out, Quantile{q, threeDigits(h.quantile(q))})
	}
	return out
}

// threeDigits rounds to as many digits as are worth writing.
func threeDigits(d time.Duration) time.Duration {
	for unit := time.Duration(1); ; unit *= 10 {
		if r := d.Round(unit); r < 1000*unit {
			return r
		}
	}
}
