package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPageIsGenerated renders the page from the raw figures beside it and compares:
// no number in it was written by hand.
func TestPageIsGenerated(t *testing.T) {
	docs := filepath.Join("..", "..", "..", "docs")
	page, err := os.ReadFile(filepath.Join(docs, pageName))
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(handWritten(string(page))) == "" {
		t.Error("the part that is written by hand is empty")
	}
	raw, err := os.Open(filepath.Join(docs, rawName))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	r, err := readResults(raw)
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	render(&want, r, handWritten(string(page)))
	if !bytes.Equal(page, want.Bytes()) {
		t.Error("docs/performance.md is not what the figures give; " +
			"run go run ./bench/cmd/performance -render")
	}
	for _, s := range sections {
		if !strings.Contains(string(page), "\n## "+s.title+"\n") {
			t.Errorf("the page has no section %q", s.title)
		}
	}
	if got := len(r.limits()); got != 15 {
		t.Errorf("%d limits are judged, want 15", got)
	}
}

// figures are two passes over a few rows.
const figures = `command: test
day: 2026-01-02
go: go1.26
module-example.com/peer: v1.2.3
goos: linux
BenchmarkLimits/success/ration-2 	 1 	 0 ns/op 	 1.4 times
BenchmarkLimits/success/ration-2 	 1 	 0 ns/op 	 1.4 times
BenchmarkSuccess/retry+budget+breaker/ration-2 	 10 	 60 ns/op 	 0 B/op 	 0 allocs/op
BenchmarkSuccess/retry+budget+breaker/backoff+gobreaker-2 	 10 	 300 ns/op 	 8 B/op 	 3 allocs/op
BenchmarkSuccess/retry+budget+breaker/floor-2 	 10 	 50 ns/op 	 0 B/op 	 0 allocs/op
BenchmarkSuccess/retry+budget+breaker/ration-2 	 10 	 180 ns/op 	 0 B/op 	 0 allocs/op
BenchmarkSuccess/retry+budget+breaker/backoff+gobreaker-2 	 10 	 600 ns/op 	 8 B/op 	 3 allocs/op
BenchmarkSuccess/retry+budget+breaker/floor-2 	 10 	 100 ns/op 	 0 B/op 	 0 allocs/op
`

func TestRender(t *testing.T) {
	dir := t.TempDir()
	raw, page := filepath.Join(dir, rawName), filepath.Join(dir, pageName)
	write(t, raw, figures)
	write(t, page, "old\n"+beginByHand+"\nkept\n"+endByHand+"\nold\n")
	if err := run(t.Context(), []string{"-render", "-docs", dir}, io.Discard); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| example.com/peer | v1.2.3 |\n",
		// Medians of 120 and 75; medians of the ratios of each pass.
		"| retry+budget+breaker | **Ration** | 120 | – | 0 | 0.25 | 1.50 |\n",
		"| retry+budget+breaker | backoff + gobreaker \\* | 450 | – | 3 | 1.00 | 6.00 |\n",
		"**Met.**\nIt is 1.40 times, with 0 allocations.\n",
		beginByHand + "\nkept\n" + endByHand + "\n",
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(string(got), "old") {
		t.Error("what stood outside the markers was kept")
	}
	if t.Failed() {
		t.Logf("%s", got)
	}
}

func TestReadResultsRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":    "goos: linux\n",
		"no peer":    "BenchmarkSuccess/retry-2 1 1 ns/op\n",
		"not a time": "BenchmarkSuccess/retry/ration-2 1 fast ns/op\n",
	} {
		if _, err := readResults(strings.NewReader(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestWrap(t *testing.T) {
	text := strings.Repeat("some words ", 40)
	for line := range strings.Lines(wrap(text)) {
		if n := len(strings.TrimSuffix(line, "\n")); n > 100 {
			t.Errorf("a line of %d columns", n)
		}
	}
	if got := strings.Join(strings.Fields(wrap(text)), " "); got != strings.TrimSpace(text) {
		t.Errorf("words were lost: %q", got)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
