package ration

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// What an automatic budget is made of. A tenth is the figure of Google's SRE
// book; Finagle and Envoy use a fifth, which lets a fleet add twice as much to
// a dependency that is failing. See docs/retry-budget.md for each number.
const (
	DefaultBudgetFraction         = 0.1
	DefaultBudgetMinimumPerSecond = 3
)

const (
	// token is what one retry costs. Counting billionths in integers keeps
	// decimal fractions exact: ten deposits of 0.1 as floating-point numbers
	// are a little less than one, and would fund no retry.
	token = 1_000_000_000

	// burstSeconds of the floor is what a full bucket holds.
	burstSeconds = 10

	// maxMinimumPerSecond keeps the capacity, in billionths, inside 63 bits.
	maxMinimumPerSecond = 100_000_000
)

// A Budget bounds retries as a fraction of traffic. It is a token bucket: each
// successful attempt deposits a fraction of a token, a floor refills it at a
// constant rate however little traffic there is, and each retry withdraws one
// token. It holds ten seconds of the floor, at least one token, and starts
// full, so that a deployment is not punished for being new.
//
// A budget never refuses a first attempt. It is not a rate limiter: it bounds
// what retries add to the traffic, not the traffic. In any window of t seconds
// the retries it funds are at most
//
//	capacity + floor × t + fraction × successes
//
// Most programs never make one: an [Executor] has its own unless its policy
// says otherwise. Make one with [PrivateBudget] to change the numbers of that,
// with [NewBudget] to share a bucket between executors that call the same
// dependency, or with [SharedBudget] to share it by name. A bucket must outlive
// the traffic it counts: one that is made for each request or each client sees
// too little of it to bound anything.
//
// The zero value is not usable. The methods that take now never read a clock
// and accept times from any source, as long as one bucket sees one source and
// they lie within 292 years of the present, which the zero time does not. A time
// before the last refill adds nothing and does not move the refill point back.
// What only reads, such as Tokens, changes nothing whatever the time it is given.
// All methods are safe for concurrent use, and may be called on a nil Budget,
// which behaves as [NoBudget].
type Budget struct {
	name    string
	private bool // a template; see PrivateBudget

	// full is true only while tokens == capacity. It is what makes the success
	// path free: a full bucket stays full until a withdrawal, so a deposit that
	// reads true has nothing to add and writes nothing that another core would
	// have to fetch. It is stored under mu; a deposit that reads it beside a
	// withdrawal simply came first.
	full atomic.Bool

	_ [64]byte // the fields below change with every retry; those above do not

	mu       sync.Mutex // guards the fields below; held for arithmetic alone
	fraction int64      // of a token, per deposit
	rate     int64      // billionths of a token per second
	capacity int64
	reserve  int64 // what a sheddable retry must leave behind
	used     bool
	tokens   int64
	rest     int64   // of the last refill: billionths of a billionth, under 1e9
	last     instant // the refill point; without meaning while the bucket is full
}

// NoBudget is the one spelling of off: it funds every retry. It is right only
// for a dependency that nobody shares.
var NoBudget = newNoBudget()

func newNoBudget() *Budget {
	b := &Budget{}
	b.full.Store(true)
	return b
}

// NewBudget returns a full budget whose successes deposit fraction of a token,
// in (0, 1], and whose floor refills minimumPerSecond tokens each second, zero
// or more. Both are exact to a billionth. With a floor of zero only successes
// fund retries.
//
// Hold the budget as long as the dependency it protects. One that is made per
// request or per client is worthless: it is gone before it has seen enough
// traffic to bound anything. Keep one [Executor], or name the bucket with
// [SharedBudget].
func NewBudget(fraction, minimumPerSecond float64) (*Budget, error) {
	if err := checkBudget(fraction, minimumPerSecond); err != nil {
		return nil, err
	}
	return newBudget("", tuning{fraction, minimumPerSecond}), nil
}

// newBudget is NewBudget for parameters that have been checked.
func newBudget(name string, t tuning) *Budget {
	b := &Budget{name: name, last: longAgo}
	b.tune(t)
	b.tokens = b.capacity
	b.full.Store(true)
	return b
}

// A tuning is the parameters of a budget. They have been checked.
type tuning struct{ fraction, minimumPerSecond float64 }

func (b *Budget) tuning() tuning { return tuning{b.Fraction(), b.MinimumPerSecond()} }

// tune sets the parameters. Callers hold mu, or are alone.
func (b *Budget) tune(t tuning) {
	b.fraction = billionths(t.fraction)
	b.rate = billionths(t.minimumPerSecond)
	b.capacity = max(burstSeconds*b.rate, token)
	b.reserve = min(b.capacity/2, b.capacity-token)
}

