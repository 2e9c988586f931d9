package ration

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"
	"time"
)

var (
	transientVerdict = Verdict{Kind: VerdictTransient}
	throttledVerdict = Verdict{Kind: VerdictThrottled}
	errBackoff       = errors.New("failed attempt")
)

// computed returns the wait before attempt n, as it comes out of a policy.
func computed(b Backoff, n int, v Verdict, u float64) time.Duration {
	b = b.withDefaults()
	return b.delay(n, v, 0, u)
}

func TestBackoffDelays(t *testing.T) {
	const ms = time.Millisecond
	exact := func(b Backoff) Backoff {
		b.Jitter = NoJitter
		return b
	}
	for _, tt := range []struct {
		name    string
		b       Backoff
		verdict Verdict
		want    []time.Duration // before attempts 2, 3...
	}{
		{"default", Backoff{}, transientVerdict, []time.Duration{100 * ms, 200 * ms, 400 * ms,
			800 * ms, 1600 * ms, 3200 * ms, 6400 * ms, 12800 * ms, 25600 * ms, 30 * second, 30 * second}},
		{"default, throttled", Backoff{}, throttledVerdict, []time.Duration{second, 2 * second,
			4 * second, 8 * second, 16 * second, 30 * second, 30 * second}},
		{"bases", Backoff{Transient: 7, Throttled: 11, Factor: 3}, transientVerdict,
			[]time.Duration{7, 21, 63, 189}},
		{"bases, throttled", Backoff{Transient: 7, Throttled: 11, Factor: 3}, throttledVerdict,
			[]time.Duration{11, 33, 99, 297}},
		{"one base set", Backoff{Transient: 7}, throttledVerdict, []time.Duration{second}},
		{"cap", Backoff{Max: 250 * ms}, transientVerdict,
			[]time.Duration{100 * ms, 200 * ms, 250 * ms, 250 * ms}},
		{"cap below the base", Backoff{Max: 50 * ms}, transientVerdict,
			[]time.Duration{50 * ms, 50 * ms}},
		{"a base above the default cap", Backoff{Transient: minute}, transientVerdict,
			[]time.Duration{minute, minute}},
		{"a throttled base above it", Backoff{Throttled: minute}, transientVerdict,
			[]time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 6400 * ms,
				12800 * ms, 25600 * ms, 51200 * ms, minute}},
		{"no cap", Backoff{Max: NoLimit, Factor: 1000}, transientVerdict,
			[]time.Duration{100 * ms, 100 * second, 100_000 * second, 100_000_000 * second}},
		{"shrinking", Backoff{Transient: second, Factor: 0.5}, transientVerdict,
			[]time.Duration{second, 500 * ms, 250 * ms, 125 * ms}},
		{"a fraction", Backoff{Transient: second, Factor: 1.5}, transientVerdict,
			[]time.Duration{second, 1500 * ms, 2250 * ms, 3375 * ms}},
		{"constant", ConstantBackoff(3 * second), transientVerdict,
			[]time.Duration{3 * second, 3 * second, 3 * second}},
		{"constant, throttled", ConstantBackoff(3 * second), throttledVerdict,
			[]time.Duration{3 * second, 3 * second, 3 * second}},
		{"constant above the default cap", ConstantBackoff(hour), throttledVerdict,
			[]time.Duration{hour, hour}},
		{"none", NoBackoff, transientVerdict, []time.Duration{0, 0, 0}},
		{"none, throttled", NoBackoff, throttledVerdict, []time.Duration{0, 0}},
		{"constant zero is none", ConstantBackoff(0), throttledVerdict, []time.Duration{0, 0}},
	} {
		for i, want := range tt.want {
			if got := computed(exact(tt.b), i+2, tt.verdict, 0.5); got != want {
				t.Errorf("%s: %v before attempt %d, want %v", tt.name, got, i+2, want)
			}
		}
	}
}

// C07: the wait of a long series is the cap, neither nothing nor negative.
func TestBackoffOverflow(t *testing.T) {
	b := Backoff{Transient: second, Factor: 2, Max: 30 * second, Jitter: NoJitter}
	last := time.Duration(0)
	for n := range 201 {
		d := computed(b, n+2, transientVerdict, 0)
		if d <= 0 || d > 30*second || d < last || n >= 5 && d != 30*second {
			t.Errorf("n = %d: %v after %v", n, d, last)
		}
		last = d
	}
}

