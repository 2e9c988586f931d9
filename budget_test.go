package ration

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

// stateOrigins are where the histories of the tests of state begin: state must
// not care. The second is the distance that a synctest bubble has from a time
// read outside it; the last leaves room for the histories only.
var stateOrigins = map[string]instant{
	"now":             0,
	"26 years ago":    -26 * 365 * 24 * instant(time.Hour),
	"200 years ahead": 200 * 365 * 24 * instant(time.Hour),
	"early":           longAgo + 1,
	"late":            never - instant(24*time.Hour),
}

func mustBudget(t testing.TB, fraction, floor float64) *Budget {
	t.Helper()
	b, err := NewBudget(fraction, floor)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// drainedBudget returns an empty bucket whose refill point is now.
func drainedBudget(t testing.TB, fraction, floor float64, now instant) *Budget {
	t.Helper()
	b := mustBudget(t, fraction, floor)
	for b.withdraw(now, Critical) {
	}
	b.tokens = 0 // what is left where the capacity is no whole number
	return b
}

// balance writes the tokens of b as a decimal fraction.
func balance(b *Budget) string {
	whole, part := b.tokens/token, b.tokens%token
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%d.%09d", whole, part), "0"), ".")
}

// A budgetOp does something to a budget and says what came of it.
type budgetOp func(b *Budget, now instant) string

type budgetStep struct {
	at   time.Duration
	op   budgetOp
	want string
}

// The operations of the tables.
var (
	deposit = func(b *Budget, now instant) string {
		b.deposit(now)
		return balance(b)
	}
	refund = func(b *Budget, now instant) string {
		b.refund(now)
		return balance(b)
	}
	// withdraw and shed ask for one retry; the balance tells that it is funded.
	withdraw = askFor(Critical)
	shed     = askFor(Sheddable)
	// hint and shedHint tell how long until one is funded.
	hint     = askWhen(Critical)
	shedHint = askWhen(Sheddable)
	used     = func(b *Budget, now instant) string {
		return strconv.FormatFloat(b.utilization(now), 'g', 6, 64)
	}
	tokensLeft = func(b *Budget, now instant) string {
		return strconv.FormatFloat(b.Tokens(now.time()), 'g', 6, 64)
	}
)

func askFor(c Criticality) budgetOp {
	return func(b *Budget, now instant) string {
		if !b.withdraw(now, c) {
			return "refused"
		}
		return balance(b)
	}
}

func askWhen(c Criticality) budgetOp {
	return func(b *Budget, now instant) string {
		d, ok := b.retryAfter(now, c)
		if !ok {
			return "unknown"
		}
		return d.String()
	}
}

// times repeats an operation and returns what the last one said.
func times(n int, op budgetOp) budgetOp {
	return func(b *Budget, now instant) (last string) {
		for range n {
			last = op(b, now)
		}
		return last
	}
}

// funded counts how many of n operations are funded.
func funded(n int, op budgetOp) budgetOp {
	return func(b *Budget, now instant) string {
		count := 0
		for range n {
			if op(b, now) != "refused" {
				count++
			}
		}
		return strconv.Itoa(count)
	}
}

const second, minute, hour = time.Second, time.Minute, time.Hour

var budgetTables = map[string]struct {
	fraction, floor float64
	steps           []budgetStep
}{
	"cold start is full": {0.1, 3, []budgetStep{
		{0, used, "0"},
		{0, hint, "0s"},
		{0, shedHint, "0s"},
		{0, withdraw, "29"},
	}},
	"a deposit into a full bucket is lost": {0.1, 3, []budgetStep{
		{0, times(1000, deposit), "30"},
		{0, funded(1000, withdraw), "30"},
	}},
	"the burst is ten seconds of the floor": {0.1, 3, []budgetStep{
		{0, funded(100, withdraw), "30"},
		{hour, funded(100, withdraw), "30"},
		{100 * hour, funded(100, withdraw), "30"},
	}},
	"the floor refills at its rate": {0.1, 3, []budgetStep{
		{0, times(30, withdraw), "0"},
		{333_333_333, withdraw, "refused"},
		{333_333_334, withdraw, "0.000000002"},
		{1 * second, withdraw, "1"},
		{1 * second, withdraw, "0"},
		{1 * second, withdraw, "refused"},
		{10 * second, funded(100, withdraw), "27"},
		{20*second - 1, funded(100, withdraw), "29"},
		{20 * second, funded(100, withdraw), "1"},
	}},
	"a refill in many small steps loses nothing": {0.1, 0.3, []budgetStep{
		{0, times(3, withdraw), "0"},
		{1, hint, "3.333333333s"},
		{2, hint, "3.333333332s"},
		{3, used, "1"},
		{3, hint, "3.333333331s"},
		{3333333333, withdraw, "refused"},
		{3333333334, withdraw, "0"},
		{10 * second, used, "0.333333"},
	}},
	"time while full is not owed": {0.1, 3, []budgetStep{
		{0, used, "0"},
		{10 * hour, withdraw, "29"},
		{10 * hour, times(29, withdraw), "0"},
		{10 * hour, withdraw, "refused"},
		{10*hour + second, deposit, "3.1"},
	}},
	"full again through deposits, time is not owed either": {1, 0.1, []budgetStep{
		{0, withdraw, "0"},
		{1 * second, deposit, "1"}, // 0.1 of the floor is lost to the cap
		{2 * second, withdraw, "0"},
		{3 * second, used, "0.9"},
		{3 * second, deposit, "1"},
	}},
	"a rest of the floor is not owed once full": {1, 0.3, []budgetStep{
		{0, withdraw, "2"},
		{2, times(2, deposit), "3"}, // 0.6 of a billionth is lost to the cap
		{2, times(3, withdraw), "0"},
		{2 + 3_333_333_333, withdraw, "refused"},
		{2 + 3_333_333_334, withdraw, "0"},
	}},
	"floor zero: ten successes fund one": {0.1, 0, []budgetStep{
		{0, withdraw, "0"},
		{0, hint, "unknown"},
		{0, times(9, deposit), "0.9"},
		{0, withdraw, "refused"},
		{0, hint, "unknown"},
		{0, deposit, "1"},
		{0, hint, "0s"},
		{0, used, "0"},
		{0, withdraw, "0"},
		{1000 * hour, withdraw, "refused"},
		{1000 * hour, times(11, deposit), "1"},
	}},
	"floor zero, 0.7: over the cap is lost": {0.7, 0, []budgetStep{
		{0, withdraw, "0"},
		{0, deposit, "0.7"},
		{0, withdraw, "refused"},
		{0, deposit, "1"},
		{0, withdraw, "0"},
		{0, deposit, "0.7"},
	}},
	"every success a retry": {1, 0, []budgetStep{
		{0, withdraw, "0"},
		{0, deposit, "1"},
		{0, withdraw, "0"},
		{0, withdraw, "refused"},
	}},
	"a refusal takes nothing": {0.1, 1, []budgetStep{
		{0, times(10, withdraw), "0"},
		{second / 2, times(100, withdraw), "refused"},
		{second / 2, deposit, "0.6"},
		{second / 2, times(100, withdraw), "refused"},
		{second * 9 / 10, withdraw, "0"},
	}},
	"an old time accrues nothing and rewinds nothing": {0.1, 1, []budgetStep{
		{10 * second, times(10, withdraw), "0"},
		{12 * second, deposit, "2.1"},
		{2 * second, used, "0.79"},
		{0, deposit, "2.2"},
		{-5 * hour, withdraw, "1.2"},
		{11 * second, withdraw, "0.2"},
		{12 * second, withdraw, "refused"}, // the same second is not paid twice
		{13 * second, withdraw, "0.2"},
	}},
	"an old withdrawal from a full bucket rewinds nothing": {1, 1, []budgetStep{
		{10 * second, withdraw, "9"},
		{10 * second, deposit, "10"},
		{4 * second, times(10, withdraw), "0"},
		{10 * second, withdraw, "refused"},
		{11 * second, withdraw, "0"},
	}},
	"a hint to a clock that is behind reaches the refill point first": {0.1, 1, []budgetStep{
		{10 * second, times(10, withdraw), "0"},
		{7 * second, hint, "4s"},
		{11*second - 1, withdraw, "refused"},
		{11 * second, withdraw, "0"},
	}},
	"a hint counts from what is there": {0.1, 4, []budgetStep{
		{0, times(40, withdraw), "0"},
		{0, hint, "250ms"},
		{0, shedHint, "5.25s"},
		{0, times(5, deposit), "0.5"},
		{0, hint, "125ms"},
		{100 * time.Millisecond, hint, "25ms"},
		{125 * time.Millisecond, hint, "0s"},
		{125 * time.Millisecond, shedHint, "5s"},
		{5125 * time.Millisecond, shedHint, "0s"},
		{5125 * time.Millisecond, shed, "20"},
	}},
	"sheddable leaves half": {0.1, 3, []budgetStep{
		{0, funded(30, shed), "15"},
		{0, shed, "refused"},
		{0, shedHint, "333.333334ms"},
		{0, hint, "0s"},
		{0, askFor(SheddablePlus), "14"},
		{0, askFor(CriticalPlus), "13"},
		{0, funded(30, withdraw), "13"},
		{0, withdraw, "refused"},
	}},
	"below sheddable is sheddable": {0.1, 3, []budgetStep{
		{0, funded(30, askFor(Sheddable-7)), "15"},
		{0, funded(30, askFor(CriticalPlus+7)), "15"},
	}},
	"one token funds sheddable work": {0.5, 0, []budgetStep{
		{0, shed, "0"},
		{0, shed, "refused"},
		{0, shedHint, "unknown"},
		{0, deposit, "0.5"},
		{0, shed, "refused"},
		{0, deposit, "1"},
		{0, shed, "0"},
	}},
	"the least capacity is one token": {0.5, 0.01, []budgetStep{
		{0, shed, "0"},
		{0, hint, "1m40s"},
		{100*second - 1, shed, "refused"},
		{100 * second, shed, "0"},
	}},
	"one and a half tokens": {0.5, 0.15, []budgetStep{
		{0, shed, "0.5"},
		{0, shed, "refused"},
		{0, withdraw, "refused"},
		{0, deposit, "1"},
		{0, shed, "refused"}, // it has to leave the half above one token
		{0, withdraw, "0"},
	}},
	"two tokens": {0.5, 0.2, []budgetStep{
		{0, shed, "1"},
		{0, shed, "refused"},
		{0, withdraw, "0"},
	}},
	"three tokens": {0.5, 0.3, []budgetStep{
		{0, shed, "2"},
		{0, shed, "refused"}, // 1 is not half of 3
		{0, deposit, "2.5"},
		{0, shed, "1.5"},
		{0, funded(9, withdraw), "1"},
	}},
	"twenty tokens": {0.1, 2, []budgetStep{
		{0, funded(20, shed), "10"},
		{0, funded(20, withdraw), "10"},
	}},
	"utilization is what is spent": {0.1, 1, []budgetStep{
		{0, withdraw, "9"},
		{0, used, "0.1"},
		{0, times(9, withdraw), "0"},
		{0, used, "1"},
		{5 * second, used, "0.5"},
		{5 * second, deposit, "5.1"},
		{5 * second, used, "0.49"},
		{hour, used, "0"},
	}},
	"to look ahead takes nothing from the future": {0.1, 1, []budgetStep{
		{0, times(10, withdraw), "0"},
		{hour, used, "0"},
		{hour, tokensLeft, "10"},
		{hour, shedHint, "0s"},
		{0, withdraw, "refused"},
		{0, hint, "1s"},
		{second, used, "0.9"},
		{second, tokensLeft, "1"},
		{second, withdraw, "0"},
		{2*second - 1, withdraw, "refused"},
		{2 * second, withdraw, "0"},
	}},
	"a refund is clamped": {0.1, 0.2, []budgetStep{
		{0, withdraw, "1"},
		{0, refund, "2"},
		{0, refund, "2"},
		{0, times(2, withdraw), "0"},
		{4 * second, refund, "1.8"},
		{4 * second, refund, "2"},
		{hour, times(2, withdraw), "0"},
		{hour, withdraw, "refused"},
	}},
	"the largest floor": {1e-9, 1e8, []budgetStep{
		{0, withdraw, "999999999"},
		{10, used, "0"},
		{10, hint, "0s"},
		{23 * hour, funded(10, shed), "10"},
	}},
	"the smallest floor": {1e-9, 1e-9, []budgetStep{
		{0, withdraw, "0"},
		{0, deposit, "0.000000001"},
		{0, hint, "277777h46m39s"},
		{hour, used, "0.999996"},
		{hour, hint, "277776h46m39s"},
	}},
}

func TestBudgetSteps(t *testing.T) {
	for name, table := range budgetTables {
		for origin, start := range stateOrigins {
			t.Run(name+", "+origin, func(t *testing.T) {
				b := mustBudget(t, table.fraction, table.floor)
				for i, s := range table.steps {
					now := start.add(s.at)
					if s.at < 0 && now > start {
						now = longAgo
					}
					if got := s.op(b, now); got != s.want {
						t.Fatalf("step %d at %v: %s, want %s", i, s.at, got, s.want)
					}
				}
			})
		}
	}
}

// A retry is paid by exactly 1/fraction successes, for as long as one likes: a
// sum of floating-point numbers is off after ten.
func TestBudgetFundsExactly(t *testing.T) {
	now := instant(0)
	b := drainedBudget(t, 0.1, 0, now)
	for round := range rounds(300_000) {
		for i := range 10 {
			if b.withdraw(now, Critical) {
				t.Fatalf("funded after %d successes of round %d", i, round)
			}
			b.deposit(now)
		}
		if !b.withdraw(now, Critical) {
			t.Fatalf("not funded after ten successes of round %d", round)
		}
	}
}

// The capacity of these is large enough to lose nothing, so that the sum
// counts.
func TestBudgetFundsExactlyWhatIsDeposited(t *testing.T) {
	for _, tt := range []struct {
		fraction float64
		billion  uint64 // the fraction, in billionths
		deposits int
	}{
		{0.1, 100_000_000, 1_000_000},
		{0.2, 200_000_000, 1_000_000},
		{0.3, 300_000_000, 1_000_000},
		{0.7, 700_000_000, 1_000_000},
		{0.01, 10_000_000, 1_000_000},
		{0.001, 1_000_000, 1_000_000},
		{0.15, 150_000_000, 100_000},
		{1.0 / 3, 333_333_333, 100_000},
		{0.999999999, 999_999_999, 100_000},
		{0.123456789, 123_456_789, 100_000},
		{1, 1_000_000_000, 100_000},
	} {
		t.Run(strconv.FormatFloat(tt.fraction, 'g', -1, 64), func(t *testing.T) {
			b := drainedBudget(t, tt.fraction, 3, 0)
			var retries uint64
			for n := range uint64(rounds(tt.deposits)) {
				b.deposit(0)
				if b.withdraw(0, Critical) {
					retries++
				}
				if want := (n + 1) * tt.billion / token; retries != want {
					t.Fatalf("%d retries after %d successes, want %d", retries, n+1, want)
				}
			}
		})
	}
}

func TestBudgetEveryThousandth(t *testing.T) {
	for k := range 1000 {
		if raceEnabled && k%10 != 0 {
			continue
		}
		b := drainedBudget(t, float64(k+1)/1000, 3, 0)
		retries := 0
		for n := range 1000 {
			b.deposit(0)
			if b.withdraw(0, Critical) {
				retries++
			}
			if want := (n + 1) * (k + 1) / 1000; retries != want {
				t.Fatalf("0.%03d: %d retries after %d successes, want %d", k+1, retries, n+1, want)
			}
		}
	}
}

// What is smaller than the unit is rounded, but never to nothing.
func TestBudgetRounding(t *testing.T) {
	for _, tt := range []struct {
		fraction, floor      float64
		wantFraction, floor2 int64
	}{
		{1e-9, 1e-9, 1, 1},
		{1e-12, 1e-300, 1, 1},
		{math.SmallestNonzeroFloat64, math.SmallestNonzeroFloat64, 1, 1},
		{1.4e-9, 1.6e-9, 1, 2},
		{math.Nextafter(1, 0), math.Nextafter(3, 4), token, 3 * token},
		{0.1, 0, token / 10, 0},
		{0.1, math.Copysign(0, -1), token / 10, 0},
	} {
		b := mustBudget(t, tt.fraction, tt.floor)
		if b.fraction != tt.wantFraction || b.rate != tt.floor2 {
			t.Errorf("NewBudget(%v, %v) has %d and %d billionths, want %d and %d",
				tt.fraction, tt.floor, b.fraction, b.rate, tt.wantFraction, tt.floor2)
		}
	}
}

func TestBudgetAccessors(t *testing.T) {
	for _, tt := range []struct{ fraction, floor, capacity float64 }{
		{0.1, 3, 30}, {0.2, 0, 1}, {1, 0.05, 1}, {0.3, 0.15, 1.5}, {0.01, 1e8, 1e9},
	} {
		b := mustBudget(t, tt.fraction, tt.floor)
		if b.Fraction() != tt.fraction || b.MinimumPerSecond() != tt.floor ||
			b.Capacity() != tt.capacity || b.Name() != "" {
			t.Errorf("NewBudget(%v, %v) tells %v, %v, %v, %q", tt.fraction, tt.floor,
				b.Fraction(), b.MinimumPerSecond(), b.Capacity(), b.Name())
		}
	}
}

func TestBudgetInvalid(t *testing.T) {
	const fraction, floor = "fraction", "minimumPerSecond"
	nan, inf := math.NaN(), math.Inf(1)
	for _, tt := range []struct {
		fraction, floor float64
		names           []string
	}{
		{0, 3, []string{fraction + " 0 "}},
		{-0.1, 3, []string{fraction + " -0.1 "}},
		{1.0000000000000002, 3, []string{fraction + " 1.0000000000000002 "}},
		{nan, 3, []string{fraction + " NaN "}},
		{inf, 3, []string{fraction + " +Inf "}},
		{-inf, 3, []string{fraction + " -Inf "}},
		{0.1, -1, []string{floor + " -1 "}},
		{0.1, -math.SmallestNonzeroFloat64, []string{floor + " -5e-324 "}},
		{0.1, nan, []string{floor + " NaN "}},
		{0.1, inf, []string{floor + " +Inf "}},
		{0.1, -inf, []string{floor + " -Inf "}},
		{0.1, 100_000_001, []string{floor + " 1.00000001e+08 "}},
		{2, -3, []string{fraction + " 2 ", floor + " -3 "}},
	} {
		name := t.Name() + fmt.Sprint(tt.fraction, tt.floor)
		made, err := NewBudget(tt.fraction, tt.floor)
		shared, sharedErr := SharedBudget(name, tt.fraction, tt.floor)
		if made != nil || shared != nil || err == nil || sharedErr == nil {
			t.Errorf("(%v, %v) is accepted", tt.fraction, tt.floor)
			continue
		}
		for _, text := range []string{err.Error(), sharedErr.Error()} {
			lines := strings.Split(text, "\n")
			if len(lines) != len(tt.names) {
				t.Errorf("(%v, %v): %q, want %d problems", tt.fraction, tt.floor, text, len(tt.names))
				continue
			}
			for i, line := range lines {
				if !strings.HasPrefix(line, "ration: budget "+tt.names[i]) ||
					!strings.HasSuffix(line, "use NoBudget") {
					t.Errorf("(%v, %v): %q does not name %q and NoBudget",
						tt.fraction, tt.floor, line, tt.names[i])
				}
			}
		}
	}
}

func TestSharedBudget(t *testing.T) {
	name := t.Name()
	first, err := SharedBudget(name, 0.2, 1)
	if err != nil {
		t.Fatal(err)
	}
	again, err := SharedBudget(name, 0.5, 7)
	if err != nil || again != first {
		t.Errorf("the second call returns %p, %v, want the first budget, %p", again, err, first)
	}
	if first.Name() != name || first.Fraction() != 0.2 || first.Capacity() != 10 {
		t.Errorf("%q holds %v and takes %v, want the first parameters",
			first.Name(), first.Capacity(), first.Fraction())
	}
	if other, err := SharedBudget(name+"'", 0.2, 1); err != nil || other == first {
		t.Errorf("another name returns %p, %v, want another budget", other, err)
	}
	// A wrong number is refused though it would have been ignored.
	if b, err := SharedBudget(name, 0, 1); err == nil || b != nil {
		t.Errorf("invalid parameters return %p, %v", b, err)
	}
	b, err := SharedBudget("", 0.1, 3)
	if b != nil || err == nil || !strings.HasPrefix(err.Error(), "ration: ") ||
		!strings.Contains(err.Error(), "NewBudget") || !strings.Contains(err.Error(), "NoBudget") {
		t.Errorf("an empty name returns %p, %v", b, err)
	}
	if private := mustBudget(t, 0.2, 1); private == first || private.Name() != "" {
		t.Error("NewBudget shares")
	}
}

func TestSharedBudgetConcurrent(t *testing.T) {
	var first atomic.Pointer[Budget]
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			b, err := SharedBudget(t.Name(), 0.1, 3)
			if err != nil {
				t.Error(err)
			}
			if !first.CompareAndSwap(nil, b) && first.Load() != b {
				t.Error("two budgets of one name")
			}
		})
	}
	wg.Wait()
}

