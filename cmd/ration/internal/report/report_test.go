package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

func write(t *testing.T, r Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, r); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func chain(length time.Duration) Report {
	return synthetic(chainTopology(length), []string{"no budget", "budget"}, []float64{8.6, 1.3}, 3)
}

func rivals(length time.Duration) Report {
	t := bigTopology()
	t.Duration = length
	return synthetic(t, []string{
		"no budget", "gRPC throttle", "AWS standard", "Finagle", "linkerd", "Envoy", "failsafe-go",
		"Ration",
	}, []float64{8.6, 1.3, 1.1, 2, 2.4, 1.7, 1.2, 1.15}, 3)
}

func TestGolden(t *testing.T) {
	r := chain(30 * time.Second)
	r.Tables = []Table{{
		Title: "What the rivals do", Note: "On the same storm.",
		Heads: []string{"Limiter", "Availability", "Worst second"},
		Rows:  [][]string{{"Ration", "95.74%", "1.26×"}, {"Envoy", "95.61%", "1.71×"}},
	}}
	check := func(name, got string) {
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s has changed; look at it in a browser, then run go test -update", name)
		}
	}
	check("chain.html", write(t, r))
	pictures, err := Pictures(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pictures {
		if p.Name == "load.svg" || p.Name == "diagram.svg" {
			check(p.Name, string(p.SVG))
		}
	}
}

// The same report gives the same bytes, whatever was written before.
func TestDeterministic(t *testing.T) {
	r := rivals(20 * time.Second)
	if first, second := write(t, r), write(t, r); first != second {
		t.Error("two pages of one report differ")
	}
}

// Five minutes of eight variants of thirty services fit in a mail; so does a day.
func TestSize(t *testing.T) {
	const most = 2 << 20
	if n := len(write(t, rivals(5*time.Minute))); n > most {
		t.Errorf("five minutes take %d bytes", n)
	}
	if n := len(write(t, chain(24*time.Hour))); n > most {
		t.Errorf("a day takes %d bytes", n)
	}
}

const attack = "</title></style></svg><script>alert(1)</script>\"'><img src=x onerror=alert(1)>" +
	"\u202egpj.exe\x00\x1b[31m\xff &amp; {{.}}"

// Names come from files, and files from anybody.
func TestAttack(t *testing.T) {
	topology := chainTopology(20 * time.Second)
	topology.Entries[0].Name = attack
	for i := range topology.Services {
		topology.Services[i].Name += attack
		for j := range topology.Services[i].Calls {
			topology.Services[i].Calls[j].To += attack
		}
	}
	topology.Entries[0].To += attack
	r := synthetic(topology, []string{attack, "b" + attack}, []float64{3, 1}, 2)
	r.Name, r.Question, r.Verdict, r.Command = attack, attack, attack, attack
	r.Seeds, r.Version = attack, attack
	r.Tables = []Table{{
		Title: attack, Note: attack, Heads: []string{attack}, Rows: [][]string{{attack, attack}},
	}}
	r.Assumptions = []Assumption{{attack, attack}}
	page := write(t, r)
	for _, bad := range []string{"<script", "<img", "\u202e", "\x00", "\x1b", "\xff"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	wellFormed(t, r)
}

// wellFormed checks that every picture is what an XML parser takes.
func wellFormed(t *testing.T, r Report) {
	t.Helper()
	pictures, err := Pictures(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pictures {
		d := xml.NewDecoder(bytes.NewReader(p.SVG))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("%s: %v", p.Name, err)
				break
			}
		}
	}
}

func TestPictures(t *testing.T) {
	r := rivals(20 * time.Second)
	wellFormed(t, r)
	pictures, err := Pictures(r)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range pictures {
		names = append(names, p.Name)
	}
	want := "diagram.svg load.svg goodput.svg budget.svg refusals.svg turned-away.svg latency.svg queue.svg busy.svg"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A page that asks for something is not a page that can be sent.
func TestSelfContained(t *testing.T) {
	page := write(t, rivals(20*time.Second))
	page = strings.ReplaceAll(page, `xmlns="http://www.w3.org/2000/svg"`, "")
	for _, bad := range []string{"http:", "https:", "//", "url(", "@import", "<script", " src="} {
		if i := strings.Index(page, bad); i >= 0 {
			t.Errorf("the page has %q: %s", bad, page[max(0, i-40):min(len(page), i+40)])
		}
	}
}

// Elements refer to each other by identifiers, which must be there and be one.
func TestIdentifiers(t *testing.T) {
	page := write(t, rivals(20*time.Second))
	seen := make(map[string]bool)
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if seen[m[1]] {
			t.Errorf("two elements are %q", m[1])
		}
		seen[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`aria-(?:labelledby|describedby)="([^"]*)"`).
		FindAllStringSubmatch(page, -1) {
		if !seen[m[1]] {
			t.Errorf("nothing is %q", m[1])
		}
	}
}

func TestTablesAlone(t *testing.T) {
	page := write(t, Report{Question: "How deep?", Tables: []Table{{
		Title: "The chain", Heads: []string{"Depth", "No budget"}, Rows: [][]string{{"1", "3.00×"}},
	}}})
	if !strings.Contains(page, "The chain") || strings.Contains(page, "Over time") {
		t.Error("a page of tables alone has other sections, or lacks them")
	}
}

func TestRefuses(t *testing.T) {
	one, two := chain(20*time.Second), chain(20*time.Second)
	two.Bands[1].Reports = two.Bands[1].Reports[:1]
	one.Variants = one.Variants[:1]
	for name, r := range map[string]Report{
		"nothing": {}, "a result without a variant": one, "other seeds": two,
	} {
		if err := Write(io.Discard, r); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := Pictures(r); err == nil {
			t.Errorf("%s: no error of pictures", name)
		}
	}
}