// Nothing overflows, for any attempt number, factor, cap and base.
func TestBackoffExtremes(t *testing.T) {
	bases := []time.Duration{1, time.Millisecond, hour, maxDuration / 2, maxDuration}
	factors := []float64{1, 2, 1.0000001, 0.9999999, 1e308, 1e-308, math.MaxFloat64,
		math.SmallestNonzeroFloat64}
	for _, base := range bases {
		for _, factor := range factors {
			for _, most := range []time.Duration{1, second, maxDuration, NoLimit} {
				for _, jitter := range []Jitter{FullJitter, EqualJitter, NoJitter} {
					checkExtremes(t, Backoff{Transient: base, Factor: factor, Max: most, Jitter: jitter})
				}
			}
		}
	}
}

func checkExtremes(t *testing.T, b Backoff) {
	t.Helper()
	b = b.withDefaults()
	limit := b.limit()
	for _, n := range []int{2, 3, 4, 10, 63, 64, 65, 1000, 1_000_000, math.MaxInt32, math.MaxInt} {
		for _, u := range []float64{0, 0.5, almostOne} {
			d := b.delay(n, transientVerdict, 0, u)
			if d < 0 || d > limit {
				t.Errorf("%v before attempt %d, want at most %v (%+v)", d, n, limit, b)
			}
			if b.Factor > 1 && n > 1_000_000_000 && b.Jitter == NoJitter && d != limit {
				t.Errorf("%v before attempt %d, want the cap, %v (%+v)", d, n, limit, b)
			}
			want := min(b.Transient, limit)
			if b.Factor == 1 && b.Jitter == NoJitter && (d-want).Abs() > want/1e15 {
				t.Errorf("%v before attempt %d, want the base (%+v)", d, n, b)
			}
		}
	}
}

// Without a cap there is one still: a time to which it is added must not
// overflow.
func TestBackoffNoLimit(t *testing.T) {
	b := Backoff{Factor: 1e308, Max: NoLimit, Jitter: NoJitter}
	d := computed(b, 9, transientVerdict, 0)
	if d != maxDuration/2 || instant(10*365*24*hour).add(d) == never {
		t.Errorf("%v, which is too long to add to a time", d)
	}
	if p := MustNew(Policy{Backoff: b}).Policy(); p.Backoff.Max != NoLimit {
		t.Errorf("the policy tells a cap of %v", p.Backoff.Max)
	}
}

func TestJitter(t *testing.T) {
	for _, d := range []time.Duration{
		0, 1, 2, 3, 1000, 30 * second, maxDuration/2 - 1, maxDuration / 2,
	} {
		inexact := time.Duration(float64(d) * 1e-15)
		for _, tt := range []struct {
			name        string
			jitter      Jitter
			least, most time.Duration
		}{
			{"full", FullJitter, 0, d},
			{"equal", EqualJitter, d - d/2, d},
			{"none", NoJitter, d, d},
		} {
			if got := tt.jitter.apply(d, 0); got < tt.least-inexact || got > tt.least {
				t.Errorf("%s of %v is %v at least, want %v", tt.name, d, got, tt.least)
			}
			if got := tt.jitter.apply(d, almostOne); got > tt.most || got < tt.most-inexact-1 {
				t.Errorf("%s of %v is %v at most, want %v", tt.name, d, got, tt.most)
			}
			middle := tt.least + (tt.most-tt.least)/2
			if got := tt.jitter.apply(d, 0.5); (got - middle).Abs() > inexact+1 {
				t.Errorf("%s of %v is %v in the middle, want %v", tt.name, d, got, middle)
			}
		}
	}
}