func TestBudgetOff(t *testing.T) {
	now := base
	for name, b := range map[string]*Budget{"NoBudget": NoBudget, "nil": nil} {
		for range 1000 {
			if !b.Withdraw(now, Sheddable) {
				t.Fatalf("%s refuses", name)
			}
		}
		b.Deposit(now)
		b.Deposit(now.Add(-hour))
		if d, ok := b.RetryAfter(now, Sheddable); d != 0 || !ok {
			t.Errorf("%s: RetryAfter = %v, %t", name, d, ok)
		}
		if u, at := b.Utilization(), b.UtilizationAt(now); u != 0 || at != 0 {
			t.Errorf("%s: Utilization = %v, %v", name, u, at)
		}
		if b.Name() != "" || b.Fraction() != 0 || b.MinimumPerSecond() != 0 || b.Capacity() != 0 {
			t.Errorf("%s has a name or numbers", name)
		}
	}
}

// The zero Budget is not usable, and funds nothing rather than everything.
func TestBudgetZero(t *testing.T) {
	var b Budget
	for range 20 {
		b.Deposit(base)
		if b.Withdraw(base, CriticalPlus) {
			t.Fatal("the zero Budget funds a retry")
		}
	}
	if d, ok := b.RetryAfter(base, Critical); ok {
		t.Errorf("RetryAfter = %v, want nobody to know", d)
	}
	if u := b.UtilizationAt(base); u != 0 {
		t.Errorf("UtilizationAt = %v", u)
	}
	if _, err := New(Policy{Budget: &b}); err == nil ||
		!strings.Contains(err.Error(), "NewBudget") || !strings.Contains(err.Error(), "NoBudget") {
		t.Errorf("New accepts it, or does not say what to do: %v", err)
	}
}

