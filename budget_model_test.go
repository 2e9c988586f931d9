package ration

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"
)

// A stateScript is a history of operations: bytes that a test reads as choices
// and numbers. Every slice of bytes is one, so that a fuzzer can look for the
// histories that matter, and a random one is a random history.
type stateScript []byte

// next takes one byte, and 0 from an empty script.
func (s *stateScript) next() byte {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return b
}

// below takes a number in [0, n), n <= 256.
func (s *stateScript) below(n int) int { return int(s.next()) * n / 256 }

// wide takes a number of any size and sign.
func (s *stateScript) wide() int64 {
	n := int64(s.next()) | int64(s.next())<<8 | 1<<16
	n <<= s.next() % 48
	if s.next() < 128 {
		return -n
	}
	return n
}

// step takes a stretch of time: mostly forward, mostly short, sometimes years,
// sometimes back.
func (s *stateScript) step(unit time.Duration) int64 {
	switch kind := s.next(); {
	case kind < 96:
		return 0
	case kind < 160:
		return int64(s.next()) * int64(unit) / 64
	case kind < 208:
		return int64(s.next()) * int64(unit)
	case kind < 224:
		return int64(s.next())
	case kind < 240:
		return -int64(s.next()) * int64(unit) / 16
	case kind < 248:
		return s.wide()
	case kind < 252:
		return int64(s.next()) * 365 * 24 * int64(time.Hour)
	}
	return -26 * 365 * 24 * int64(time.Hour)
}

// advance moves an instant, and stops at the ends of time.
func (s *stateScript) advance(now instant, unit time.Duration) instant {
	step := s.step(unit)
	to := now + instant(step)
	switch {
	case step > 0 && to < now:
		return never
	case step < 0 && to > now:
		return longAgo
	}
	return to
}

func newStateRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 42)) }

// rounds is n, or less where each round is ten times as slow.
func rounds(n int) int {
	if raceEnabled {
		return n / 10
	}
	return n
}

func randomScript(r *rand.Rand, length int) stateScript {
	s := make(stateScript, length)
	for i := range s {
		s[i] = byte(r.Uint32())
	}
	return s
}

// A modelBudget is the budget as it is described: exact fractions, one
// goroutine, no thought of speed.
type modelBudget struct {
	fraction *big.Rat // tokens
	rate     *big.Rat // tokens per nanosecond
	capacity *big.Rat
	reserve  *big.Rat
	tokens   *big.Rat
	last     *big.Int // the refill point; nil = never drawn on
}

func ratio(a, b int64) *big.Rat { return big.NewRat(a, b) }

// newModelBudget takes its parameters in billionths.
func newModelBudget(fraction, floor int64) *modelBudget {
	m := &modelBudget{fraction: ratio(fraction, 1e9), rate: ratio(floor, 1e9)}
	one := ratio(1, 1)
	m.capacity = new(big.Rat).Mul(m.rate, ratio(10, 1))
	if m.capacity.Cmp(one) < 0 {
		m.capacity = one
	}
	m.rate.Quo(m.rate, ratio(1e9, 1))
	m.reserve = new(big.Rat).Quo(m.capacity, ratio(2, 1))
	if most := new(big.Rat).Sub(m.capacity, one); m.reserve.Cmp(most) > 0 {
		m.reserve = most
	}
	m.tokens = new(big.Rat).Set(m.capacity)
	return m
}

func (m *modelBudget) full() bool { return m.tokens.Cmp(m.capacity) == 0 }

func (m *modelBudget) add(n *big.Rat) {
	m.tokens = new(big.Rat).Add(m.tokens, n)
	if m.tokens.Cmp(m.capacity) > 0 {
		m.tokens.Set(m.capacity)
	}
}

// refill accrues the floor. A full bucket accrues nothing, and an old time
// neither.
func (m *modelBudget) refill(now instant) {
	at := big.NewInt(int64(now))
	if m.full() || m.last.Cmp(at) >= 0 {
		return
	}
	elapsed := new(big.Rat).SetInt(new(big.Int).Sub(at, m.last))
	m.last = at
	m.add(elapsed.Mul(elapsed, m.rate))
}

// seen is what a look finds at the given time, which leaves m as it is.
func (m *modelBudget) seen(now instant) *modelBudget {
	then := *m
	then.refill(now)
	return &then
}

func (m *modelBudget) deposit(now instant) {
	m.refill(now)
	m.add(m.fraction)
}

func (m *modelBudget) refund(now instant) {
	m.refill(now)
	m.add(ratio(1, 1))
}

