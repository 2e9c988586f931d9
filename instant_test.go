package ration

import (
	"cmp"
	"math"
	"math/big"
	"testing"
	"testing/synctest"
	"time"
)

func TestInstantAdd(t *testing.T) {
	for _, tt := range []struct {
		i    instant
		d    time.Duration
		want instant
	}{
		{0, 0, 0},
		{5, 7, 12},
		{-5, 7, 2},
		{5, NoLimit, never},
		{longAgo, NoLimit, never},
		{longAgo, maxDuration, -1},
		{0, maxDuration, never},
		{1, maxDuration, never},
		{never - 5, 4, never - 1},
		{never - 5, 5, never},
		{never - 5, 6, never},
		{never, 0, never},
		{never, 1, never},
		{never, maxDuration, never},
		{10, -3, 7},
	} {
		if got := tt.i.add(tt.d); got != tt.want {
			t.Errorf("%d.add(%d) = %d, want %d", tt.i, tt.d, got, tt.want)
		}
	}
}

func TestInstantSince(t *testing.T) {
	const most, least = math.MaxInt64, math.MinInt64
	for _, tt := range []struct {
		i, j instant
		want time.Duration
	}{
		{0, 0, 0},
		{7, 5, 2},
		{5, 7, -2},
		{-5, 7, -12},
		{never, 0, most},
		{never, 1, most - 1},
		{never, -1, most},
		{never, longAgo, most},
		{longAgo, never, least},
		{longAgo, 0, least},
		{longAgo, 1, least},
		{longAgo, -1, least + 1},
		{0, longAgo, most},
		{-1, longAgo, most},
		{-2, longAgo, most - 1},
		{longAgo, longAgo, 0},
		{never, never, 0},
	} {
		if got := tt.i.since(tt.j); got != tt.want {
			t.Errorf("%d.since(%d) = %d, want %d", tt.i, tt.j, got, tt.want)
		}
	}
}

// FuzzInstant compares the saturating arithmetic with one that has room.
func FuzzInstant(f *testing.F) {
	f.Add(int64(0), int64(1))
	f.Add(int64(math.MinInt64), int64(math.MaxInt64))
	f.Add(int64(math.MaxInt64), int64(-2))
	clamp := func(n *big.Int) int64 {
		switch {
		case n.IsInt64():
			return n.Int64()
		case n.Sign() > 0:
			return math.MaxInt64
		}
		return math.MinInt64
	}
	f.Fuzz(func(t *testing.T, a, b int64) {
		x, y := big.NewInt(a), big.NewInt(b)
		want := clamp(new(big.Int).Sub(x, y))
		if got := int64(instant(a).since(instant(b))); got != want {
			t.Errorf("%d.since(%d) = %d, want %d", a, b, got, want)
		}
		if b < 0 {
			return // a duration that is added is none, or NoLimit
		}
		want = clamp(new(big.Int).Add(x, y))
		if got := int64(instant(a).add(time.Duration(b))); got != want {
			t.Errorf("%d.add(%d) = %d, want %d", a, b, got, want)
		}
	})
}

// What a caller gave comes back as it was, from any source of time.
func TestInstantOf(t *testing.T) {
	for name, at := range map[string]time.Time{
		"monotonic":  time.Now().Add(hour),
		"wall only":  base.Round(0).Add(-3 * hour),
		"bubble":     time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC),
		"far behind": base.Round(0).AddDate(-280, 0, 0),
		"far ahead":  base.Round(0).AddDate(280, 0, 0),
		"zone":       base.Round(0).Add(hour).In(time.FixedZone("", -7*3600)),
	} {
		i := instantOf(at)
		if back := i.time(); !back.Equal(at) {
			t.Errorf("%s: %v comes back as %v", name, at, back)
		}
		if later := instantOf(at.Add(1)); later.since(i) != 1 {
			t.Errorf("%s: a nanosecond is %v", name, later.since(i))
		}
		if again := instantOf(i.time()); again != i {
			t.Errorf("%s: %d comes back as %d", name, i, again)
		}
	}
	if i := instantOf(time.Time{}); i != longAgo {
		t.Errorf("year 1 is %d, want the earliest instant", i)
	}
	if i := instantOf(base.AddDate(1000, 0, 0)); i != never {
		t.Errorf("in a thousand years is %d, want the latest instant", i)
	}
}

// The clock is monotonic, and that of the bubble inside one, 26 years away.
func TestClock(t *testing.T) {
	if first := clock(); clock() < first || first < 0 {
		t.Errorf("%d, and then %d", first, clock())
	}
	synctest.Test(t, func(t *testing.T) {
		first := clock()
		time.Sleep(hour)
		if d := clock().since(first); d != hour {
			t.Errorf("an hour lasts %v", d)
		}
		if i := instantOf(time.Now()); i != clock() {
			t.Errorf("time.Now is %d, the clock %d", i, clock())
		}
	})
}

// Windows count from the first time they see. What is seen then is in the first
// slice, whatever the instant: one process in two would begin with another.
func TestOrigin(t *testing.T) {
	for _, first := range []instant{0, 1, 2, -1, -2, 1000, 1001, never, longAgo + 1} {
		var o origin
		got := o.since(first)
		if want := int64(cmp.Or(first, 1) - first); got != want { // zero is no origin
			t.Errorf("the first, %d, is %d after itself, want %d", first, got, want)
		}
		if later := o.since(first.add(second)); later-got != int64(first.add(second).since(first)) {
			t.Errorf("a second after %d is %d", first, later)
		}
	}
}