// The exported methods read no clock: times of any source will do.
func TestBudgetTakesTime(t *testing.T) {
	for name, at := range map[string]time.Time{
		"now":       time.Now(),
		"wall only": time.Date(2031, 7, 1, 0, 0, 0, 0, time.UTC),
		"bubble":    time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC),
		"elsewhere": time.Date(2026, 3, 1, 0, 0, 0, 0, time.FixedZone("", 5*3600)),
	} {
		b := mustBudget(t, 0.1, 3)
		for range 30 {
			if !b.Withdraw(at, Critical) {
				t.Fatalf("%s: refused by a full bucket", name)
			}
		}
		if d, ok := b.RetryAfter(at, Critical); d != 333_333_334 || !ok {
			t.Errorf("%s: RetryAfter = %v, %t", name, d, ok)
		}
		if u := b.UtilizationAt(at.Add(5 * second)); u != 0.5 {
			t.Errorf("%s: UtilizationAt = %v, want 0.5", name, u)
		}
		b.Deposit(at.Add(5 * second))
		if got := balance(b); got != "15.1" {
			t.Errorf("%s: %s tokens, want 15.1", name, got)
		}
	}
}

// Utilization is the one reader of the clock, and its is that of the bubble.
func TestBudgetUtilizationNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustBudget(t, 0.1, 3)
		for range 30 {
			b.Withdraw(time.Now(), Critical)
		}
		for i, want := range []float64{1, 0.75, 0.5, 0.25, 0, 0} {
			if got := b.Utilization(); got != want {
				t.Errorf("after %d times 2.5 s: %v, want %v", i, got, want)
			}
			time.Sleep(2500 * time.Millisecond)
		}
	})
}

