package rationotel

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/ration-go/ration"
)

// The attributes.
const (
	policyAttr   = attribute.Key("nresilience.policy")
	keyAttr      = attribute.Key("nresilience.key")
	outcomeAttr  = attribute.Key("nresilience.outcome")
	verdictAttr  = attribute.Key("nresilience.verdict")
	reasonAttr   = attribute.Key("nresilience.reason")
	attemptAttr  = attribute.Key("nresilience.attempt")
	attemptsAttr = attribute.Key("nresilience.attempts")
	delayAttr    = attribute.Key("nresilience.delay")
	errorAttr    = attribute.Key("exception.type")
)

const (
	unnamed = "(unnamed)" // the policy without a name
	other   = "other"     // what is past a limit
)

// outcomes are the values of nresilience.outcome. They are those of the mission's
// other implementation, and so not quite the names of the core.
var outcomes = [...]string{
	ration.StopSucceeded:         "succeeded",
	ration.StopPermanent:         "permanent",
	ration.StopAttemptsExhausted: "attempts_exhausted",
	ration.StopDeadlineExceeded:  "deadline_exceeded",
	ration.StopBudgetExhausted:   "budget_exhausted",
	ration.StopUnavailable:       "dependency_unavailable",
	ration.StopCanceled:          "canceled",
	ration.StopAbandoned:         "abandoned",
}

// verdicts are the values of nresilience.verdict. Of an attempt that was abandoned
// nobody knows how it would have ended.
var verdicts = [...]string{
	ration.VerdictOK:        "ok",
	ration.VerdictTransient: "transient",
	ration.VerdictThrottled: "throttled",
	ration.VerdictPermanent: "permanent",
	abandoned:               "abandoned",
}

const abandoned = ration.VerdictPermanent + 1

// rejected are the stops that are rejections.
var rejected = [...]ration.StopReason{ration.StopBudgetExhausted, ration.StopUnavailable}

// reasonOf returns the index of a stop among those that are rejections.
func reasonOf(reason ration.StopReason) int {
	if reason == rejected[0] {
		return 0
	}
	return 1
}

// A label is what tells series apart. No key means none.
type label struct{ policy, key string }

// A series is what is measured under one label, with every set of attributes made
// in advance: to make one costs more than the call that it describes.
type series struct {
	label    label
	plain    point
	outcomes [len(outcomes)]point
	verdicts [len(verdicts)]point
	reasons  [len(rejected)]point
}

// A point is a set of attributes, in the forms in which instruments take it.
type point struct {
	add     []metric.AddOption
	record  []metric.RecordOption
	observe []metric.ObserveOption
}

func newSeries(l label) *series {
	s := &series{label: l, plain: l.point()}
	for i, outcome := range outcomes {
		s.outcomes[i] = l.point(outcomeAttr.String(outcome))
	}
	for i, verdict := range verdicts {
		s.verdicts[i] = l.point(verdictAttr.String(verdict))
	}
	for i, reason := range rejected {
		s.reasons[i] = l.point(reasonAttr.String(outcomes[reason]))
	}
	return s
}

// attributes returns the label as attributes, and the others after it.
func (l label) attributes(others ...attribute.KeyValue) []attribute.KeyValue {
	all := []attribute.KeyValue{policyAttr.String(l.policy)}
	if l.key != "" {
		all = append(all, keyAttr.String(l.key))
	}
	return append(all, others...)
}

func (l label) point(others ...attribute.KeyValue) point {
	option := metric.WithAttributeSet(attribute.NewSet(l.attributes(others...)...))
	return point{
		add:     []metric.AddOption{option},
		record:  []metric.RecordOption{option},
		observe: []metric.ObserveOption{option},
	}
}
