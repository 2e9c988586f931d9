package ration

import (
	"math"
	"strings"
	"testing"
	"time"
)

// samples is how many an estimator remembers.
func samples(e *estimator, now instant) int { return e.latency.Count(e.origin.since(now)) }

// octave is a bound of the histogram, 65.536 ms, which it tells exactly. Its
// eighths are bounds too.
const octave = 1 << 16 * time.Microsecond

// An estimateStep records some durations and looks at the estimate afterwards.
type estimateStep struct {
	at     time.Duration
	record int
	of     time.Duration
	want   time.Duration // 0 = cold
}

var ceilingTables = map[string]struct {
	ceiling Ceiling
	steps   []estimateStep
}{
	"cold below twenty": {steps: []estimateStep{
		{0, 0, 0, 0},
		{0, 19, octave, 0},
		{0, 1, octave, 3 * octave},
	}},
	"three times the 95th percentile": {steps: []estimateStep{
		{0, 94, octave, 3 * octave},
		{2 * second, 6, 4 * octave, 3 * 4 * octave}, // the 95th of 100
		{4 * second, 100, octave, 3 * octave},       // 6 of 200
	}},
	"the 95th of a hundred": {steps: []estimateStep{
		{0, 95, octave, 3 * octave},
		{2 * second, 5, 4 * octave, 3 * octave},
		{4 * second, 1, 4 * octave, 12 * octave}, // the 96th of 101
	}},
	"never below the floor": {steps: []estimateStep{
		{0, 100, time.Millisecond, 50 * time.Millisecond},
		{0, 0, 0, 50 * time.Millisecond},
	}},
	"settings": {
		Ceiling{Multiple: 1.5, Quantile: 0.5, MinimumSamples: 4, Floor: second},
		[]estimateStep{
			{0, 3, 32 * octave, 0},
			{0, 1, 16 * octave, 48 * octave},
			{2 * second, 3, octave / 8, 24 * octave}, // the 4th of 7
			{4 * second, 1, octave / 8, second},      // the 4th of 8
		},
	},
	"remembered for a second": {steps: []estimateStep{
		{0, 20, octave, 3 * octave},
		{0, 100, 2 * octave, 3 * octave},
		{second, 0, 0, 3 * octave},
		{second + 1, 0, 0, 6 * octave},
	}},
	"cold again after five minutes": {steps: []estimateStep{
		{0, 100, octave, 3 * octave},
		{3*minute + 44*second, 0, 0, 3 * octave}, // three quarters of the window at least
		{5 * minute, 0, 0, 0},
		{5 * minute, 19, octave, 0},
		{5 * minute, 1, octave, 3 * octave},
	}},
	"what is cold is not remembered as cold": {steps: []estimateStep{
		{0, 19, octave, 0},
		{time.Millisecond, 1, octave, 3 * octave},
	}},
	"warm with few, if they are recent": {steps: []estimateStep{
		{0, 15, octave, 0},
		{3 * minute, 5, octave, 3 * octave},
		{5 * minute, 0, 0, 0}, // 5 are left
	}},
	"longer than it can measure": {steps: []estimateStep{
		{0, 20, 24 * hour, 3 * 1 << 27 * time.Microsecond},
	}},
}

func TestCeilingSteps(t *testing.T) {
	for name, table := range ceilingTables {
		for origin, start := range stateOrigins {
			t.Run(name+", "+origin, func(t *testing.T) {
				e := newEstimator()
				c := table.ceiling.withDefaults(NoLimit)
				for i, s := range table.steps {
					now := start + instant(s.at)
					for n := range s.record {
						e.record(now, uint32(n), s.of)
					}
					got, warm := e.attemptCeiling(now, &c)
					if got != s.want || warm != (s.want != 0) {
						t.Errorf("step %d at %v: %v, %t, want %v", i, s.at, got, warm, s.want)
					}
				}
			})
		}
	}
}

