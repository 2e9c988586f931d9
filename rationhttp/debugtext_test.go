package rationhttp

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestLegible(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"plain", "db-1.internal:5432", "db-1.internal:5432"},
		{"markup is the template's to escape", `<b title="x">'&`, `<b title="x">'&`},
		{"other scripts", "zürich · 東京", "zürich · 東京"},
		{"invalid UTF-8", "a\xff\xc0b", `a\xff\xc0b`},
		{"control", "a\x00\x1b[31m\r\n\tb\x7f", `a\x00\x1b[31m\r\n\tb\x7f`},
		{"direction", "a\u202egpj.exe\u2066b\u200f", `a\u202egpj.exe\u2066b\u200f`},
		{"invisible", "a\u200b\ufeff\u00ad\u2028b\ufe0f", `a\u200b\ufeff\u00ad\u2028b\ufe0f`},
		{"spaces that look like one", "a\u00a0\u3000b", `a\u00a0\u3000b`},
		{"private", "\U0010fffd", `\U0010fffd`},
		{"replacement is a character of its own", "\ufffd", "\ufffd"},
		{"long", strings.Repeat("x", 40), strings.Repeat("x", 32) + "…"},
		{"long, in the middle of a rune", strings.Repeat("x", 31) + "東京", strings.Repeat("x", 31) + "…"},
		{"of the length allowed", strings.Repeat("x", 32), strings.Repeat("x", 32)},
	} {
		if got := legible(tc.in, 32); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func FuzzLegible(f *testing.F) {
	f.Add("a\u202e\xffb")
	f.Fuzz(func(t *testing.T, s string) {
		got := legible(s, 100)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r\x00\u202e\u2066\u200f") {
			t.Errorf("%q", got)
		}
		// Ten bytes spell the longest escape of one.
		if len(got) > 1000+len("…") {
			t.Errorf("%d bytes of 100", len(got))
		}
		if again := legible(got, len(got)); again != got {
			t.Errorf("%q becomes %q", got, again)
		}
	})
}

func TestBrief(t *testing.T) {
	for in, want := range map[time.Duration]string{
		-time.Second:             "0s",
		0:                        "0s",
		1234567:                  "1.2ms",
		12345678:                 "12ms",
		999_900_000:              "1s",
		1234 * time.Millisecond:  "1.2s",
		12345 * time.Millisecond: "12s",
		59999 * time.Millisecond: "1m",
		90 * time.Second:         "1m30s",
		10 * time.Minute:         "10m",
		time.Hour:                "1h00m",
		25 * time.Hour:           "25h00m",
		1<<63 - 1:                "106751d",
	} {
		if got := brief(in); got != want {
			t.Errorf("%d: %s, want %s", in, got, want)
		}
	}
}

func TestGrouped(t *testing.T) {
	for in, want := range map[uint64]string{
		0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", 1<<64 - 1: "18,446,744,073,709,551,615",
	} {
		if got := grouped(in); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