// Retune gives b other parameters, within the ranges of [NewBudget], from now
// on. The balance stays: what was spent remains spent, and is clamped to the new
// capacity; a full bucket stays full. Executors that use b need no
// [Executor.Update]. A nil Budget and [NoBudget] have no parameters to change,
// which is an error, as is a parameter out of range; then nothing changes.
func (b *Budget) Retune(now time.Time, fraction, minimumPerSecond float64) error {
	if b.unlimited() {
		return errors.New("ration: NoBudget has no parameters; " +
			"give the policy a budget with Executor.Update")
	}
	if err := checkBudget(fraction, minimumPerSecond); err != nil {
		return err
	}
	b.retune(instantOf(now), tuning{fraction, minimumPerSecond})
	return nil
}

// retune accrues what is owed at the old floor before the new one begins.
func (b *Budget) retune(now instant, t tuning) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill(now)
	full := b.tokens == b.capacity
	b.tune(t)
	if full || b.tokens > b.capacity {
		b.tokens = b.capacity
	}
	b.full.Store(b.tokens == b.capacity)
}

func checkBudget(fraction, minimumPerSecond float64) error {
	var problems []error
	if !(fraction > 0 && fraction <= 1) {
		problems = append(problems, fmt.Errorf(
			"ration: budget fraction %v is outside (0, 1]; to retry without a budget use NoBudget",
			fraction))
	}
	if !(minimumPerSecond >= 0 && minimumPerSecond <= maxMinimumPerSecond) {
		problems = append(problems, fmt.Errorf(
			"ration: budget minimumPerSecond %v is outside [0, %d]; "+
				"to retry without a budget use NoBudget",
			minimumPerSecond, maxMinimumPerSecond))
	}
	return errors.Join(problems...)
}

// billionths rounds x up from nothing: a caller who asked for a little must not
// get none, since a floor of none also means that nobody can give a hint.
func billionths(x float64) int64 {
	n := int64(math.Round(x * token))
	if n == 0 && x > 0 {
		return 1
	}
	return n
}

// unlimited reports whether b is off: nil or [NoBudget].
func (b *Budget) unlimited() bool { return b == nil || b == NoBudget }

// Deposit records one successful attempt. Into a full bucket it is one load, which
// is inlined where it is called.
func (b *Budget) Deposit(now time.Time) {
	if b != nil && !b.full.Load() {
		b.depositAt(now)
	}
}

func (b *Budget) depositAt(now time.Time) { b.add(instantOf(now)) }

func (b *Budget) deposit(now instant) {
	if !b.full.Load() {
		b.add(now)
	}
}

// add is a deposit into a bucket that was not full when it was last looked at.
func (b *Budget) add(now instant) {
	b.mu.Lock()
	b.refill(now)
	b.put(b.fraction)
	b.mu.Unlock()
}

// Withdraw asks for one retry of work at level c, and reports whether the
// budget funds it. A refusal takes nothing. [Sheddable] work must leave half of
// the capacity behind, or all but one token of it where that is less, so that a
// full bucket funds at least one retry at every level.
func (b *Budget) Withdraw(now time.Time, c Criticality) bool {
	return b.unlimited() || b.withdraw(instantOf(now), c)
}

func (b *Budget) withdraw(now instant, c Criticality) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill(now)
	if b.tokens < b.need(c) {
		return false
	}
	if b.tokens == b.capacity {
		// Nothing accrued while the bucket was full, so the time since the
		// last refill is not owed: the clock of the floor starts here.
		b.last = max(b.last, now)
		b.rest = 0
		b.full.Store(false)
	}
	b.used = true
	b.tokens -= token
	return true
}

// refund gives back the token of a retry that did not start.
func (b *Budget) refund(now instant) {
	b.mu.Lock()
	b.refill(now)
	b.put(token)
	b.mu.Unlock()
}

// need is the balance that funds one retry at level c. Callers hold mu.
func (b *Budget) need(c Criticality) int64 {
	if c <= Sheddable {
		return token + b.reserve
	}
	return token
}

// refill accrues the floor up to now. Callers hold mu.
func (b *Budget) refill(now instant) {
	if now <= b.last || b.tokens == b.capacity {
		return
	}
	b.tokens, b.rest = b.balance(now)
	b.last = now
	if b.tokens == b.capacity {
		b.full.Store(true)
	}
}