// C41: at the cap as well the waits are spread, within it, and evenly.
func TestJitterIsSpreadAtTheCap(t *testing.T) {
	for _, tt := range []struct {
		name            string
		jitter          Jitter
		mean, deviation float64 // of an even spread, in seconds
	}{
		{"full", FullJitter, 0.5, 1 / math.Sqrt(12)},
		{"equal", EqualJitter, 0.75, 0.5 / math.Sqrt(12)},
		{"none", NoJitter, 1, 0},
	} {
		b := Backoff{Max: second, Jitter: tt.jitter}
		draw := func(seed uint64) (draws [1000]time.Duration) {
			r := newStateRand(seed)
			for i := range draws {
				draws[i] = computed(b, 20, transientVerdict, r.Float64())
			}
			return draws
		}
		draws := draw(1)
		var sum, squares float64
		for _, d := range draws {
			if d < 0 || d > second {
				t.Errorf("%s: a draw of %v", tt.name, d)
			}
			sum += d.Seconds()
			squares += d.Seconds() * d.Seconds()
		}
		mean := sum / 1000
		deviation := math.Sqrt(max(squares/1000-mean*mean, 0))
		if math.Abs(mean-tt.mean) > 0.03 || math.Abs(deviation-tt.deviation) > 0.02 {
			t.Errorf("%s: mean %.3f, deviation %.3f, want %.3f and %.3f",
				tt.name, mean, deviation, tt.mean, tt.deviation)
		}
		if draw(1) != draws {
			t.Errorf("%s: the same numbers give other waits", tt.name)
		}
		if tt.jitter != NoJitter && draw(2) == draws {
			t.Errorf("%s: other numbers give the same waits", tt.name)
		}
	}
}

// decided fails one attempt under a policy and returns the wait that follows.
func decided(t *testing.T, p Policy, v Verdict, u float64) (time.Duration, Decision) {
	t.Helper()
	p.Budget = NoBudget
	if p.Deadline == 0 {
		p.Deadline = NoLimit
	}
	e, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	call := e.Begin(t.Context(), base)
	d := call.Next(base, Outcome{Verdict: v, Err: errBackoff}, u)
	return d.Delay, d
}

// A hint replaces what is computed, whatever the backoff: exactly, without
// jitter, and capped.
func TestBackoffHints(t *testing.T) {
	custom := Backoff{Custom: func(Next) time.Duration { return 77 }}
	for _, tt := range []struct {
		name string
		b    Backoff
		hint time.Duration
		want time.Duration
	}{
		{"default", Backoff{}, 7 * second, 7 * second},
		{"shorter than the base", Backoff{}, 1, 1},
		{"at the cap", Backoff{}, 30 * second, 30 * second},
		{"above the cap", Backoff{}, hour, 30 * second},
		{"longest", Backoff{}, maxDuration, 30 * second},
		{"above a cap", Backoff{Max: 2 * second}, 3 * second, 2 * second},
		{"no cap", Backoff{Max: NoLimit}, 1000 * hour, 1000 * hour},
		{"no cap, longest", Backoff{Max: NoLimit}, maxDuration, maxDuration / 2},
		{"equal jitter", Backoff{Jitter: EqualJitter}, 7 * second, 7 * second},
		{"constant", ConstantBackoff(second), 7 * second, 7 * second},
		{"constant, above the cap", ConstantBackoff(second), minute, 30 * second},
		{"long constant", ConstantBackoff(2 * minute), 90 * second, 90 * second},
		{"none", NoBackoff, 7 * second, 7 * second},
		{"none, above the cap", NoBackoff, minute, 30 * second},
		{"custom", custom, 7 * second, 7 * second},
		{"custom, above the cap", custom, minute, 30 * second},
		{"no hint", ConstantBackoff(second), 0, second / 4},
		{"a negative one", ConstantBackoff(second), -1, second / 4},
		{"the most negative", ConstantBackoff(second), math.MinInt64, second / 4},
		{"no hint, none", NoBackoff, 0, 0},
		{"a negative one, none", NoBackoff, -second, 0},
		{"no hint, custom", custom, 0, 77},
	} {
		for _, kind := range []VerdictKind{VerdictTransient, VerdictThrottled} {
			got, d := decided(t, Policy{Backoff: tt.b}, Verdict{Kind: kind, RetryAfter: tt.hint}, 0.25)
			if got != tt.want || d.Action != ActWait || !d.At.Equal(base.Add(got)) {
				t.Errorf("%s, kind %d: %v until %v after %v, want %v", tt.name, kind, d.Action,
					d.At.Sub(base), tt.hint, tt.want)
			}
		}
	}
}

