package rationhttp

import (
	"math"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"
)

var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// C08 and C09: every form, and every value that is no hint.
func TestRetryAfter(t *testing.T) {
	in90 := newYear.Add(90 * time.Second)
	for _, tc := range []struct {
		field string
		want  time.Duration
	}{
		{"120", 120 * time.Second},
		{"1", time.Second},
		{"007", 7 * time.Second},
		{in90.Format(http.TimeFormat), 90 * time.Second},
		{in90.Format("Monday, 02-Jan-06 15:04:05 GMT"), 90 * time.Second},
		{in90.Format(time.ANSIC), 90 * time.Second},
		{newYear.Add(-time.Hour).Format(http.TimeFormat), 0},
		{newYear.Format(http.TimeFormat), 0},
		{"Mon, 01 Jan 0001 00:00:00 GMT", 0},
		{"Fri, 31 Dec 9999 23:59:59 GMT", math.MaxInt64},
		{"9223372036", 9223372036 * time.Second},
		{"9223372037", math.MaxInt64},
		{"9223372036854775807", math.MaxInt64},
		{"9223372036854775808", math.MaxInt64},
		{strings.Repeat("9", 400), math.MaxInt64},
		{"", 0},
		{"0", 0},
		{"-5", 0},
		{"+5", 0},
		{"1.5", 0},
		{"1e3", 0},
		{"0x10", 0},
		{"1_000", 0},
		{" 5", 0},
		{"5 ", 0},
		{"5, 6", 0},
		{"soon", 0},
		{"٣", 0},
		{"2026-01-01T00:01:30Z", 0},
	} {
		if got := retryAfter(tc.field, newYear); got != tc.want {
			t.Errorf("retryAfter(%q) = %v, want %v", tc.field, got, tc.want)
		}
	}
}

// slowRetryAfter is the same rule without any concern for overflow.
func slowRetryAfter(field string, now time.Time) time.Duration {
	wait := new(big.Int)
	digits := field != ""
	for _, r := range field {
		digits = digits && r >= '0' && r <= '9'
	}
	if digits {
		wait.SetString(field, 10)
		wait.Mul(wait, big.NewInt(int64(time.Second)))
	} else {
		date, err := http.ParseTime(field)
		if err != nil {
			return 0
		}
		seconds := big.NewInt(date.Unix() - now.Unix())
		wait.Mul(seconds, big.NewInt(int64(time.Second)))
		wait.Add(wait, big.NewInt(int64(date.Nanosecond()-now.Nanosecond())))
	}
	switch {
	case wait.Sign() <= 0:
		return 0
	case !wait.IsInt64():
		return math.MaxInt64
	}
	return time.Duration(wait.Int64())
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{
		"120", "0", "-1", "9223372037", "99999999999999999999", "1.5", "soon",
		"Thu, 01 Jan 2026 00:01:30 GMT", "Thursday, 01-Jan-26 00:01:30 GMT",
		"Thu Jan  1 00:01:30 2026", "Fri, 31 Dec 9999 23:59:59 GMT",
	} {
		f.Add(seed, int64(0))
	}
	f.Fuzz(func(t *testing.T, field string, offset int64) {
		now := newYear.Add(time.Duration(offset))
		got := retryAfter(field, now)
		if want := slowRetryAfter(field, now); got != want {
			t.Errorf("retryAfter(%q, %v) = %v, want %v", field, now, got, want)
		}
		if got < 0 {
			t.Errorf("retryAfter(%q) = %v", field, got)
		}
	})
}