// A hint is exact: who comes back after d is funded, a nanosecond earlier not.
func TestBudgetRetryAfterIsExact(t *testing.T) {
	r := newStateRand(1)
	checked := 0
	for range 20_000 {
		now := instant(r.Int64N(1 << 60))
		floor := float64(1+r.Int64N(1<<r.Int64N(40))) / token
		b := mustBudget(t, float64(1+r.Int64N(token))/token, floor)
		b.withdraw(now, Critical)
		b.tokens = r.Int64N(b.tokens + 1)
		b.rest = r.Int64N(token)
		c := []Criticality{Sheddable, Critical}[r.Int64N(2)]
		at := now + instant(r.Int64N(int64(hour))-int64(minute))
		d, ok := b.retryAfter(at, c)
		if !ok || d < 0 {
			t.Fatalf("floor %v: %v, %t", floor, d, ok)
		}
		if d == 0 {
			continue
		}
		checked++
		if b.withdraw(at.add(d)-1, c) {
			t.Fatalf("floor %v: funded a nanosecond before %v have passed", floor, d)
		}
		if !b.withdraw(at.add(d), c) {
			t.Fatalf("floor %v: not funded after %v", floor, d)
		}
	}
	if checked < 1000 {
		t.Errorf("only %d hints were above zero", checked)
	}
}

