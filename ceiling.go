package ration

import (
	"sync/atomic"
	"time"

	"github.com/ration-go/ration/internal/window"
)

const (
	// estimateWindow is what "recent" means to every measured term. It is long
	// enough that a brownout of a minute does not become the new normal.
	estimateWindow = 5 * time.Minute

	// defaultMinimumSamples is how many successes make an estimate. Below it
	// there is no opinion, and the constant applies.
	defaultMinimumSamples = 20

	// defaultCeilingFloor keeps a ceiling of a few milliseconds, which a pause
	// of a garbage collector exceeds, from being the default.
	defaultCeilingFloor = 50 * time.Millisecond

	// estimateAge is how long an estimate serves before it is computed again.
	// A quantile walks a histogram; once a second it costs nothing per call.
	estimateAge = time.Second
)

// Ceiling bounds an attempt by what is normal for the dependency: Multiple
// times the 95th percentile of recently successful attempts. It only ever
// tightens the policy's AttemptTimeout, so that one hung attempt does not spend
// a deadline that has room for three.
//
// It is on by default, with every zero field meaning its default, wherever the
// policy has an AttemptTimeout above 50 ms; [NoCeiling] turns it off. Recent
// means five minutes. Until MinimumSamples successes are in them there is no
// ceiling but the AttemptTimeout; a ceiling that is too tight starves itself of
// successes and so lets go.
//
// A Ceiling is a value; it must not be changed once a policy uses it.
type Ceiling struct {
	Multiple       float64 // above 1, below a million; 0 = 3
	Quantile       float64 // in [0.5, 0.99]; 0 = 0.95
	MinimumSamples int     // 0 = 20

	// Floor is the tightest the ceiling gets. It is below AttemptTimeout. 0 =
	// 50 ms, or half of an AttemptTimeout that is no longer than that.
	Floor time.Duration
}

// NoCeiling turns the measured ceiling off.
var NoCeiling = &Ceiling{}

func (c Ceiling) withDefaults(attemptTimeout time.Duration) Ceiling {
	floor := defaultCeilingFloor
	if attemptTimeout != NoLimit && attemptTimeout <= floor {
		floor = attemptTimeout / 2
	}
	return Ceiling{
		Multiple:       orDefault(c.Multiple, 3),
		Quantile:       orDefault(c.Quantile, 0.95),
		MinimumSamples: orDefault(c.MinimumSamples, defaultMinimumSamples),
		Floor:          orDefault(c.Floor, floor),
	}
}

func (c Ceiling) check(ch *checker, attemptTimeout time.Duration) {
	if c.Multiple != 0 && !(c.Multiple > 1 && c.Multiple < 1e6) {
		ch.problem("Ceiling.Multiple %v is outside (1, 1e6); to turn the ceiling off use NoCeiling",
			c.Multiple)
	}
	if c.Quantile != 0 && !(c.Quantile >= 0.5 && c.Quantile <= 0.99) {
		ch.problem("Ceiling.Quantile %v is outside [0.5, 0.99]", c.Quantile)
	}
	ch.count("Ceiling.MinimumSamples", c.MinimumSamples)
	ch.duration("Ceiling.Floor", c.Floor, 0)
	if c.Floor > 0 && attemptTimeout > 0 && c.Floor >= attemptTimeout {
		ch.problem("Ceiling.Floor %v is not below AttemptTimeout %v, so the ceiling can never bind",
			c.Floor, attemptTimeout)
	}
}

// An estimator measures how long successful attempts take. One window answers
// for the ceiling and for the measured base, since both ask what is normal.
// It is safe for concurrent use.
type estimator struct {
	origin   origin
	latency  *window.Latency
	ceiling  window.Memo
	base     window.Memo
	reported [2]atomic.Int64 // the ceiling and the base that an event last told
}

func newEstimator() *estimator {
	return &estimator{latency: window.NewLatency(estimateWindow)}
}

func (e *estimator) record(now instant, stripe uint32, d time.Duration) {
	e.latency.Record(e.origin.since(now), stripe, d)
}

// attemptCeiling returns the measured ceiling, and false while it is cold.
func (e *estimator) attemptCeiling(now instant, c *Ceiling) (time.Duration, bool) {
	normal, ok := e.estimate(now, &e.ceiling, c.Quantile, c.MinimumSamples)
	if !ok {
		return 0, false
	}
	// The window clamps what it records to minutes and Multiple is bounded, so
	// the product stays far inside a Duration.
	return max(time.Duration(float64(normal)*c.Multiple), c.Floor), true
}

// median returns the recent median, and false while it is cold.
func (e *estimator) median(now instant, m *MeasuredBase) (time.Duration, bool) {
	return e.estimate(now, &e.base, 0.5, m.MinimumSamples)
}

func (e *estimator) estimate(
	now instant, memo *window.Memo, q float64, minimum int,
) (time.Duration, bool) {
	at := e.origin.since(now)
	d, known, fresh := memo.Get(at, estimateAge)
	if known && fresh {
		return d, true
	}
	// A cold estimate is not remembered: the sample that warms it counts at once.
	d, known = e.latency.Quantile(at, q, minimum)
	memo.Put(at, d, known)
	return d, known
}

// changed reports whether value differs from what the last event of its kind
// told, and remembers it.
func (e *estimator) changed(which int, value time.Duration) bool {
	return e.reported[which].Swap(int64(value)) != int64(value)
}