// balance returns what tokens and rest come to at the given time. It stores
// neither: who only looks, perhaps by another clock or into the future, must not
// mint what the calls then spend. Callers hold mu.
func (b *Budget) balance(now instant) (tokens, rest int64) {
	elapsed := now.since(b.last)
	if elapsed <= 0 || b.tokens == b.capacity {
		return b.tokens, b.rest
	}
	// rate × elapsed may need 128 bits: a bucket can lie idle for years.
	hi, lo := bits.Mul64(uint64(b.rate), uint64(elapsed))
	lo, carry := bits.Add64(lo, uint64(b.rest), 0)
	hi += carry
	if hi >= token {
		return b.capacity, 0
	}
	accrued, left := bits.Div64(hi, lo, token)
	if accrued >= uint64(b.capacity-b.tokens) {
		return b.capacity, 0
	}
	return b.tokens + int64(accrued), int64(left)
}

// put adds n, clamped to the capacity. Callers hold mu.
func (b *Budget) put(n int64) {
	if n < b.capacity-b.tokens {
		b.tokens += n
		return
	}
	b.tokens = b.capacity
	b.full.Store(true)
}

// RetryAfter returns how long it takes, from now, until the floor alone would
// fund one retry of work at level c: zero when one would be funded now. ok is
// false when the floor is zero and one would not: then only the next successes
// can fund it, and nobody knows when they come.
func (b *Budget) RetryAfter(now time.Time, c Criticality) (d time.Duration, ok bool) {
	if b.unlimited() {
		return 0, true
	}
	return b.retryAfter(instantOf(now), c)
}

func (b *Budget) retryAfter(now instant, c Criticality) (time.Duration, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	tokens, rest := b.balance(now)
	short := b.need(c) - tokens
	if short <= 0 {
		return 0, true
	}
	if b.rate == 0 {
		return 0, false
	}
	// The least d for which rate × d + rest reaches short, rounded up: a
	// caller who comes back after exactly d is funded. A clock that is behind
	// the refill point has to reach it first.
	hi, lo := bits.Mul64(uint64(short), token)
	lo, borrow := bits.Sub64(lo, uint64(rest), 0)
	hi -= borrow
	lo, carry := bits.Add64(lo, uint64(b.rate-1), 0)
	hi += carry
	if hi >= uint64(b.rate) {
		return maxDuration, true
	}
	wait, _ := bits.Div64(hi, lo, uint64(b.rate))
	behind := max(b.last.since(now), 0)
	if wait > uint64(maxDuration-behind) {
		return maxDuration, true
	}
	return time.Duration(wait) + behind, true
}

// Utilization returns how much of the bucket is spent, from 0 (full) to 1
// (empty). Near 1 the budget is refusing retries: the dependency fails, and the
// budget absorbs what this process would have added to it. Alert on it. It is
// shorthand for [Budget.UtilizationAt] with the present time.
func (b *Budget) Utilization() float64 {
	if b.unlimited() || b.full.Load() {
		return 0
	}
	return b.utilization(clock())
}

// UtilizationAt is [Budget.Utilization] at the given time.
func (b *Budget) UtilizationAt(now time.Time) float64 {
	if b.unlimited() {
		return 0
	}
	return b.utilization(instantOf(now))
}

func (b *Budget) utilization(now instant) float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.capacity == 0 {
		return 0
	}
	tokens, _ := b.balance(now)
	return 1 - float64(tokens)/float64(b.capacity)
}

// Name returns the name given to [SharedBudget], and "" for every other budget.
func (b *Budget) Name() string {
	if b == nil {
		return ""
	}
	return b.name
}

// Fraction returns what one successful attempt deposits, in tokens.
func (b *Budget) Fraction() float64 {
	return b.tokensOf(func(b *Budget) int64 { return b.fraction })
}

// MinimumPerSecond returns the floor, in tokens per second.
func (b *Budget) MinimumPerSecond() float64 {
	return b.tokensOf(func(b *Budget) int64 { return b.rate })
}

// Capacity returns how many tokens the full bucket holds.
func (b *Budget) Capacity() float64 {
	return b.tokensOf(func(b *Budget) int64 { return b.capacity })
}

// Reserve returns how many tokens a retry of [Sheddable] work must leave behind.
func (b *Budget) Reserve() float64 {
	return b.tokensOf(func(b *Budget) int64 { return b.reserve })
}

// Tokens returns the balance at the given time: how many retries it would fund
// if they came at once. It is 0 for a nil Budget and for [NoBudget], which count
// nothing.
func (b *Budget) Tokens(now time.Time) float64 {
	return b.tokensOf(func(b *Budget) int64 {
		tokens, _ := b.balance(instantOf(now))
		return tokens
	})
}

// tokensOf reads one of the numbers that mu guards, in tokens.
func (b *Budget) tokensOf(number func(*Budget) int64) float64 {
	if b.unlimited() {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return float64(number(b)) / token
}