func TestBudgetRetryAfterIsBounded(t *testing.T) {
	b := mustBudget(t, 1e-9, 1e-9)
	b.withdraw(never-1, Critical)
	if d, ok := b.retryAfter(longAgo, Critical); d != maxDuration || !ok {
		t.Errorf("from the other end of time: %v, %t, want the longest duration", d, ok)
	}
	if d, ok := b.retryAfter(0, Critical); d != maxDuration || !ok {
		t.Errorf("from afar: %v, %t, want the longest duration", d, ok)
	}
	b = mustBudget(t, 0.1, 1e8)
	b.withdraw(0, Critical)
	b.tokens, b.rate = 0, 1 // no budget is that slow for its size; it must not panic all the same
	if d, ok := b.retryAfter(0, Sheddable); d != maxDuration || !ok {
		t.Errorf("%v, %t, want the longest duration", d, ok)
	}
}

// C22: nothing is lost or made up when many goroutines use one bucket.
func TestBudgetConcurrent(t *testing.T) {
	const goroutines = 64
	var granted atomic.Int64
	each := func(n int, do func()) {
		var wg sync.WaitGroup
		start := make(chan struct{})
		defer wg.Wait()
		defer close(start)
		for range goroutines {
			wg.Go(func() {
				<-start
				for range n / goroutines {
					do()
				}
			})
		}
	}
	now := instant(0)
	b := mustBudget(t, 0.2, 100)
	each(10_048, func() {
		if b.withdraw(now, Critical) {
			granted.Add(1)
		}
	})
	if n := granted.Load(); n != 1000 || b.tokens != 0 {
		t.Errorf("%d of 1000 tokens granted, %s left", n, balance(b))
	}

	// Enough of them for each goroutine to meet the others.
	b = drainedBudget(t, 0.2, 20_000, now)
	each(960_000, func() { b.deposit(now) })
	if got := balance(b); got != "192000" {
		t.Errorf("%s tokens after 960,000 deposits of 0.2", got)
	}

	b = drainedBudget(t, 0.2, 10, now)
	granted.Store(0)
	for s := range instant(9) {
		at := now + s*instant(second)
		each(6400, func() {
			b.utilization(at)
			if b.withdraw(at, Critical) {
				granted.Add(1)
			}
		})
		if got := granted.Load(); got != int64(s)*10 {
			t.Errorf("%d tokens granted after %d s of a floor of 10", got, s)
		}
	}
}

