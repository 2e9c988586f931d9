package rationhttp

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// cut returns at most n bytes of s.
func cut(s string, n int) string { return s[:min(len(s), n)] }

// keep returns as much of s as [legible] has to see to show n bytes of it: past
// them, or a rune that is split there would read as one that was broken, and what
// was cut would read as whole.
func keep(s string, n int) string { return cut(s, n+utf8.UTFMax) }

// legible returns s as it may be shown: at most n bytes of it, on one line, with
// what is not a visible character spelled out. Names and errors come from
// whoever can make this process call or fail: an override of the text's direction
// or a byte that is no character must not change what the rest of the page says.
func legible(s string, n int) string {
	if len(s) <= n && plain(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if i+size > n {
			// A rune that the limit splits is left out, and does not read as one
			// that was broken.
			b.WriteString("…")
			break
		}
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsPrint(r) && !unicode.Is(unicode.Variation_Selector, r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
		i += size
	}
	return b.String()
}

// plain reports whether s is printable ASCII.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// brief returns d as one reads it at a glance: two or three digits and a unit.
func brief(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < 10*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	d = d.Round(time.Second)
	hours, minutes, seconds := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	switch {
	case hours >= 48:
		return fmt.Sprintf("%dd", hours/24)
	case hours > 0:
		return fmt.Sprintf("%dh%02dm", hours, minutes)
	case minutes > 0 && seconds > 0:
		return fmt.Sprintf("%dm%02ds", minutes, seconds)
	case minutes > 0:
		return fmt.Sprintf("%dm", minutes)
	}
	return fmt.Sprintf("%ds", seconds)
}

// grouped returns n with a comma between thousands.
func grouped(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// counted returns n and the noun, in the plural where that is due.
func counted(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}
