package ration

import (
	"strconv"
	"time"
)

// VerdictKind is what an attempt's outcome means for everything that reads it:
// whether to retry, how long to wait first, whether the breaker counts it. The
// zero value is [VerdictOK].
type VerdictKind int

// The kinds. The breaker counts VerdictTransient alone: a throttled dependency
// is alive and says so, and a permanent failure is the caller's own.
const (
	VerdictOK        VerdictKind = iota // an answer, though perhaps an unwelcome one
	VerdictTransient                    // may heal by itself: retry after the short wait
	VerdictThrottled                    // asked to slow down: retry after the hint or the long wait
	VerdictPermanent                    // no retry mends it
)

var verdictNames = [...]string{
	VerdictOK:        "ok",
	VerdictTransient: "transient",
	VerdictThrottled: "throttled",
	VerdictPermanent: "permanent",
}

// String returns the kind in the form used by metrics and reports.
func (k VerdictKind) String() string {
	if k >= 0 && int(k) < len(verdictNames) {
		return verdictNames[k]
	}
	return "VerdictKind(" + strconv.Itoa(int(k)) + ")"
}

// A Verdict is a [Classifier]'s reading of one attempt. The zero Verdict is OK
// with no hint. It is a plain value, comparable with == and safe for concurrent
// use.
type Verdict struct {
	// Kind decides. VerdictOK with a non-nil error, and a kind that is none of
	// the four, read as VerdictPermanent: what nobody understands is not
	// repeated.
	Kind VerdictKind

	// RetryAfter is how long the dependency or a local limiter asked to be left
	// alone. It replaces the computed wait before a retry, without jitter and
	// up to the policy's maximum. Zero or less is no hint: coming back at once,
	// together with everybody who was told the same, is what jitter prevents.
	RetryAfter time.Duration

	// SelfImposed says that this process refused and the dependency was never
	// asked. Together with VerdictThrottled it makes the retry free of charge
	// and evidence of nothing. False is the careful reading, since an attempt
	// that may have cost the dependency something is paid for. It changes
	// nothing about the other kinds.
	SelfImposed bool
}

// String returns the kind, followed by what else the verdict holds.
func (v Verdict) String() string {
	s := v.Kind.String()
	if v.SelfImposed {
		s += ", self-imposed"
	}
	if v.RetryAfter > 0 {
		s += ", retry after " + v.RetryAfter.String()
	}
	return s
}

// Transient returns err marked as a failure that may heal by itself, for code
// that knows better than any [Classifier] what it has met. A nil err gives nil.
//
// A mark made by Transient, [Permanent], [Throttled], [Refused] or [Mark]
// decides before any classifier is asked. The outermost mark wins, also from
// within errors that wrap it, so a layer that knows more can overrule the one
// below. Where several errors are joined no mark is outside another, and the
// first one wins. A mark changes neither the text nor what [errors.Is] and
// [errors.As] find. A marked error is as safe for concurrent use as err.
func Transient(err error) error { return Mark(err, Verdict{Kind: VerdictTransient}) }

// Permanent returns err marked as a failure that no retry mends: see
// [Transient] for what a mark does. A nil err gives nil.
func Permanent(err error) error { return Mark(err, Verdict{Kind: VerdictPermanent}) }

// Throttled returns err marked as a request of the dependency to slow down: see
// [Transient] for what a mark does. The next attempt waits for after, or for
// the policy's throttled wait when after is zero or less. The retry is charged
// to the budget. A nil err gives nil.
func Throttled(err error, after time.Duration) error {
	return Mark(err, Verdict{Kind: VerdictThrottled, RetryAfter: max(after, 0)})
}

// Refused returns err marked as a refusal of this process, such as a local rate
// limiter's: see [Transient] for what a mark does. It waits as [Throttled]
// does, but since the dependency was never asked, the retry neither spends nor
// deposits and is evidence of nothing. A nil err gives nil.
func Refused(err error, after time.Duration) error {
	v := Verdict{Kind: VerdictThrottled, RetryAfter: max(after, 0), SelfImposed: true}
	return Mark(err, v)
}

// Mark returns err marked with a verdict of any shape, such as a hint on a
// transient failure, which the short forms above have no room for: see
// [Transient] for what a mark does. VerdictOK reads as permanent, as it does
// from a classifier. A nil err gives nil.
func Mark(err error, v Verdict) error {
	if err == nil {
		return nil
	}
	return &marked{err: err, verdict: v}
}

// marked is an error that carries its own verdict.
type marked struct {
	err     error
	verdict Verdict
}

func (m *marked) Error() string { return m.err.Error() }
func (m *marked) Unwrap() error { return m.err }

// wrapped returns what err says about itself, which no classifier may overrule:
// the verdict of its outermost mark, or permanent for an [*Error] outside of
// every mark. An inner layer that refused has counted its attempts already, and
// asking again multiplies them; so beside a mark, as members of one join, the
// refusal wins whatever their order.
func wrapped(err error) (v Verdict, ok bool) {
	walk(err, func(node error) step {
		if m, is := as[*marked](node); is {
			if !ok {
				v, ok = m.verdict, true
			}
			return over
		}
		if _, is := as[*Error](node); is {
			v, ok = Verdict{Kind: VerdictPermanent}, true
			return stop
		}
		return into
	})
	return v, ok
}