// Every operation at once, while the clock runs and jumps. What is funded stays
// within what was there, and the balance within the bucket.
func TestBudgetHammer(t *testing.T) {
	const goroutines = 8
	b := mustBudget(t, 0.1, 50)
	var clock, retries, refunds, successes atomic.Int64
	var wg sync.WaitGroup
	for g := range goroutines {
		r := newStateRand(uint64(g))
		wg.Go(func() {
			for range rounds(5000) {
				now := instant(clock.Add(r.Int64N(int64(time.Millisecond))))
				if r.Int64N(50) == 0 {
					now -= instant(second)
				}
				switch r.Int64N(6) {
				case 0, 1:
					successes.Add(1)
					b.deposit(now)
				case 2, 3:
					if b.withdraw(now, Criticality(r.Int64N(4)-2)) {
						retries.Add(1)
						if r.Int64N(8) == 0 {
							refunds.Add(1)
							b.refund(now)
						}
					}
				case 4:
					if d, ok := b.retryAfter(now, Critical); d < 0 || !ok {
						t.Errorf("RetryAfter = %v, %t", d, ok)
					}
				case 5:
					if u := b.utilization(now); u < 0 || u > 1 {
						t.Errorf("Utilization = %v", u)
					}
				}
			}
		})
	}
	wg.Wait()
	bound := b.Capacity() + b.MinimumPerSecond()*time.Duration(clock.Load()).Seconds() +
		b.Fraction()*float64(successes.Load())
	if got := float64(retries.Load() - refunds.Load()); got > bound {
		t.Errorf("%v retries, want at most %v", got, bound)
	}
	if b.tokens < 0 || b.tokens > b.capacity || b.full.Load() != (b.tokens == b.capacity) {
		t.Errorf("%s of %v tokens, full = %t", balance(b), b.Capacity(), b.full.Load())
	}
}