func (m *modelBudget) need(c Criticality) *big.Rat {
	if c == Sheddable {
		return new(big.Rat).Add(ratio(1, 1), m.reserve)
	}
	return ratio(1, 1)
}

func (m *modelBudget) withdraw(now instant, c Criticality) bool {
	m.refill(now)
	if m.tokens.Cmp(m.need(c)) < 0 {
		return false
	}
	if at := big.NewInt(int64(now)); m.full() && (m.last == nil || m.last.Cmp(at) < 0) {
		m.last = at // the floor counts from here
	}
	m.tokens = new(big.Rat).Sub(m.tokens, ratio(1, 1))
	return true
}

// retryAfter is the least whole number of nanoseconds after which the floor has
// made up what is short.
func (m *modelBudget) retryAfter(now instant, c Criticality) (time.Duration, bool) {
	m = m.seen(now)
	short := new(big.Rat).Sub(m.need(c), m.tokens)
	switch {
	case short.Sign() <= 0:
		return 0, true
	case m.rate.Sign() == 0:
		return 0, false
	}
	q := short.Quo(short, m.rate)
	wait, rest := new(big.Int).QuoRem(q.Num(), q.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		wait.Add(wait, big.NewInt(1))
	}
	wait.Add(wait, m.last).Sub(wait, big.NewInt(int64(now)))
	if !wait.IsInt64() {
		return maxDuration, true
	}
	return time.Duration(wait.Int64()), true
}

// atoms is the balance in billionths of a billionth of a token, the unit in
// which the shipped budget is exact.
func (m *modelBudget) atoms() *big.Rat { return new(big.Rat).Mul(m.tokens, ratio(1e18, 1)) }

// replayBudget runs a history on a budget and on the model, and compares every
// answer and every balance.
func replayBudget(t *testing.T, s stateScript) {
	t.Helper()
	fraction := 1 + (int64(s.next())<<24|int64(s.next())<<16|int64(s.next())<<8)%1e9
	if s.next() < 128 {
		fraction = max(fraction/1e8*1e8, 1e8) // a tenth, two, three...
	}
	var floor int64
	switch s.below(6) {
	case 0:
	case 1:
		floor = int64(s.next()) // hardly any
	case 2:
		floor = 1e7 * int64(s.next())
	case 3:
		floor = 3e9
	case 4:
		floor = 1e9*int64(s.next()) + int64(s.next())<<8
	case 5:
		floor = 1e9 * (1e8 - int64(s.next())) // as much as there may be
	}
	b, err := NewBudget(float64(fraction)/1e9, float64(floor)/1e9)
	if err != nil {
		t.Fatal(err)
	}
	m := newModelBudget(fraction, floor)
	now := instant(s.wide())
	if s.next() < 64 {
		now = 0
	}
	for i := 0; len(s) > 0; i++ {
		now = s.advance(now, time.Second)
		op, got, want := stepBudget(&s, b, m, now)
		if got != want {
			t.Fatalf("step %d, %s at %d: %s, want %s (fraction %d, floor %d)",
				i, op, now, got, want, fraction, floor)
		}
		checkBalance(t, b, m)
		if t.Failed() {
			t.Fatalf("after step %d, %s at %d (fraction %d, floor %d)", i, op, now, fraction, floor)
		}
	}
}

func stepBudget(s *stateScript, b *Budget, m *modelBudget, now instant) (op, got, want string) {
	c := Critical
	if s.next() < 64 {
		c = Sheddable
	}
	n := 1
	if s.next() < 16 {
		n += int(s.next())
	}
	switch s.below(8) {
	case 0, 1:
		for range n {
			b.deposit(now)
			m.deposit(now)
		}
		return "deposit", "", ""
	case 2, 3, 4:
		for range n {
			got += fmt.Sprint(b.withdraw(now, c))
			want += fmt.Sprint(m.withdraw(now, c))
		}
		return "withdraw", got, want
	case 5:
		b.refund(now)
		m.refund(now)
		return "refund", "", ""
	case 6:
		used, exact := b.utilization(now), m.used(now)
		if math.Abs(used-exact) < 1e-8 { // of one token, the unit is 1e-9
			used = exact
		}
		return "used", fmt.Sprint(used), fmt.Sprint(exact)
	default:
		d, ok := b.retryAfter(now, c)
		exact, known := m.retryAfter(now, c)
		return "retryAfter", fmt.Sprint(d, ok), fmt.Sprint(exact, known)
	}
}

func (m *modelBudget) used(now instant) float64 {
	m = m.seen(now)
	f, _ := new(big.Rat).Quo(m.tokens, m.capacity).Float64()
	return 1 - f
}

