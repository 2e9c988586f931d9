package rationsim

import (
	"math"
	"time"
)

// A dependency is the live side of a [Dependency].
type dependency struct {
	Dependency
	mu, sigma float64 // of the logarithm of the latency, in nanoseconds
	latency   stream
	failure   stream
	busy      int
	queue     fifo
}

func newDependency(d Dependency, seed uint64) *dependency {
	x := &dependency{
		Dependency: d,
		mu:         log(float64(d.Latency.P50)),
		latency:    newStream(seed, purposeLatency),
		failure:    newStream(seed, purposeFailure),
	}
	if d.Latency.P99 > d.Latency.P50 {
		x.sigma = (log(float64(d.Latency.P99)) - x.mu) / normal(0.99)
	}
	return x
}

// leastChance stands in for a random number of 0, whose normal quantile is
// infinite. It is below all others, which are multiples of 2^-53.
const leastChance = 0x1p-54

// service returns how long attempt n of a call takes if its work begins at the
// given time.
func (d *dependency) service(call uint64, n int, at time.Duration) time.Duration {
	u := d.latency.at(call, uint64(n))
	took := exp(d.mu + float64(d.sigma*normal(max(u, leastChance))))
	for _, b := range d.Brownouts {
		if at >= b.From && at-b.From < b.For {
			took *= b.Slower
		}
	}
	return time.Duration(math.Round(min(took, farthest)))
}

// down reports whether an attempt that arrives at the given time fails at once.
func (d *dependency) down(at time.Duration) bool {
	for _, o := range d.Outages {
		if at >= o.From && at-o.From < o.For {
			return true
		}
	}
	return false
}

// full reports whether an attempt that arrives now is shed.
func (d *dependency) full() bool {
	return d.Concurrency > 0 && d.busy >= d.Concurrency && d.queue.len() >= d.Queue
}

// fails reports whether the work of attempt n of a call ends in a failure.
func (d *dependency) fails(call uint64, n int) bool {
	return d.FailureRate > 0 && d.failure.at(call, uint64(n)) < d.FailureRate
}

// impairedUntil returns when the last impairment ends, and false if there is
// none that does.
func (d Dependency) impairedUntil() (end time.Duration, ok bool) {
	for _, b := range d.Brownouts {
		end, ok = max(end, b.From+b.For), true
	}
	for _, o := range d.Outages {
		end, ok = max(end, o.From+o.For), true
	}
	return end, ok
}

// A fifo is a queue of attempts.
type fifo struct {
	items []*attempt
	head  int
}

func (q *fifo) len() int { return len(q.items) - q.head }

func (q *fifo) push(a *attempt) { q.items = append(q.items, a) }

func (q *fifo) pop() *attempt {
	a := q.items[q.head]
	q.items[q.head] = nil
	q.head++
	if q.head > 1024 && 2*q.head > len(q.items) {
		q.items = append(q.items[:0], q.items[q.head:]...)
		q.head = 0
	}
	return a
}
