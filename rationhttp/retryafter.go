package rationhttp

import (
	"math"
	"net/http"
	"time"
)

// retryAfter returns the wait that a Retry-After field asks for at the given
// time: a number of seconds, or a date in any of the three forms of HTTP. Zero
// means that it asks for none that could be obeyed: a field that is empty,
// malformed, negative, zero or in the past. Such a field is no leave to come
// back at once, together with everybody else who was told the same.
//
// Seconds are counted here and not by [time.Duration] multiplication or by
// strconv, since 9223372037 of them overflow an int64 of nanoseconds: whatever
// does not fit is the longest wait there is, and is cut down by whoever waits.
func retryAfter(field string, now time.Time) time.Duration {
	if seconds, ok := decimal(field); ok {
		if seconds > math.MaxInt64/int64(time.Second) {
			return math.MaxInt64
		}
		return time.Duration(seconds) * time.Second
	}
	date, err := http.ParseTime(field)
	if err != nil {
		return 0
	}
	return max(date.Sub(now), 0) // Sub saturates
}

// decimal reads a number of nothing but digits, saturated. Signs, spaces,
// points and underscores make it no number.
func decimal(s string) (n int64, ok bool) {
	for i := range len(s) {
		digit := int64(s[i]) - '0'
		if digit < 0 || digit > 9 {
			return 0, false
		}
		if n > (math.MaxInt64-digit)/10 {
			n = math.MaxInt64
		} else {
			n = n*10 + digit
		}
	}
	return n, s != ""
}