// C21: whatever way a bucket is made, successes fill it again.
func TestBudgetIsRefilledBySuccesses(t *testing.T) {
	shared, err := SharedBudget(t.Name(), 0.1, 0)
	if err != nil {
		t.Fatal(err)
	}
	automatic := MustNew(Policy{})
	for name, b := range map[string]*Budget{
		"NewBudget":         mustBudget(t, 0.01, 0),
		"NewBudget, floor":  mustBudget(t, 0.1, 3),
		"SharedBudget":      shared,
		"automatic":         automatic.Budget(),
		"automatic, by key": automatic.For("a").Budget(),
		"by a policy":       MustNew(Policy{Attempts: 1, Budget: mustBudget(t, 0.1, 1)}).Budget(),
	} {
		now := base
		for b.Withdraw(now, Critical) {
		}
		if b.UtilizationAt(now) != 1 {
			t.Errorf("%s: not drained", name)
		}
		for range 1000 {
			b.Deposit(now)
		}
		if !b.Withdraw(now, Critical) {
			t.Errorf("%s: no retry after 1,000 successes", name)
		}
	}
}

func TestBudgetInherit(t *testing.T) {
	const at = instant(hour)
	spent := func(fraction, floor float64, left int) *Budget {
		b := mustBudget(t, fraction, floor)
		for b.withdraw(at, Critical) {
		}
		b.tokens = int64(left) * token
		return b
	}
	withHistory := mustBudget(t, 0.1, 3)
	withHistory.withdraw(at, Critical)
	refilled := mustBudget(t, 0.1, 3)
	refilled.withdraw(0, Critical)
	refilled.refill(at)
	for _, tt := range []struct {
		name     string
		old, new *Budget
		at       instant
		want     string
		then     string // a second later
	}{
		{"spent", spent(0.1, 3, 0), mustBudget(t, 0.1, 3), at, "0", "3"},
		{"in part", spent(0.1, 3, 7), mustBudget(t, 0.2, 2), at, "7", "9"},
		{"into a smaller bucket", spent(0.1, 3, 7), mustBudget(t, 0.1, 0.5), at, "5", "5"},
		{"full", mustBudget(t, 0.1, 3), mustBudget(t, 0.1, 7), at, "70", "70"},
		{"full again", refilled, mustBudget(t, 0.1, 7), at, "70", "70"},
		{"one with a history keeps it", spent(0.1, 3, 0), withHistory, at, "29", "30"},
		{"from off", NoBudget, mustBudget(t, 0.1, 3), at, "30", "30"},
		{"from none", nil, mustBudget(t, 0.1, 3), at, "30", "30"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.new.inherit(tt.old)
			tt.new.refill(tt.at)
			if got := balance(tt.new); got != tt.want {
				t.Errorf("%s tokens, want %s", got, tt.want)
			}
			tt.new.refill(tt.at + instant(second))
			if got := balance(tt.new); got != tt.then {
				t.Errorf("%s tokens a second later, want %s", got, tt.then)
			}
			if tt.new.full.Load() != (tt.new.tokens == tt.new.capacity) {
				t.Errorf("full = %t with %s of %v tokens", tt.new.full.Load(), balance(tt.new),
					tt.new.Capacity())
			}
		})
	}
	// What is inherited once is a history.
	b := mustBudget(t, 0.1, 3)
	b.inherit(spent(0.1, 3, 4))
	b.inherit(spent(0.1, 3, 1))
	if got := balance(b); got != "4" {
		t.Errorf("%s tokens after two inheritances, want those of the first, 4", got)
	}
	b.inherit(b)
	NoBudget.inherit(b)
	(*Budget)(nil).inherit(b)
	if got := balance(b); got != "4" || !NoBudget.Withdraw(base, Critical) {
		t.Errorf("%s tokens after inheritances that mean nothing", got)
	}
}

