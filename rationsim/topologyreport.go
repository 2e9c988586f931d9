package rationsim

import (
	"time"

	"github.com/ration-go/ration"
)

// A TopologyReport is what one run of a [Topology] showed. It is a value;
// nothing changes it.
//
// It conserves, exactly: what the entries and edges to a service have sent, as
// their Attempts, is what it has Received; every call and every request ends
// once, and every second of a timeline is part of the total.
type TopologyReport struct {
	Name string // of the topology
	Seed uint64 // of the run

	Entries  []EntryReport   // as in the topology
	Edges    []EdgeReport    // those between services, in the order of the services and their Calls
	Services []ServiceReport // as in the topology
}

// An EntryReport is what the users of one entry saw.
type EntryReport struct {
	EdgeReport

	// ByCriticality is the same by level, least critical first, without levels
	// that no call had.
	ByCriticality []CriticalityReport

	// TimeToRecover is the time from the end of the last trouble of any service
	// to the first call from whose arrival on every call that arrives here within
	// a second succeeds. Recovered is false, and TimeToRecover 0, when there was
	// no trouble that ends, or no such second before the arrivals ended.
	TimeToRecover time.Duration
	Recovered     bool
}

// A CriticalityReport is what became of the calls at one level of criticality.
type CriticalityReport struct {
	Criticality  ration.Criticality
	Calls        int
	Succeeded    int
	Availability float64 // the share that succeeded
}

// An EdgeReport is what one caller saw of one service that it calls, all its
// replicas together.
type EdgeReport struct {
	From string // the calling service, or the entry
	To   string // the service that is called

	Calls     int // each of them ended
	Succeeded int
	Failed    int
	Canceled  int // calls that ended because their request was cancelled

	Attempts  int // that were sent
	TimedOut  int // attempts that were given up at their bound
	Throttled int // attempts that were answered 429

	// Availability is the share of calls that succeeded, those that were
	// cancelled left out; 0 without calls.
	Availability float64

	// LoadMultiplier is attempts per call, over the whole run: what this edge's
	// own retries do. It is 0 without calls.
	LoadMultiplier float64

	// Amplification is the worst second: the attempts sent in it, per call that
	// the arrivals at the entries cause here when nothing is retried or refused.
	// The retries of every hop above count. That load is what the entries offered
	// in the second or, where that is more, what they offer in it on average. It
	// is 0 without calls.
	Amplification float64

	// Stops counts the calls by how they ended. What a [Limiter] refused counts
	// as StopBudgetExhausted, what was cancelled as StopCanceled.
	Stops map[ration.StopReason]int

	BreakerOpens int // times that a replica's breaker opened

	// Nested says that calls were made here, with retries, for a request that its
	// sender would retry: the edge multiplies what is above it. NestedCalls is
	// how many.
	Nested      bool
	NestedCalls int

	// Latency is that of calls, retries, waits and pauses included, whether they
	// succeeded or not, those that were cancelled left out. It is nil without
	// any. It is exact up to two million calls, beyond which it is within 0.2 %.
	Latency *Latencies

	// Timeline is the run second by second, from the start until the last call
	// has ended. Its last entry stands for all that is later than an hour after
	// the end of the arrivals.
	Timeline []EdgeSecond
}

// An EdgeSecond is one second of an edge's timeline.
type EdgeSecond struct {
	Offered  int // calls that began
	Attempts int // that were sent

	Succeeded, Failed, Canceled int // calls that ended

	RefusedByBudget  int // calls that failed since a budget or a limiter refused
	RefusedByBreaker int // calls that failed since a breaker refused

	// Budget is how much of the budget is spent at the end of the second, from 0
	// to 1: the mean over the callers' replicas. It is 0 without a budget.
	Budget float64

	// P50 and P99 are quantiles of the latency of the calls that ended; 0 if none.
	P50, P99 time.Duration
}

// A ServiceReport is what one service saw, all its replicas together.
type ServiceReport struct {
	Name string // of the service

	// Received is the requests that reached it. Each had one of the ends below.
	Received  int
	Succeeded int // answered well
	Failed    int // answered with a failure of its own work or of a call it made
	Down      int // arrived in an outage
	Throttled int // answered 429
	Shed      int // found the queue full
	Expired   int // dropped by DropExpired
	Canceled  int // ended by CancelsWork

	// Wasted is how many of those that succeeded or failed did so when their
	// caller had gone: work for nobody.
	Wasted int

	// Amplification is the worst second: the requests received in it, per request
	// that the arrivals at the entries cause when nothing is retried or refused;
	// see [EdgeReport]. It is 0 without calls.
	Amplification float64

	// LoadMultiplier is the same over the whole run.
	LoadMultiplier float64

	// Timeline is the run second by second, as that of an edge.
	Timeline []ServiceSecond
}

// A ServiceSecond is one second of a service's timeline.
type ServiceSecond struct {
	Received int // requests that arrived

	Succeeded, Failed int // requests that were answered so
	Refused           int // requests that were down, throttled, shed or expired
	Wasted            int // of those that succeeded or failed: their caller had gone

	Queue int // the most that waited at one time, in all replicas together

	// Busy is how many requests were held, on average over the second and in all
	// replicas together, the queue aside. Utilization is that as a share of the
	// Concurrency, and 0 without one.
	Busy        float64
	Utilization float64
}
