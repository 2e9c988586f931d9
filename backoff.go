package ration

import (
	"math"
	"time"
)

// What a zero [Backoff] waits.
const (
	DefaultTransientBase = 100 * time.Millisecond
	DefaultThrottledBase = time.Second
	DefaultBackoffFactor = 2.0
	DefaultBackoffMax    = 30 * time.Second
)

// Backoff says how long to wait before a retry. The zero value is exponential:
// 100 ms before the first retry after a transient failure and 1 s after a
// throttled one, doubling up to 30 s, with full jitter. Each zero field means
// its default; for no wait at all use [NoBackoff].
//
// There are two bases because there are two verdicts: a wait that suits a reset
// connection is an insult to a rate limiter. A hint of the dependency, such as
// Retry-After, replaces whatever is computed here: exactly, without jitter,
// capped by Max. A hint that is not positive is no hint.
//
// A Backoff is a value and holds no state.
type Backoff struct {
	Transient time.Duration // wait before the first retry after a transient failure; 0 = 100 ms
	Throttled time.Duration // the same after a throttled one; 0 = 1 s
	Factor    float64       // growth from one retry to the next, above 0; 0 = 2
	Max       time.Duration // cap, of hints too; 0 = 30 s or the larger base; NoLimit = none
	Jitter    Jitter        // 0 = FullJitter

	// Measured, when set, replaces Transient by what a normal call takes.
	Measured *MeasuredBase

	// Custom, when set, computes the wait instead. Its result is used as it is,
	// without cap or jitter; a negative one means none. It is not asked when
	// the dependency gave a hint. It runs on the calling goroutine and must be
	// safe for concurrent use.
	Custom func(Next) time.Duration

	none bool
}

// NoBackoff retries at once. Hints still apply, capped by Max.
var NoBackoff = Backoff{none: true}

// ConstantBackoff waits d before every retry, whatever the verdict: a policy
// that polls. Full jitter applies, as everywhere: set Jitter to [NoJitter] for
// exactly d. Hints still apply, capped by Max.
func ConstantBackoff(d time.Duration) Backoff {
	if d == 0 {
		return NoBackoff
	}
	return Backoff{Transient: d, Throttled: d, Factor: 1}
}

// Next describes the retry whose wait a custom [Backoff] computes.
type Next struct {
	Attempt   int           // the attempt to come: 2 before the first retry
	Verdict   Verdict       // on the last attempt
	Err       error         // its failure
	Remaining time.Duration // until the deadline; NoLimit when there is none
}

// Jitter says how a computed wait is spread. Without it a fleet whose calls
// failed together comes back together.
type Jitter int

// The kinds of jitter, over a computed wait d.
const (
	FullJitter  Jitter = iota // uniform over [0, d]
	EqualJitter               // uniform over [d/2, d]
	NoJitter                  // d
)

// apply spreads d by u, in [0, 1).
func (j Jitter) apply(d time.Duration, u float64) time.Duration {
	switch j {
	case NoJitter:
		return d
	case EqualJitter:
		return d - time.Duration((1-u)*float64(d/2))
	default:
		return time.Duration(u * float64(d))
	}
}

// MeasuredBase makes the wait after a transient failure follow the dependency:
// the base is Multiple times the median time of recently successful attempts.
// A constant is right for one dependency only. It is the one measured term that
// can lengthen a wait as well as shorten it, so it is never on by itself, and
// it stays within Spread of the constant.
//
// Recent means five minutes. Until MinimumSamples successes are in them, the
// constant applies.
type MeasuredBase struct {
	Multiple       float64 // above 0; 0 = 1
	MinimumSamples int     // 0 = 20
	Spread         float64 // the most it may differ from the constant, as a factor above 1; 0 = 10
}

// delay returns the wait before attempt n, n >= 2, after verdict v. base is the
// measured transient base, or 0. Nothing overflows: the product is computed in
// floating point and anything that is not below the cap is the cap, infinity
// and NaN included.
func (b *Backoff) delay(n int, v Verdict, base time.Duration, u float64) time.Duration {
	if b.none {
		return 0
	}
	if base == 0 || v.Kind == VerdictThrottled {
		base = b.base(v.Kind)
	}
	limit := b.limit()
	d := float64(base) * math.Pow(b.Factor, float64(n-2))
	if !(d < float64(limit)) {
		return b.Jitter.apply(limit, u)
	}
	return b.Jitter.apply(time.Duration(d), u)
}

