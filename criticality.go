package ration

import (
	"context"
	"strings"
)

// Criticality says how much it matters that a call succeeds now. It travels in
// the context; a context that carries none is [Critical], the zero value.
//
// It changes one thing: a retry of [Sheddable] work must leave half of the
// retry budget behind, so that work which someone is waiting for can still be
// retried when work which nobody is waiting for has spent its share. It never
// refuses a first attempt and never changes an order.
type Criticality int

// The levels, least critical first.
const (
	Sheddable     Criticality = -2 // nobody waits: backfills, prefetches, reports
	SheddablePlus Criticality = -1 // may be late, must arrive
	Critical      Criticality = 0  // somebody waits; what is unlabelled
	CriticalPlus  Criticality = 1  // somebody waits, and it is the reason the service exists
)

var criticalityNames = map[Criticality]string{
	Sheddable:     "Sheddable",
	SheddablePlus: "SheddablePlus",
	Critical:      "Critical",
	CriticalPlus:  "CriticalPlus",
}

// String returns the level's name, as it is written on the wire.
func (c Criticality) String() string {
	if name, ok := criticalityNames[c]; ok {
		return name
	}
	return "Criticality(?)"
}

// ParseCriticality returns the level with the given name, in any case of
// letters. ok is false for everything else, numbers and padded names included:
// a level that cannot be read is no level.
func ParseCriticality(name string) (c Criticality, ok bool) {
	for c, known := range criticalityNames {
		if strings.EqualFold(name, known) {
			return c, true
		}
	}
	return Critical, false
}

type criticalityKey struct{}

// WithCriticality returns a context whose calls run at level c.
func WithCriticality(ctx context.Context, c Criticality) context.Context {
	return context.WithValue(ctx, criticalityKey{}, c)
}

// CriticalityOf returns the level that ctx carries, and [Critical] when it
// carries none.
func CriticalityOf(ctx context.Context) Criticality {
	c, _ := ctx.Value(criticalityKey{}).(Criticality)
	return c
}
