// Package policyfile has the keys under which a [ration.Policy] stands in a file.
// They are its fields, spelled as keys are, so that there is one vocabulary for code
// and configuration; what code must spell with a sentinel, a file switches off with
// enabled: false.
package policyfile

import (
	"github.com/ration-go/ration"
	"github.com/ration-go/ration/cmd/ration/internal/strict"
)

// Policy is one policy of a file. A key that is not there means the default of the
// field of [ration.Policy] with its name.
type Policy struct {
	Name           *string
	Attempts       *int `in:"[1,)"`
	Deadline       *strict.Limit
	AttemptTimeout *strict.Limit
	Ceiling        *Ceiling
	Backoff        *Backoff
	Budget         *Budget
	Breaker        *Breaker
}

// Ceiling is on unless a file turns it off.
type Ceiling struct {
	Enabled        *bool
	Multiple       *float64         `in:"(1,1e6)"`
	Quantile       *float64         `in:"[0.5,0.99]"`
	MinimumSamples *int             `in:"[1,)"`
	Floor          *strict.Duration `in:"(0,)"`
}

// Backoff is on unless a file turns it off; then retries go out at once, hints of
// the dependency aside.
type Backoff struct {
	Enabled   *bool
	Transient *strict.Duration `in:"(0,)"`
	Throttled *strict.Duration `in:"(0,)"`
	Factor    *float64         `in:"(0,)"`
	Max       *strict.Limit
	Jitter    *Jitter
	Measured  *Measured
}

// Measured is off unless a file has the section.
type Measured struct {
	Enabled        *bool
	Multiple       *float64 `in:"(0,)"`
	MinimumSamples *int     `in:"[1,)"`
	Spread         *float64 `in:"(1,)"`
}

// Budget is on unless a file turns it off. With neither number it is the automatic
// one of [ration.New].
type Budget struct {
	Enabled          *bool
	Fraction         *strict.Share `in:"(0,1]"`
	MinimumPerSecond *float64      `in:"[0,1e8]"`
}

// Breaker is off unless a file has the section.
type Breaker struct {
	Enabled             *bool
	ConsecutiveFailures *Trip
	FailureRatio        *strict.Share    `in:"[0,1]"`
	Window              *strict.Duration `in:"(0,)"`
	MinimumCalls        *int             `in:"[1,)"`
	Break               *strict.Duration `in:"(0,)"`
	MaxBreak            *strict.Duration `in:"(0,)"`
	Probes              *int             `in:"[1,)"`
	ProbeSuccesses      *int             `in:"[1,)"`
}

// Trip is a number of failures, or none for a trip that is off.
type Trip int

// Set implements [strict.Scalar].
func (t *Trip) Set(text string) bool {
	if text == "none" {
		*t = -1
		return true
	}
	n, ok := strict.Whole(text)
	*t = Trip(n)
	return ok && n > 0
}

// Want implements [strict.Scalar].
func (t *Trip) Want() string { return "a whole number from 1, or none" }

// Jitter is the name of a [ration.Jitter].
type Jitter ration.Jitter

// Set implements [strict.Scalar].
func (j *Jitter) Set(text string) bool {
	known, ok := map[string]ration.Jitter{
		"full":  ration.FullJitter,
		"equal": ration.EqualJitter,
		"none":  ration.NoJitter,
	}[text]
	*j = Jitter(known)
	return ok
}

// Want implements [strict.Scalar].
func (j *Jitter) Want() string { return "full, equal or none" }
