package rationconfig

import (
	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationconfig/strict"
)

// Preset is the name of the policy that another starts from.
type Preset string

// The presets.
const (
	PresetDefault Preset = "default"
	PresetHTTP    Preset = "http"
	PresetNone    Preset = "none"
)

// Set implements [strict.Scalar].
func (p *Preset) Set(text string) bool {
	*p = Preset(text)
	return p.policy() != nil
}

// Want implements [strict.Scalar].
func (p *Preset) Want() string { return "default, http or none" }

// policy returns what a preset says, and nil for one that does not exist.
func (p *Preset) policy() *Policy {
	no, yes, one := false, true, 1
	unbounded := strict.Limit{None: true}
	switch *p {
	case PresetDefault:
		return &Policy{}
	case PresetHTTP:
		// A transport adds this breaker to a policy without one. It adds none to
		// an executor that it is given, which is what a policy from a file is.
		return &Policy{Breaker: &Breaker{Enabled: &yes}}
	case PresetNone:
		return &Policy{
			Attempts:       &one,
			Deadline:       &unbounded,
			AttemptTimeout: &unbounded,
			Ceiling:        &Ceiling{Enabled: &no},
			Backoff:        &Backoff{Enabled: &no},
			Budget:         &Budget{Enabled: &no},
			Breaker:        &Breaker{Enabled: &no},
		}
	}
	return nil
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
