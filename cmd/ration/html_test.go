package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// outageOf4s is a scenario that takes no time, with markup where names are.
const outageOf4s = `
name: <b>tiny</b>
duration: 4s
rate: 50
dependency: {latency: {p50: 10ms, p99: 20ms}, outages: [{from: 1s, for: 1s}]}
policies:
  - {name: "<i>no budget</i>", budget: {enabled: false}}
  - {name: "budget"}
`

func TestHTML(t *testing.T) {
	dir := t.TempDir()
	file, charts := filepath.Join(dir, "a page.html"), filepath.Join(dir, "deep", "charts")
	args := []string{"simulate", "--html", file, "--svg", charts, "--seeds", "2", "-"}
	out, stderr, code := console(t, outageOf4s, args...)
	if code != 0 || stderr != "" || !strings.Contains(out, "Compared with") &&
		!strings.Contains(out, "compared with") {
		t.Fatalf("%d, %q, %q", code, out, stderr)
	}
	page := read(t, file)
	for _, want := range []string{
		"&lt;b&gt;tiny&lt;/b&gt;", "compared with “&lt;i&gt;no budget&lt;/i&gt;”", "Seeds 1 to 2",
		"--html &#39;" + file + "&#39;", "outage from 1s to 2s", versionText(),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	for _, name := range []string{"diagram", "load", "goodput", "budget", "latency"} {
		d := xml.NewDecoder(strings.NewReader(read(t, filepath.Join(charts, name+".svg"))))
		var err error
		for err == nil {
			_, err = d.Token()
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, code := console(t, outageOf4s, args...); code != 0 || read(t, file) != page {
		t.Error("the same command does not give the same page")
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The numbers of the page are those of the terminal, although policies on one
// dependency run as a topology for it.
func TestHTMLAgrees(t *testing.T) {
	skipUnderRace(t)
	file := filepath.Join(t.TempDir(), "page.html")
	out, stderr, code := console(t, "", "simulate", "--preset", "outage", "--html", file)
	if code != 0 || stderr != "" {
		t.Fatalf("%d, %q", code, stderr)
	}
	page := read(t, file)
	for line := range strings.Lines(out) {
		cells := strings.Fields(line)
		if len(cells) < 2 || cells[0] != "availability" && !strings.HasPrefix(line, "worst second ") {
			continue
		}
		for _, cell := range cells[1:] {
			number := strings.TrimSuffix(cell, "x")
			if strings.ContainsAny(number, "0123456789") && !strings.Contains(page, "<b>"+number) {
				t.Errorf("the page lacks %s of %s", cell, line)
			}
		}
	}
}

func TestHTMLUnwritable(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	if err := os.WriteFile(taken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"--html", filepath.Join(dir, "none", "page.html")}, {"--html", dir}, {"--svg", taken},
	} {
		_, stderr, code := console(t, outageOf4s, append([]string{"simulate", "-"}, args...)...)
		if code != statusUnusable || !strings.Contains(stderr, args[1]) {
			t.Errorf("%q: %d, %q", args, code, stderr)
		}
	}
}

func TestShellWords(t *testing.T) {
	got := shellWords([]string{"--html", "a b", "it's", "", "$x", "-"})
	if want := `--html 'a b' 'it'\''s' '' '$x' -`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