func TestBackoffCustom(t *testing.T) {
	var asked Next
	answer := 90 * second
	p := Policy{Deadline: 5 * minute, Backoff: Backoff{
		Max:    second,
		Custom: func(n Next) time.Duration { asked = n; return answer },
	}}
	v := throttledVerdict
	if got, _ := decided(t, p, v, 0.5); got != answer {
		t.Errorf("%v, want %v, without cap and jitter", got, answer)
	}
	if want := (Next{Attempt: 2, Verdict: v, Err: errBackoff, Remaining: 5 * minute}); asked != want {
		t.Errorf("asked about %+v, want %+v", asked, want)
	}
	p.Deadline = NoLimit
	for _, answer = range []time.Duration{-1, -hour, math.MinInt64} {
		if got, d := decided(t, p, v, 0.5); got != 0 || d.Action != ActWait {
			t.Errorf("%v for an answer of %v, want no wait", got, answer)
		}
	}
	if asked.Remaining != NoLimit {
		t.Errorf("%v remain without a deadline, want NoLimit", asked.Remaining)
	}
}

// The measured base stays within Spread of the constant.
func TestMeasuredBaseIsClamped(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		m      MeasuredBase
		median time.Duration
		want   time.Duration
	}{
		{MeasuredBase{}, 100 * ms, 100 * ms},
		{MeasuredBase{}, 250 * ms, 250 * ms},
		{MeasuredBase{}, 20 * ms, 20 * ms},
		{MeasuredBase{}, 10 * ms, 10 * ms},
		{MeasuredBase{}, 9 * ms, 10 * ms},
		{MeasuredBase{}, 1, 10 * ms},
		{MeasuredBase{}, 0, 10 * ms},
		{MeasuredBase{}, second, second},
		{MeasuredBase{}, 1001 * ms, second},
		{MeasuredBase{}, hour, second},
		{MeasuredBase{}, maxDuration, second},
		{MeasuredBase{Multiple: 3}, 50 * ms, 150 * ms},
		{MeasuredBase{Multiple: 0.5}, 50 * ms, 25 * ms},
		{MeasuredBase{Multiple: 1e308}, 50 * ms, second},
		{MeasuredBase{Multiple: 1e-308}, 50 * ms, 10 * ms},
		{MeasuredBase{Multiple: math.MaxFloat64}, maxDuration, second},
		{MeasuredBase{Spread: 2}, second, 200 * ms},
		{MeasuredBase{Spread: 2}, ms, 50 * ms},
		{MeasuredBase{Spread: 1e308}, hour, hour},
		{MeasuredBase{Spread: 1e308, Multiple: 1e308}, hour, 1 << 62}, // the longest but for rounding
	} {
		b := Backoff{Measured: &tt.m}.withDefaults()
		if got := b.measuredBase(tt.median); got != tt.want {
			t.Errorf("%+v: %v for a median of %v, want %v", tt.m, got, tt.median, tt.want)
		}
	}
	b := Backoff{Jitter: NoJitter}.withDefaults()
	if got := b.delay(3, transientVerdict, 7, 0); got != 14 {
		t.Errorf("%v from a measured base of 7 ns, want 14 ns", got)
	}
	if got := b.delay(3, throttledVerdict, 7, 0); got != 2*second {
		t.Errorf("%v from the throttled base, want 2 s", got)
	}
}

