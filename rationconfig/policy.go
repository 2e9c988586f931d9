package rationconfig

import "github.com/ration-go/ration/rationconfig/strict"

// A Policy is a [ration.Policy] as a file has it. A nil field is a key that is not
// there, and means the default of the field of [ration.Policy] with its name. The
// comment on a field is what the schema says about its key, so it is written for
// whoever writes the file.
//
// It is a value; goroutines may share one that nobody changes.
type Policy struct {
	// Preset is what the policy starts from: default is that of the library, http
	// adds the breaker that HTTP clients have, and none makes one attempt without
	// bounds, budget or breaker. Keys beside it go before it. In a later file it
	// makes a fresh start: what earlier files say about the policy is dropped.
	Preset *Preset `default:"default"`

	// Attempts is how many attempts a call makes in all, the first included; 1
	// means no retries. It is only a maximum: the budget decides how many of the
	// retries there are.
	Attempts *int `in:"[1,)" default:"3"`

	// Deadline bounds the whole call, waits included.
	Deadline *strict.Limit `default:"30s"`

	// AttemptTimeout bounds one attempt.
	AttemptTimeout *strict.Limit `default:"10s"`

	// Ceiling tightens attemptTimeout to what is normal for the dependency. It is
	// on unless a file turns it off.
	Ceiling *Ceiling

	// Backoff says how long to wait before a retry. Not enabled, a retry goes out
	// at once, hints of the dependency aside.
	Backoff *Backoff

	// Budget bounds retries as a fraction of traffic. It is on unless a file turns
	// it off.
	Budget *Budget

	// Breaker refuses attempts for a while after a run of failures. It is off
	// unless a file has the section.
	Breaker *Breaker
}

// Ceiling is the section of that name. Goroutines may share one that nobody changes.
type Ceiling struct {
	// Enabled says whether the ceiling is in force.
	Enabled *bool `default:"true"`

	// Multiple is how far above the quantile the ceiling is.
	Multiple *float64 `in:"(1,1e6)" default:"3"`

	// Quantile of the recent successes is what counts as normal.
	Quantile *float64 `in:"[0.5,0.99]" default:"0.95"`

	// MinimumSamples is how many successes of the last five minutes it takes to
	// know what is normal; until then there is no ceiling.
	MinimumSamples *int `in:"[1,)" default:"20"`

	// Floor is the tightest that the ceiling gets. It is below attemptTimeout.
	Floor *strict.Duration `in:"(0,)" default:"50ms"`
}

// Backoff is the section of that name. Goroutines may share one that nobody changes.
type Backoff struct {
	// Enabled says whether retries wait at all.
	Enabled *bool `default:"true"`

	// Transient is the wait before the first retry after a transient failure.
	Transient *strict.Duration `in:"(0,)" default:"100ms"`

	// Throttled is that wait after the dependency has asked for less traffic.
	Throttled *strict.Duration `in:"(0,)" default:"1s"`

	// Factor is how much longer each wait is than the one before.
	Factor *float64 `in:"(0,)" default:"2"`

	// Max is the longest wait, hints of the dependency included.
	Max *strict.Limit `default:"30s"`

	// Jitter is how much of a wait is left to chance: all of it, half of it, or
	// nothing.
	Jitter *Jitter `default:"full"`

	// Measured makes the wait before the first retry follow the median of recent
	// successes. It is off unless a file has the section.
	Measured *Measured
}

// Measured is the section of that name. Goroutines may share one that nobody changes.
type Measured struct {
	// Enabled says whether the wait is measured.
	Enabled *bool `default:"true"`

	// Multiple is how many medians the wait is.
	Multiple *float64 `in:"(0,)" default:"1"`

	// MinimumSamples is how many successes of the last five minutes it takes to
	// measure; until then the constant wait applies.
	MinimumSamples *int `in:"[1,)" default:"20"`

	// Spread is how many times longer or shorter than the constant wait the
	// measured one may be.
	Spread *float64 `in:"(1,)" default:"10"`
}

// Budget is the section of that name. With neither number it is the automatic one of
// [ration.New]. Numbers give each policy, and each of its hosts or services, a bucket
// of its own as [ration.PrivateBudget] does. Goroutines may share one that nobody
// changes.
type Budget struct {
	// Enabled says whether retries are bounded. Without a budget, a dependency in
	// trouble gets attempts times its traffic.
	Enabled *bool `default:"true"`

	// Fraction is how much of a retry each success pays for.
	Fraction *strict.Share `in:"(0,1]" default:"10%"`

	// MinimumPerSecond is how many retries a second there are however little
	// traffic succeeds.
	MinimumPerSecond *float64 `in:"[0,1e8]" default:"3"`

	// Shared is the name of one of the file's budgets, from which this policy and
	// others draw. It goes without numbers here.
	Shared *string
}

// SharedBudget is one of the file's budgets: a bucket for all policies that name it,
// and for code that asks [ration.SharedBudget] for that name. The file's numbers are
// in force for both. Goroutines may share one that nobody changes.
type SharedBudget struct {
	// Fraction is how much of a retry each success pays for.
	Fraction *strict.Share `in:"(0,1]" default:"10%"`

	// MinimumPerSecond is how many retries a second there are however little
	// traffic succeeds.
	MinimumPerSecond *float64 `in:"[0,1e8]" default:"3"`
}

// Breaker is the section of that name. Goroutines may share one that nobody changes.
type Breaker struct {
	// Enabled says whether there is a breaker.
	Enabled *bool `default:"true"`

	// ConsecutiveFailures is how many failures in a row trip the breaker.
	ConsecutiveFailures *Trip `default:"5"`

	// FailureRatio trips the breaker when that share of the attempts in the window
	// failed; 0 is off.
	FailureRatio *strict.Share `in:"[0,1]" default:"0"`

	// Window is how far back failureRatio looks, at least 10ms.
	Window *strict.Duration `in:"(0,)" default:"30s"`

	// MinimumCalls is how many attempts in the window failureRatio needs.
	MinimumCalls *int `in:"[1,)" default:"20"`

	// Break is how long the first break lasts; each that follows without a
	// recovery is twice as long.
	Break *strict.Duration `in:"(0,)" default:"15s"`

	// MaxBreak is the longest break.
	MaxBreak *strict.Duration `in:"(0,)" default:"2m"`

	// Probes is how many attempts at once find out whether the dependency is back.
	Probes *int `in:"[1,)" default:"1"`

	// ProbeSuccesses is how many of them must succeed to close the breaker.
	ProbeSuccesses *int `in:"[1,)" default:"2"`
}