// The floor of a ceiling that is written gives way only where nothing else
// would leave it an effect.
func TestCeilingDefaults(t *testing.T) {
	own := Ceiling{Multiple: 2, Quantile: 0.9, MinimumSamples: 5, Floor: second}
	for _, tt := range []struct {
		name    string
		ceiling *Ceiling
		timeout time.Duration
		want    *Ceiling
	}{
		{"default", nil, 0, &Ceiling{3, 0.95, 20, 50 * time.Millisecond}},
		{"default, no timeout", nil, NoLimit, nil},
		{"default, short timeout", nil, 50 * time.Millisecond, nil},
		{"default, longer timeout", nil, 50*time.Millisecond + 1,
			&Ceiling{3, 0.95, 20, 50 * time.Millisecond}},
		{"off", NoCeiling, 0, nil},
		{"written", &own, 0, &own},
		{"written, no timeout", &own, NoLimit, &own},
		{"in part", &Ceiling{Quantile: 0.5}, 0, &Ceiling{3, 0.5, 20, 50 * time.Millisecond}},
		{"in part, no timeout", &Ceiling{Quantile: 0.5}, NoLimit,
			&Ceiling{3, 0.5, 20, 50 * time.Millisecond}},
		{"in part, short timeout", &Ceiling{Multiple: 4}, 40 * time.Millisecond,
			&Ceiling{4, 0.95, 20, 20 * time.Millisecond}},
		{"empty, short timeout", &Ceiling{}, 50 * time.Millisecond,
			&Ceiling{3, 0.95, 20, 25 * time.Millisecond}},
		{"empty, longer timeout", &Ceiling{}, 60 * time.Millisecond,
			&Ceiling{3, 0.95, 20, 50 * time.Millisecond}},
	} {
		e, err := New(Policy{Ceiling: tt.ceiling, AttemptTimeout: tt.timeout})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got := e.Policy().Ceiling
		switch {
		case tt.want == nil && got != NoCeiling:
			t.Errorf("%s: %+v, want none", tt.name, got)
		case tt.want != nil && (got == NoCeiling || *got != *tt.want):
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// until begins a call and returns how long its attempt may take.
func until(t *testing.T, e *Executor, now time.Time) time.Duration {
	t.Helper()
	call := e.Begin(t.Context(), now)
	defer call.Abandon(now)
	d := call.Decision()
	if d.Action != ActAttempt {
		t.Fatalf("%v, want an attempt", d.Action)
	}
	if d.Until.IsZero() {
		return NoLimit
	}
	return d.Until.Sub(now)
}

// What binds an attempt is the tightest of three; the ceiling never loosens.
func TestCeilingBinds(t *testing.T) {
	for _, tt := range []struct {
		name              string
		normal            time.Duration
		timeout, deadline time.Duration
		ceiling           *Ceiling
		want              time.Duration
	}{
		{"tightens", octave, 0, 0, nil, 3 * octave},
		{"never above the timeout", 64 * octave, second, 0, nil, second},
		{"equal to the timeout", octave, 3 * octave, 0, nil, 3 * octave},
		{"the deadline is tighter", octave, 0, octave, nil, octave},
		{"no timeout, by default none", octave, NoLimit, NoLimit, nil, NoLimit},
		{"no timeout, written", octave, NoLimit, NoLimit, &Ceiling{}, 3 * octave},
		{"off", octave, 0, 0, NoCeiling, 10 * second},
		{"floor", time.Microsecond, 0, 0, nil, 50 * time.Millisecond},
		{"floor under a short timeout", time.Microsecond, 40 * time.Millisecond, 0, &Ceiling{},
			20 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := MustNew(Policy{AttemptTimeout: tt.timeout, Deadline: tt.deadline, Ceiling: tt.ceiling})
			now := base.Add(hour)
			cold := until(t, e, now)
			for range 20 {
				call := e.Begin(t.Context(), now)
				call.Next(now.Add(tt.normal), Outcome{}, 0)
			}
			if got := until(t, e, now.Add(tt.normal)); got != tt.want {
				t.Errorf("%v when warm, want %v", got, tt.want)
			}
			if got := until(t, e, now.Add(tt.normal+estimateWindow+estimateAge)); got != cold {
				t.Errorf("%v when cold again, want %v", got, cold)
			}
		})
	}
}

// Only successes say what is normal: failures that are quick would starve the
// calls, and timeouts loosen what made them.
func TestCeilingLearnsFromSuccesses(t *testing.T) {
	e := MustNew(Policy{Attempts: 1})
	now := base
	for _, o := range []Outcome{
		{Err: errBackoff, Verdict: transientVerdict},
		{Err: errBackoff, Verdict: throttledVerdict},
		{Err: errBackoff, Verdict: Verdict{Kind: VerdictPermanent}},
		{Err: errBackoff, Verdict: Verdict{Kind: VerdictThrottled, SelfImposed: true}},
		{Err: errBackoff, TimedOut: true},
		{Verdict: transientVerdict},
	} {
		for range 50 {
			call := e.Begin(t.Context(), now)
			call.Next(now.Add(octave), o, 0)
		}
	}
	call := e.Begin(t.Context(), now)
	call.Abandon(now.Add(octave))
	if n := samples(e.state.estimates(), instantOf(now)); n != 0 {
		t.Errorf("%d samples without a success", n)
	}
	call = e.Begin(t.Context(), now)
	call.Next(now.Add(octave), Outcome{}, 0)
	if n := samples(e.state.estimates(), instantOf(now)); n != 1 {
		t.Errorf("%d samples of one success", n)
	}
}

// A change of either value is told once.
func TestEstimatorTellsChanges(t *testing.T) {
	e := newEstimator()
	for i, step := range []struct {
		which int
		value time.Duration
		want  bool
	}{
		{0, second, true}, {0, second, false}, {1, second, true}, {0, minute, true},
		{1, second, false}, {0, second, true}, {1, 0, true},
	} {
		if got := e.changed(step.which, step.value); got != step.want {
			t.Errorf("step %d: changed = %t", i, got)
		}
	}
}

// The multiple is bounded so that a product of what can be measured is too.
func TestCeilingDoesNotOverflow(t *testing.T) {
	c := Ceiling{Multiple: math.Nextafter(1e6, 0)}
	var ch checker
	c.check(&ch, NoLimit)
	if len(ch.problems) != 0 {
		t.Fatal(strings.Join(ch.problems, "\n"))
	}
	e := newEstimator()
	for range 20 {
		e.record(0, 0, maxDuration)
	}
	c = c.withDefaults(NoLimit)
	if d, warm := e.attemptCeiling(0, &c); !warm || d < 4*365*24*hour {
		t.Errorf("%v, %t, want years", d, warm)
	}
}

// Who only looks makes no estimator, which weighs 4 KB.
func TestLookingMakesNoEstimator(t *testing.T) {
	e := MustNew(Policy{Backoff: Backoff{Measured: &MeasuredBase{}}, Unlisted: true})
	_ = e.Explain()
	_, _ = e.MeasuredCeiling(base)
	_, _ = e.MeasuredBackoff(base)
	if e.state.estimator.Load() != nil {
		t.Error("there is one")
	}
}
