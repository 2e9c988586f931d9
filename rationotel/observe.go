package rationotel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/ration-go/ration"
)

// A reading is the state of the executors that share a label: of several, the
// worst of each, since an average would hide the one that is in trouble.
type reading struct {
	at *series

	budgets             bool
	utilization, tokens float64

	breakers bool
	breaker  int64
}

// observe reads the executors that are alive, and the keys they remember.
func (r *recorder) observe(_ context.Context, o metric.Observer) error {
	now := time.Now()
	readings := make(map[label]*reading)
	for _, e := range ration.Executors() {
		name := e.Policy().Name
		r.read(readings, now, name, e, nil)
		for _, k := range e.Keys() {
			r.read(readings, now, name, k, e.Budget())
		}
	}
	for _, x := range readings {
		if x.budgets {
			o.ObserveFloat64(r.utilization, x.utilization, x.at.plain.observe...)
			o.ObserveFloat64(r.tokens, x.tokens, x.at.plain.observe...)
		}
		if x.breakers {
			o.ObserveInt64(r.breaker, x.breaker, x.at.plain.observe...)
		}
	}
	return nil
}

// read adds one executor. What it shares with all the others, a budget that the
// policy names, is reported without a key and once.
func (r *recorder) read(
	readings map[label]*reading, now time.Time, name string, e *ration.Executor, shared *ration.Budget,
) {
	s := r.table.series(name, e.Key())
	x := readings[s.label]
	if x == nil {
		x = &reading{at: s}
		readings[s.label] = x
	}
	if b := e.Budget(); b != nil && b != shared {
		utilization, tokens := b.UtilizationAt(now), b.Tokens(now)
		if !x.budgets || utilization > x.utilization {
			x.utilization = utilization
		}
		if !x.budgets || tokens < x.tokens {
			x.tokens = tokens
		}
		x.budgets = true
	}
	if state, ok := stateOf(e.Breaker(now).State); ok {
		x.breakers = true
		x.breaker = max(x.breaker, state)
	}
}

// stateOf returns a breaker's state as a number that grows with the trouble. ok is
// false if there is no breaker.
func stateOf(s ration.BreakerState) (state int64, ok bool) {
	switch s {
	case ration.BreakerClosed:
		return 0, true
	case ration.BreakerHalfOpen:
		return 1, true
	case ration.BreakerOpen:
		return 2, true
	}
	return 0, false
}