func checkBalance(t *testing.T, b *Budget, m *modelBudget) {
	t.Helper()
	atoms := new(big.Int).Mul(big.NewInt(b.tokens), big.NewInt(1e9))
	if b.tokens < b.capacity {
		atoms.Add(atoms, big.NewInt(b.rest))
	}
	if got := new(big.Rat).SetInt(atoms); got.Cmp(m.atoms()) != 0 {
		t.Errorf("%s tokens and %d, want %s", balance(b), b.rest, m.tokens.FloatString(18))
	}
	if b.full.Load() != m.full() {
		t.Errorf("full = %t with %s tokens", b.full.Load(), balance(b))
	}
}

func TestBudgetModel(t *testing.T) {
	r := newStateRand(2)
	for range rounds(600) {
		replayBudget(t, randomScript(r, 400))
	}
}

func FuzzBudget(f *testing.F) {
	r := newStateRand(3)
	for _, length := range []int{20, 40, 100, 400} {
		f.Add([]byte(randomScript(r, length)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) <= 2000 {
			replayBudget(t, data)
		}
	})
}

// A budgetMove is what a window is asked about: when, and what was done.
type budgetMove struct {
	at      int64 // ms
	retry   int64 // 1 if one was funded, -1 if one was given back
	success int64
}

// randomMoves drives a budget through a history of the hardest kind: everything
// is asked for, storms alternate with quiet, and time runs by fits and starts.
func randomMoves(r *rand.Rand, b *Budget, n int, back bool) []budgetMove {
	moves := make([]budgetMove, 0, n)
	at, quiet, held := int64(0), int64(3), int64(0)
	for range n {
		switch r.Int64N(20) {
		case 0:
			at += r.Int64N(20_000)
		case 1, 2, 3, 4, 5, 6:
			at += r.Int64N(300)
		case 7:
			quiet = r.Int64N(10)
		case 8:
			if back {
				at -= r.Int64N(5000)
			}
		}
		now := instant(at * int64(time.Millisecond))
		m := budgetMove{at: at}
		switch {
		case r.Int64N(10) < quiet:
			b.deposit(now)
			m.success = 1
		case held > 0 && r.Int64N(20) == 0:
			b.refund(now)
			m.retry = -1
			held--
		case b.withdraw(now, []Criticality{Sheddable, Critical, Critical}[r.Int64N(3)]):
			m.retry = 1
			held++
		}
		moves = append(moves, m)
	}
	return moves
}

// The bound that always holds, in every window of every history:
//
//	retries <= capacity + floor * t + fraction * successes
//
// t is how far apart the times in the window are. It is exact, in thousandths
// of a billionth. How near the histories come to it is checked too, since a
// bound that nothing comes near would be kept by a budget that refuses
// everything.
func TestBudgetBound(t *testing.T) {
	r := newStateRand(4)
	for _, tt := range []struct {
		fraction, floor float64
	}{
		{0.1, 3}, {0.1, 0}, {0.3, 0.5}, {1, 0}, {1, 1}, {0.01, 0.15}, {0.7, 1.1},
	} {
		nearest := int64(-1 << 62)
		for round := range 60 {
			b := mustBudget(t, tt.fraction, tt.floor)
			back := round%2 == 1
			moves := randomMoves(r, b, 250, back)
			nearest = max(nearest, checkBound(t, b, moves))
		}
		// A window that begins full and ends empty meets the bound but for less
		// than a token.
		if nearest <= -1000*token {
			t.Errorf("(%v, %v): the nearest window was %v tokens away",
				tt.fraction, tt.floor, float64(-nearest)/1000/token)
		}
	}
}

// checkBound returns by how much the nearest window misses the bound, as a
// negative number.
func checkBound(t *testing.T, b *Budget, moves []budgetMove) (nearest int64) {
	t.Helper()
	nearest = -1 << 62
	for i := range moves {
		var retries, successes int64
		earliest, latest := moves[i].at, moves[i].at
		for _, m := range moves[i:] {
			retries += m.retry
			successes += m.success
			earliest, latest = min(earliest, m.at), max(latest, m.at)
			bound := 1000*b.capacity + b.rate*(latest-earliest) + 1000*b.fraction*successes
			if retries > 0 {
				nearest = max(nearest, 1000*token*retries-bound)
			}
			if 1000*token*retries > bound {
				t.Fatalf("%d retries in %d ms with %d successes (fraction %v, floor %v)", retries,
					latest-earliest, successes, b.Fraction(), b.MinimumPerSecond())
			}
		}
	}
	return nearest
}