func (b *Backoff) base(k VerdictKind) time.Duration {
	if k == VerdictThrottled {
		return b.Throttled
	}
	return b.Transient
}

// limit is the cap as a number. Half of the longest duration leaves room for
// adding it to a time.
func (b *Backoff) limit() time.Duration {
	if b.Max == NoLimit {
		return maxDuration / 2
	}
	return b.Max
}

// measuredBase turns a median into a base within Spread of the constant.
func (b *Backoff) measuredBase(median time.Duration) time.Duration {
	constant := float64(b.Transient)
	base := float64(median) * b.Measured.Multiple
	base = min(max(base, constant/b.Measured.Spread), constant*b.Measured.Spread)
	return time.Duration(min(base, float64(maxDuration/2)))
}

// backoff returns the wait before the next attempt.
func (c *Call) backoff(now instant, u float64) time.Duration {
	b := &c.s.Backoff
	if hint := c.verdict.RetryAfter; hint > 0 {
		return min(hint, b.limit())
	}
	if b.Custom != nil {
		return max(0, b.Custom(Next{
			Attempt:   c.attempt + 1,
			Verdict:   c.verdict,
			Err:       c.last,
			Remaining: c.remaining(now),
		}))
	}
	var base time.Duration
	if b.Measured != nil && c.verdict.Kind == VerdictTransient {
		if median, warm := c.e.state.estimates().median(now, b.Measured); warm {
			base = b.measuredBase(median)
			c.adapted(now, EventBackoffBaseAdapted, base)
		}
	}
	return b.delay(c.attempt+1, c.verdict, base, u)
}

func (c *Call) remaining(now instant) time.Duration {
	if c.deadline == never {
		return NoLimit
	}
	return c.deadline.since(now)
}

// withDefaults fills the zero fields. NoBackoff has none but its cap: what it
// returns must pass for a Backoff again.
func (b Backoff) withDefaults() Backoff {
	b.Max = orDefault(b.Max, max(DefaultBackoffMax, b.Transient, b.Throttled))
	if b.none {
		return b
	}
	b.Transient = orDefault(b.Transient, DefaultTransientBase)
	b.Throttled = orDefault(b.Throttled, DefaultThrottledBase)
	b.Factor = orDefault(b.Factor, DefaultBackoffFactor)
	if b.Measured != nil {
		m := *b.Measured
		m.Multiple = orDefault(m.Multiple, 1)
		m.MinimumSamples = orDefault(m.MinimumSamples, defaultMinimumSamples)
		m.Spread = orDefault(m.Spread, 10)
		b.Measured = &m
	}
	return b
}

func (b Backoff) check(c *checker) {
	if b.none && (b.Transient != 0 || b.Throttled != 0 || b.Factor != 0 || b.Measured != nil ||
		b.Custom != nil) {
		c.problem("Backoff is NoBackoff with a wait set as well; start from Backoff{} instead")
		return
	}
	c.duration("Backoff.Transient", b.Transient, 0)
	c.duration("Backoff.Throttled", b.Throttled, 0)
	c.limit("Backoff.Max", b.Max)
	c.positive("Backoff.Factor", b.Factor)
	if b.Jitter < FullJitter || b.Jitter > NoJitter {
		c.problem("Backoff.Jitter %d is none of FullJitter, EqualJitter, NoJitter", b.Jitter)
	}
	if b.Measured != nil {
		b.Measured.check(c, b.Custom != nil)
	}
}

func (m MeasuredBase) check(c *checker, custom bool) {
	if custom {
		c.problem("Backoff.Measured has no effect beside Backoff.Custom; remove one")
	}
	c.positive("Backoff.Measured.Multiple", m.Multiple)
	c.count("Backoff.Measured.MinimumSamples", m.MinimumSamples)
	if m.Spread != 0 && !(m.Spread > 1 && !math.IsInf(m.Spread, 0)) {
		c.problem("Backoff.Measured.Spread %v is not a finite number above 1; 0 means the default",
			m.Spread)
	}
}