// A deposit into a full bucket does not want the lock: it returns though the
// test holds it. If it did want it, only the watchdog would end this.
func TestBudgetFullDepositTakesNoLock(t *testing.T) {
	b := mustBudget(t, 0.1, 3)
	b.mu.Lock()
	defer b.mu.Unlock()
	done := make(chan struct{})
	go func() {
		b.Deposit(time.Now())
		b.deposit(clock())
		b.Utilization()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(10 * second):
		t.Error("a deposit into a full bucket waits for the lock")
	}
}

func TestBudgetAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	b := mustBudget(t, 0.1, 3)
	if n := testing.AllocsPerRun(1000, func() {
		b.Deposit(base)
		b.Withdraw(base, Sheddable)
		b.RetryAfter(base, Critical)
		b.UtilizationAt(base)
		b.refund(0)
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// The depositor of a storm must not fetch what the withdrawers write.
func TestBudgetLayout(t *testing.T) {
	var b Budget
	if pad := unsafe.Offsetof(b.mu) - unsafe.Offsetof(b.full); pad < 64 {
		t.Errorf("%d bytes between what deposits read and what retries write, want a line", pad)
	}
}

// BenchmarkBudgetDeposit compares the steady state, a deposit into a full
// bucket, with the floor under it: a call that cannot be inlined and loads one
// atomic. The contract is three times that, with two goroutines as well.
func BenchmarkBudgetDeposit(b *testing.B) {
	full := mustBudget(b, 0.1, 3)
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			loadFull(full)
		}
	})
	b.Run("full", func(b *testing.B) {
		for b.Loop() {
			full.deposit(0)
		}
	})
	b.Run("full parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				full.deposit(0)
			}
		})
	})
	b.Run("full, time given", func(b *testing.B) {
		now := time.Now()
		for b.Loop() {
			full.Deposit(now)
		}
	})
	spent := drainedBudget(b, 1e-9, 0, 0)
	b.Run("spent", func(b *testing.B) {
		for b.Loop() {
			spent.deposit(0)
		}
	})
	b.Run("spent parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				spent.deposit(0)
			}
		})
	})
}

//go:noinline
func loadFull(b *Budget) bool { return b.full.Load() }

func BenchmarkBudgetWithdraw(b *testing.B) {
	b.Run("funded", func(b *testing.B) {
		budget := mustBudget(b, 1, 0)
		for b.Loop() {
			budget.withdraw(0, Critical)
			budget.deposit(0)
		}
	})
	b.Run("refused", func(b *testing.B) {
		budget := drainedBudget(b, 0.1, 0, 0)
		for b.Loop() {
			budget.withdraw(0, Critical)
		}
	})
	b.Run("refused parallel", func(b *testing.B) {
		budget := drainedBudget(b, 0.1, 0, 0)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				budget.withdraw(0, Critical)
			}
		})
	})
	b.Run("hint", func(b *testing.B) {
		budget := drainedBudget(b, 0.1, 3, 0)
		for b.Loop() {
			budget.retryAfter(0, Critical)
		}
	})
}
