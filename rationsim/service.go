package rationsim

import "time"

// A Service is what requests reach, and which may call others for them. It is a
// value; the zero value lacks a name and a latency.
//
// A request is worked on first, for as long as Latency says, then makes its
// calls, then answers. It answers with a transient failure when its work has
// failed, which spares the calls, or when a call has that is not Optional.
// Meanwhile it occupies one place of the replica's Concurrency, also while it
// waits for its calls, as a thread for each request would: so congestion travels
// upwards.
type Service struct {
	// Name is how entries and edges refer to it. It must not be empty.
	Name string

	// Replicas is how many there are, 10,000 at most; 0 = 1. Each attempt goes to
	// one of them, chosen at random and evenly.
	Replicas int

	// Latency is how long the service's own work on a request takes while all is
	// well, without what it waits for.
	Latency Latency

	// FailureRate, in [0, 1], is the share of requests whose work fails, at its
	// end and independently of each other.
	FailureRate float64

	// Concurrency is how many requests one replica holds at once; 0 = any number.
	// Queue is how many more wait for their turn in each replica; one more is
	// shed at once, which is a transient failure.
	Concurrency int
	Queue       int

	// Order is who in the queue is next; zero = first come, first served.
	Order Order

	// DropExpired drops what has waited past the end of its caller's patience
	// instead of working on it. The caller does not hear of it.
	DropExpired bool

	// CancelsWork ends the work, and the calls made for it, when the caller has
	// gone. false = the work goes on to its end and nobody has the answer, as
	// in most servers.
	CancelsWork bool

	// KeepsDeadline bounds the calls made for a request by the deadline of the
	// attempt that it came with. false = by their own policies alone.
	KeepsDeadline bool

	Brownouts []Brownout   // where several overlap, their factors multiply
	Outages   []Outage     // of all replicas
	Failures  []Failing    // stretches of more failures, besides FailureRate
	Bad       []BadReplica // replicas that are worse than the others

	// Cold makes each replica slow after an outage. nil = it is warm at once.
	Cold *Cold

	// RateLimit answers 429 to what is beyond it. nil = none.
	RateLimit *RateLimit

	// Calls are the calls that each request makes, in this order, each once the
	// one before has ended; a failed one that is not Optional ends the request.
	// With Parallel they all begin at once, and the request waits for all.
	Calls    []Edge
	Parallel bool
}

// Order is who is next in a queue. The zero value is [FIFO].
type Order int

// The orders.
const (
	FIFO Order = iota // the one that has waited longest
	LIFO              // the one that came last, whose caller is the likeliest to be there still
)

// String returns the order's name.
func (o Order) String() string {
	switch o {
	case FIFO:
		return "FIFO"
	case LIFO:
		return "LIFO"
	}
	return "Order(?)"
}

// A Brownout makes work that begins in it Slower times as slow.
type Brownout struct {
	From, For time.Duration // since the start, and how long
	Slower    float64       // 1 or more
}

// An Outage fails attempts that begin in it at once.
type Outage struct {
	From, For time.Duration // since the start, and how long
}

// A Failing is a stretch in which work that begins in it fails more often.
type Failing struct {
	From, For time.Duration // since the start, and how long
	Rate      float64       // in [0, 1]: the share that fails of what would succeed
}

// A BadReplica is a replica that does worse than the others for a while.
type BadReplica struct {
	Replica     int           // which, from 0
	From, For   time.Duration // since the start, and how long; For 0 = to the end
	Slower      float64       // factor of the time that work takes; 0 = 1
	FailureRate float64       // in [0, 1]: the share that fails of what would succeed
}

// Cold is what a replica is like when an outage has ended: its caches are empty.
// Its work takes Slower times as long at first. Work that gets to its end without
// failing warms it, whether or not somebody waits for the answer, so that the
// excess falls by half with every HalfLife of such requests. A replica whose work
// is always cancelled before its end stays cold.
type Cold struct {
	Slower   float64 // 1 or more
	HalfLife int     // requests, 1 or more
}

// A RateLimit is a token bucket in front of a service, shared by its replicas:
// a request that finds it empty is answered 429 at once, which is a throttled
// failure and costs the service nothing else.
type RateLimit struct {
	PerSecond  float64       // above 0
	Burst      int           // tokens in a full bucket, 1 or more
	RetryAfter time.Duration // the hint in the answer; 0 = none
}
