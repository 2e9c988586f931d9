package rationsim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ration-go/ration"
)

// A ruleStep is n calls of one kind at one time. What each kind does is in
// ruleBench; want is how many of the calls may make the retry they ask for.
type ruleStep struct {
	at   time.Duration
	op   string
	n    int
	want int
}

// ruleSteps are what the projects publish about their rules, and not what our
// models happen to do: the numbers are worked out from the rule by hand.
var ruleSteps = map[string][]ruleStep{
	"none": {{0, "fail", 1000, 1000}},

	// gRFC A6: retries stop when the count is at most half of maxTokens.
	"grpc": {
		{0, "fail", 5, 4},         // 10, less 1 each: the fifth failure leaves 5
		{0, "permanent", 9, 0},    // not retryable: not counted
		{0, "succeed", 10, 0},     // 6
		{0, "fail", 1, 0},         // 5
		{0, "succeed", 20, 0},     // 7
		{0, "throttled", 1, 1},    // 6
		{0, "fail", 20, 0},        // 0, and no less
		{0, "succeed", 61, 0},     // 6.1
		{time.Hour, "fail", 1, 1}, // 5.1; time changes nothing
		{time.Hour, "succeed", 1000, 0},
		{time.Hour, "fail", 9, 4}, // no more than 10
	},

	// The announcement of the rules of 2026, and StandardOptions.RateLimiter.
	"aws": {
		{0, "succeed", 100, 0}, // no more than 500
		{0, "fail", 40, 35},    // 500/14, and 10 left
		{0, "throttled", 3, 2}, // 5 each
		{0, "succeed", 13, 0},  // 13
		{0, "fail", 1, 0},
		{0, "succeed", 1, 0}, // 14
		{0, "mended", 9, 9},  // each gets its 14 back, and no more
		{0, "timeout", 2, 1}, // a timeout costs what any failure does
		{time.Hour, "fail", 1, 0},
	},

	// StandardOptions and GetInitialToken of v1.36.3.
	"aws-legacy": {
		{0, "succeed", 100, 0},
		{0, "fail", 90, 90},    // 50 left
		{0, "timeout", 6, 5},   // 10 each
		{0, "succeed", 5, 0},   // 5
		{0, "mended", 5, 5},    // each gets its 5 back and 1 more: 10
		{0, "throttled", 3, 2}, // 5 each, as any failure
		{time.Hour, "fail", 1, 0},
	},

	"stormbreak": {
		{0, "fail", 101, 100},
		{time.Second, "fail", 11, 10},
		{time.Second, "succeed", 1000, 0},
		{time.Second, "fail", 1, 0},
		{time.Hour, "fail", 101, 100},
	},

	// RetryBudget: 10 a second over a ttl of 10 s, and a fifth of the requests,
	// which the calls that fail are too.
	"finagle": {
		{0, "fail", 126, 125},           // the reserve of 100, and a fifth of 125
		{0, "succeed", 24, 0},           // with the one that was refused, 5 retries
		{0, "fail", 7, 6},               // and a sixth from these
		{8 * time.Second, "fail", 1, 0}, // nothing is forgotten yet
		{10 * time.Second, "fail", 126, 125},
		{30 * time.Second, "greedy", 1, 20}, // a fifth of the balance of 100
	},

	// Budget::default, and the slots as they are.
	"tower": {
		{0, "fail", 101, 100},
		{0, "permanent", 100, 0},
		{0, "fail", 1, 0},
		{0, "succeed", 5, 0},
		{0, "fail", 2, 1},
		{30 * time.Second, "fail", 101, 100},
	},

	"linkerd": {
		{0, "fail", 101, 100},
		{0, "permanent", 5, 0}, // not retryable: a deposit, as a success
		{0, "fail", 2, 1},
		{0, "succeed", 5, 0},
		{0, "fail", 2, 1},
	},

	// RetryBudget: budget_percent 20, min_retry_concurrency 3.
	"envoy": {
		{0, "fail", 4, 3},    // 3 wait, and are in flight as retries
		{0, "abandon", 3, 0}, // and are so no longer
		{0, "fly", 99, 0},
		{0, "fail", 25, 20}, // 99 and the one that has just failed
		{time.Hour, "fail", 1, 0},
		{0, "abandon", 20, 0},
		{0, "land", 99, 0},
		{0, "mended", 9, 9}, // one after the other
		{0, "fail", 4, 3},
	},

	// Budget: max rate 0.2, min concurrency 3; asked after the wait.
	"failsafe": {
		{0, "fail", 40, 40},   // all wait
		{0, "resume", 40, 11}, // 10 of 50 is a fifth and no more; 11 of 51 is more
		{0, "mended", 3, 0},   // 11 are in flight
	},

	// HttpRetryBudgetOptions: ratio 0.1, window 10 s, minimum throughput 10.
	"dotnet": {
		{0, "fail", 9, 9},
		{0, "fail", 1, 0}, // the tenth: one retry is allowed
		{20 * time.Second, "succeed", 99, 0},
		{20 * time.Second, "fail", 1, 1},   // 100 requests
		{21 * time.Second, "fail", 20, 11}, // 120 allow 12
		{29 * time.Second, "fail", 9, 0},
		{31 * time.Second, "fail", 1, 1}, // the first 100 are forgotten: 30 and 11
	},

	// Budget: both bounds must be passed, over a minute.
	"octo": {
		{0, "fail", 90, 90}, // 180 in a minute are 3 a second
		{0, "fail", 90, 0},
		{2 * time.Minute, "succeed", 900, 0},
		{2 * time.Minute, "fail", 120, 112}, // 112 of 1124; 113 of 1126 are too many
		{2 * time.Minute, "succeed", 60, 0},
		{2 * time.Minute, "fail", 1, 0}, // 121 of 1202: what is refused counts
		{2 * time.Minute, "succeed", 100, 0},
		{2 * time.Minute, "fail", 1, 1}, // 122 of 1304
	},
}