// What is measured replaces the transient base and nothing else, once there are
// enough samples, and as long as they are recent.
func TestMeasuredBase(t *testing.T) {
	const median = 1 << 18 * time.Microsecond // 262 ms, a bound of the histogram
	p := Policy{Budget: NoBudget, Deadline: NoLimit,
		Backoff: Backoff{Measured: &MeasuredBase{}, Jitter: NoJitter}}
	e := MustNew(p)
	now := base.Add(hour)
	wait := func(v Verdict, attempt int) time.Duration {
		call := e.Begin(t.Context(), now)
		var d Decision
		for range attempt - 1 {
			for d = call.Decision(); d.Action != ActAttempt; {
				d = call.Next(now, Outcome{}, 0)
			}
			d = call.Next(now, Outcome{Verdict: v, Err: errBackoff}, 0)
		}
		return d.Delay
	}
	succeed := func(n int) {
		for range n {
			call := e.Begin(t.Context(), now)
			call.Next(now.Add(median), Outcome{}, 0)
		}
	}
	fail := func(n int) {
		for range n {
			call := e.Begin(t.Context(), now)
			call.Next(now, Outcome{Verdict: Verdict{Kind: VerdictPermanent}, Err: errBackoff}, 0)
		}
	}
	fail(1000) // failures say nothing about what is normal
	succeed(19)
	if got := wait(transientVerdict, 2); got != DefaultTransientBase {
		t.Errorf("%v with 19 samples, want the constant", got)
	}
	succeed(1)
	now = now.Add(median)
	for _, tt := range []struct {
		verdict Verdict
		attempt int
		want    time.Duration
	}{
		{transientVerdict, 2, median},
		{transientVerdict, 3, 2 * median},
		{throttledVerdict, 2, DefaultThrottledBase},
		{throttledVerdict, 3, 2 * DefaultThrottledBase},
		{Verdict{Kind: VerdictTransient, RetryAfter: 3}, 2, 3},
	} {
		if got := wait(tt.verdict, tt.attempt); got != tt.want {
			t.Errorf("%v before attempt %d after %+v, want %v", got, tt.attempt, tt.verdict, tt.want)
		}
	}
	now = now.Add(estimateWindow + estimateAge)
	if got := wait(transientVerdict, 2); got != DefaultTransientBase {
		t.Errorf("%v when the samples are old, want the constant", got)
	}
}

// exactDelay computes a wait with room to spare: base × factor^(n-2), or the
// cap.
func exactDelay(b *Backoff, n int) *big.Float {
	limit := new(big.Float).SetInt64(int64(b.limit()))
	d := new(big.Float).SetPrec(200).SetInt64(int64(b.Transient))
	factor := new(big.Float).SetPrec(200).SetFloat64(b.Factor)
	for range n - 2 {
		d.Mul(d, factor)
		if b.Factor >= 1 && d.Cmp(limit) >= 0 {
			break
		}
	}
	if d.Cmp(limit) > 0 {
		return limit
	}
	return d
}

func FuzzBackoff(f *testing.F) {
	f.Add(int64(100*time.Millisecond), 2.0, int64(30*second), 12, 0.5)
	f.Add(int64(1), 1e308, int64(NoLimit), 3, 0.0)
	f.Add(int64(maxDuration), 0.999, int64(0), 1000, almostOne)
	f.Add(int64(1<<53+1), 1.0, int64(1<<53+3), 2, almostOne)
	f.Fuzz(func(t *testing.T, base int64, factor float64, most int64, n int, u float64) {
		b := Backoff{Transient: time.Duration(base), Factor: factor, Max: time.Duration(most)}
		var c checker
		b.check(&c)
		if len(c.problems) > 0 || !(u >= 0 && u < 1) || n < 2 {
			return
		}
		b = b.withDefaults()
		for _, b.Jitter = range []Jitter{FullJitter, EqualJitter, NoJitter} {
			if d := b.delay(n, transientVerdict, 0, u); d < 0 || d > b.limit() {
				t.Errorf("%v before attempt %d at %v, cap %v (%+v)", d, n, u, b.limit(), b)
			}
		}
		if n > 2000 {
			return
		}
		got := new(big.Float).SetInt64(int64(b.delay(n, transientVerdict, 0, u)))
		want := exactDelay(&b, n)
		off := new(big.Float).Sub(got, want)
		within := new(big.Float).Mul(want, big.NewFloat(1e-9))
		within.Add(within, big.NewFloat(1)) // a part of a nanosecond is cut off
		if off.Abs(off).Cmp(within) > 0 {
			t.Errorf("%v before attempt %d, want %v (%+v)", got, n, want, b)
		}
	})
}

func TestBackoffAllocs(t *testing.T) {
	b := Backoff{Measured: &MeasuredBase{}}.withDefaults()
	if n := testing.AllocsPerRun(100, func() {
		b.delay(7, transientVerdict, 0, 0.5)
		b.measuredBase(second)
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkBackoff(b *testing.B) {
	backoff := Backoff{}.withDefaults()
	for _, n := range []int{2, 5, 100} {
		b.Run(fmt.Sprint("attempt=", n), func(b *testing.B) {
			for b.Loop() {
				backoff.delay(n, transientVerdict, 0, 0.5)
			}
		})
	}
}
