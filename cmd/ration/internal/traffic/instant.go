package traffic

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"
)

// logTime is how access logs write a time.
const logTime = "02/Jan/2006:15:04:05 -0700"

// A clock reads the times of one file. Consecutive lines mostly have the same one,
// and parsing is most of the cost of a line, so that the last is kept.
type clock struct {
	text   []byte
	at     time.Time
	noZone bool // some time had no zone
}

// isoTimes are the forms of ISO 8601 and RFC 3339 that are met in logs. A fraction
// of the second is read after any of them.
var isoTimes = []string{
	time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700",
	"2006-01-02 15:04:05 Z0700", "2006-01-02T15:04:05", "2006-01-02 15:04:05",
}

// calendar parses a time in one of the layouts.
func (c *clock) calendar(text []byte, layouts ...string) (time.Time, error) {
	if len(c.text) > 0 && bytes.Equal(text, c.text) {
		return c.at, nil
	}
	s := strings.Replace(string(text), ",", ".", 1) // Python's logging
	for _, layout := range layouts {
		at, err := time.Parse(layout, s)
		if err != nil {
			continue
		}
		if !strings.Contains(layout, "07") && !strings.Contains(layout, "MST") {
			c.noZone = true
		}
		c.text, c.at = append(c.text[:0], text...), at
		return at, nil
	}
	return time.Time{}, fault("has the time " + quoted(text) + ", which is in no known form")
}

// epoch parses a number of seconds, milliseconds, microseconds or nanoseconds since
// 1970: which of them, its size tells, for any time between 1973 and 5138.
func epoch(text []byte) (time.Time, error) {
	x, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(x > 0 && x < 1e20) {
		return time.Time{}, fault("has the time " + quoted(text) + ", which is in no known form")
	}
	unit := time.Second
	for x >= 1e11 && unit > time.Nanosecond {
		x, unit = x/1000, unit/1000
	}
	if unit < time.Second {
		// Again as whole numbers where they are: a float has too few digits.
		if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			per := int64(time.Second / unit)
			return time.Unix(n/per, n%per*int64(unit)), nil
		}
		return time.Unix(0, int64(x*1000*float64(unit))), nil
	}
	whole, fraction := math.Modf(x)
	return time.Unix(int64(whole), int64(math.Round(fraction*1e6))*1000), nil
}

// longestDuration bounds what is taken for a duration: more is a field that was
// mistaken for one.
const longestDuration = 7 * 24 * time.Hour

// number parses a duration that has a unit of its own, such as 12ms, or is a number
// of units. It returns false for the - and the empty field of what is not known.
func number(text []byte, unit time.Duration) (time.Duration, bool, error) {
	switch string(text) {
	case "-", "", "null":
		return 0, false, nil
	}
	if d, ok := decimal(text, unit); ok {
		return d, true, nil
	}
	x, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		d, unitErr := time.ParseDuration(string(text))
		if unitErr != nil {
			return 0, false, fault("has the duration " + quoted(text) + ", which is not a number")
		}
		x, unit = float64(d), time.Nanosecond
	}
	x *= float64(unit)
	if !(x >= 0 && x <= float64(longestDuration)) {
		return 0, false, fault("has the duration " + quoted(text) + ", which is negative or too long")
	}
	return time.Duration(math.Round(x)), true, nil
}

// decimal is the fast path of number, for digits with at most one point.
func decimal(text []byte, unit time.Duration) (time.Duration, bool) {
	if len(text) > 15 || len(text) == 0 {
		return 0, false
	}
	digits, divisor, point := int64(0), int64(1), false
	for _, c := range text {
		switch {
		case c == '.' && !point:
			point = true
		case c < '0' || c > '9':
			return 0, false
		default:
			digits = digits*10 + int64(c-'0')
			if point {
				divisor *= 10
			}
		}
	}
	x := float64(digits) / float64(divisor) * float64(unit)
	if x > float64(longestDuration) {
		return 0, false
	}
	return time.Duration(math.Round(x)), true
}

// quoted shows a piece of a line, without what could write to a terminal.
func quoted(text []byte) string {
	const most = 40
	if len(text) > most {
		return strconv.QuoteToASCII(string(text[:most])) + "..."
	}
	return strconv.QuoteToASCII(string(text))
}