// A ruleBench holds the calls that a table has under way.
type ruleBench struct {
	limiter Limiter
	now     time.Duration
	waiting []*Held // a retry is granted
	flying  []*Held // an attempt is in flight
}

// do lets one call of a kind happen and returns how many retries it may make.
func (b *ruleBench) do(t *testing.T, op string) int {
	l, now, h := b.limiter, b.now, new(Held)
	switch op {
	case "succeed", "permanent": // ends after its first attempt
		l.Begin(now, h)
		l.Done(now, h, ruleEnds[op])
		l.End(now, h, op == "succeed")
	case "fail", "throttled", "timeout": // asks for a retry, and waits if it gets one
		l.Begin(now, h)
		l.Done(now, h, ruleEnds[op])
		if !l.Retry(now, h, ruleEnds[op]) {
			l.End(now, h, false)
			return 0
		}
		b.waiting = append(b.waiting, h)
		return 1
	case "mended": // asks for a retry, which succeeds
		l.Begin(now, h)
		l.Done(now, h, ruleEnds["fail"])
		granted := l.Retry(now, h, ruleEnds["fail"]) && l.Resume(now, h)
		if granted {
			l.Done(now, h, AttemptEnd{})
		}
		l.End(now, h, granted)
		return count(granted)
	case "greedy": // fails for as long as it is let
		l.Begin(now, h)
		l.Done(now, h, ruleEnds["fail"])
		n := 0
		for ; l.Retry(now, h, ruleEnds["fail"]) && l.Resume(now, h); n++ {
			l.Done(now, h, ruleEnds["fail"])
		}
		l.End(now, h, false)
		return n
	case "resume": // the wait of one call is over
		h, b.waiting = b.waiting[0], b.waiting[1:]
		if !l.Resume(now, h) {
			l.End(now, h, false)
			return 0
		}
		b.flying = append(b.flying, h)
		return 1
	case "abandon": // one call ends in its wait
		h, b.waiting = b.waiting[0], b.waiting[1:]
		l.End(now, h, false)
	case "fly": // a first attempt starts
		l.Begin(now, h)
		b.flying = append(b.flying, h)
	case "land": // an attempt succeeds, and its call
		h, b.flying = b.flying[0], b.flying[1:]
		l.Done(now, h, AttemptEnd{})
		l.End(now, h, true)
	default:
		t.Fatalf("no op %q", op)
	}
	return 0
}

