package ration

import "time"

// An EstimateState says what became of a measured term of a policy.
type EstimateState int

// The states. EstimateOff is that of a term that the policy does not have.
const (
	EstimateOff  EstimateState = iota
	EstimateCold               // too few successes in five minutes: the constant applies
	EstimateWarm               // measured
)

// String returns the state's name: off, cold or warm.
func (s EstimateState) String() string {
	switch s {
	case EstimateCold:
		return "cold"
	case EstimateWarm:
		return "warm"
	}
	return "off"
}

// MeasuredCeiling returns what the policy's [Ceiling] comes to for e at the given
// time, which is to be the present, and 0 unless that is warm. It binds where it
// is below the policy's AttemptTimeout. Like [Executor.MeasuredBackoff] it is
// meant for debugging and telemetry; it may be a second old.
func (e *Executor) MeasuredCeiling(now time.Time) (time.Duration, EstimateState) {
	c := e.root.settings.Load().ceiling
	if c == nil {
		return 0, EstimateOff
	}
	return e.measured(func(x *estimator) (time.Duration, bool) {
		return x.attemptCeiling(instantOf(now), c)
	})
}

// MeasuredBackoff returns what the policy's [MeasuredBase] comes to for e at the
// given time, which is to be the present, and 0 unless that is warm: the base of
// the wait after a transient failure, in place of the policy's Backoff.Transient.
func (e *Executor) MeasuredBackoff(now time.Time) (time.Duration, EstimateState) {
	b := &e.root.settings.Load().Backoff
	if b.Measured == nil {
		return 0, EstimateOff
	}
	return e.measured(func(x *estimator) (time.Duration, bool) {
		median, warm := x.median(instantOf(now), b.Measured)
		return b.measuredBase(median), warm
	})
}

// measured asks the estimator, and makes none: a page that looks at a thousand
// keys must not add 4 KB to each.
func (e *Executor) measured(
	ask func(*estimator) (time.Duration, bool),
) (time.Duration, EstimateState) {
	x := e.state.estimator.Load()
	if x == nil {
		return 0, EstimateCold
	}
	d, warm := ask(x)
	if !warm {
		return 0, EstimateCold
	}
	return d, EstimateWarm
}