var ruleEnds = map[string]AttemptEnd{
	"fail":      {Verdict: ration.VerdictTransient},
	"throttled": {Verdict: ration.VerdictThrottled},
	"timeout":   {Verdict: ration.VerdictTransient, TimedOut: true},
	"permanent": {Verdict: ration.VerdictPermanent},
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestRivalRules(t *testing.T) {
	for _, r := range Rivals() {
		t.Run(r.Name, func(t *testing.T) {
			steps := ruleSteps[r.Name]
			if len(steps) == 0 {
				t.Fatal("no steps")
			}
			b := ruleBench{limiter: r.New()}
			for i, s := range steps {
				b.now = max(b.now, s.at)
				got := 0
				for range s.n {
					got += b.do(t, s.op)
				}
				if got != s.want {
					t.Errorf("step %d, at %v: %d of %d %s were granted, want %d",
						i, b.now, got, s.n, s.op, s.want)
				}
			}
		})
	}
}

// TestTowerBudget has the cases of tower's own tests, retry/budget.rs, and what
// they do not try: a slot that ends a little late.
func TestTowerBudget(t *testing.T) {
	type step struct {
		at   time.Duration
		op   string
		want bool
	}
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		budget towerBudget
		steps  []step
	}{
		"empty": {newTowerBudget(time.Second, 0, 1), []step{{0, "withdraw", false}}},
		"leaky": {newTowerBudget(time.Second, 0, 1), []step{
			{0, "deposit", true}, {3000 * ms, "withdraw", false},
		}},
		"slots": {newTowerBudget(time.Second, 0, 0.5), []step{
			{0, "deposit", true}, {0, "deposit", true}, {901 * ms, "withdraw", true},
			{2902 * ms, "deposit", true}, {3203 * ms, "deposit", true},
			{4004 * ms, "deposit", true}, {4004 * ms, "withdraw", true},
		}},
		"reserve": {newTowerBudget(time.Second, 5, 1), []step{
			{0, "withdraw", true}, {0, "withdraw", true}, {0, "withdraw", true},
			{0, "withdraw", true}, {0, "withdraw", true}, {0, "withdraw", false},
		}},
		"exact": {newTowerBudget(time.Second, 1, 1), []step{
			{0, "withdraw", true}, {100 * ms, "withdraw", false}, {200 * ms, "withdraw", false},
			{300 * ms, "withdraw", false}, {400 * ms, "withdraw", false},
			{500 * ms, "withdraw", false}, {600 * ms, "withdraw", false},
			{700 * ms, "withdraw", false}, {800 * ms, "withdraw", false},
			{900 * ms, "withdraw", false}, {1000 * ms, "withdraw", false},
			{1100 * ms, "withdraw", true},
		}},
		"half": {newTowerBudget(time.Second, 1, 1), []step{
			{0, "withdraw", true}, {101 * ms, "withdraw", false}, {202 * ms, "withdraw", false},
			{303 * ms, "withdraw", false}, {404 * ms, "withdraw", false},
			{505 * ms, "withdraw", false}, {606 * ms, "withdraw", true},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := c.budget
			for i, s := range c.steps {
				got := true
				if s.op == "deposit" {
					b.deposit(s.at)
				} else {
					got = b.withdraw(s.at)
				}
				if got != s.want {
					t.Errorf("step %d: %s at %v: %v, want %v", i, s.op, s.at, got, s.want)
				}
			}
		})
	}
}

// TestRivalsAtRest: when every call has ended, whatever ended it, nothing is left
// in flight. A rule that counts would otherwise grow stricter with each call that
// its deadline ends in a wait.
func TestRivalsAtRest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	e, f := &envoy{fraction: 0.2, least: 3}, &failsafe{rate: 0.2, least: 3}
	for _, l := range []Limiter{e, f} {
		var live []*Held
		for range 20_000 {
			if len(live) < 40 {
				h := new(Held)
				l.Begin(0, h)
				live = append(live, h)
				continue
			}
			i := r.IntN(len(live))
			h, end := live[i], AttemptEnd{}
			if r.IntN(8) == 0 { // cancelled during an attempt
				l.End(0, h, false)
				live = slices.Delete(live, i, i+1)
				continue
			}
			if r.IntN(2) == 0 {
				end.Verdict = ration.VerdictTransient
			}
			l.Done(0, h, end)
			if !end.ok() && l.Retry(0, h, end) && r.IntN(4) > 0 && l.Resume(0, h) {
				continue
			}
			l.End(0, h, end.ok())
			live = slices.Delete(live, i, i+1)
		}
		for _, h := range live {
			l.Done(0, h, AttemptEnd{})
			l.End(0, h, true)
		}
	}
	if e.active != 0 || e.retries != 0 {
		t.Errorf("envoy: %d active and %d retries at rest", e.active, e.retries)
	}
	if f.executions != 0 || f.inflight != 0 {
		t.Errorf("failsafe: %d executions and %d retries at rest", f.executions, f.inflight)
	}
}

func TestRivalNamed(t *testing.T) {
	rivals := Rivals()
	if rivals[0].Name != "none" || !slices.IsSortedFunc(rivals[1:], func(a, b Rival) int {
		return cmp.Compare(a.Name, b.Name)
	}) {
		t.Error("not in order")
	}
	for _, want := range rivals {
		got, ok := RivalNamed(want.Name)
		if !ok || got.Rule != want.Rule || got.Rule == "" || got.Source == "" {
			t.Errorf("%s: %+v, %v", want.Name, got, ok)
		}
		if a, b := got.New(), got.New(); a == b && want.Name != "none" {
			t.Errorf("%s: two limiters are one", want.Name)
		}
	}
	if _, ok := RivalNamed("ration"); ok {
		t.Error("Ration is no rival")
	}
}
