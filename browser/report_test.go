package browser

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// reports are the pages that are looked at: one of a single client, and one of
// several services of which one side never recovers.
var reports = []struct{ name, command string }{
	{"report-trade", "simulate --preset trade --seeds 2"},
	{"report-metastable", "simulate --preset metastable --seeds 2"},
}

// Bounds of what may differ from the golden file: sizes by a scroll bar, gists by
// the font. All in a font with serifs is 0.11 away; without its line, a grid or
// the shade of a trouble, a chart is 0.16 or more. A thin line that repeats
// another gets through.
const (
	sizeTolerance = 0.04
	gistTolerance = 0.13
)

// A sight is what there is to be seen on a page. Where it is from the top is left
// out: that is a matter of the font.
type sight struct {
	Headings []string
	Figures  []string
	Pictures []pictured
}

// A pictured is one picture; its name is for those who are read to.
type pictured struct {
	Name          string
	Left          float64 // CSS pixels, as are the others
	Width, Height float64
	Gist          Gist
}

// program builds the command.
func program(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ration")
	build := exec.Command("go", "build", "-o", file, ".")
	build.Dir = filepath.Join("..", "cmd", "ration")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file
}

// The page of a simulation holds what every page must, and looks as it did.
func TestReport(t *testing.T) {
	b := Start(t)
	ration := program(t)
	for _, r := range reports {
		file := filepath.Join(t.TempDir(), "report.html")
		run := exec.Command(ration, append(strings.Fields(r.command), "--html", file)...)
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for _, look := range looks {
			t.Run(r.name+"-"+look.name, func(t *testing.T) {
				p := b.OpenFile(t, file, look.Look)
				check(t, p, r.name+"-"+look.name)
				if look.Dark {
					return
				}
				compare(t, r.name+"-"+look.name, see(t, p))
				// Nobody's fonts are those of the machine that made the golden files.
				Eval[bool](p, `!!document.head.appendChild(Object.assign(document.createElement("style"),
					{textContent: "*{font-family:'DejaVu Serif',serif!important}"}))`)
				compare(t, r.name+"-"+look.name, see(t, p))
			})
		}
	}
}

// Thirty services, whose names are somebody's attempt at markup and have no place
// for the line to break.
func TestReportOfMany(t *testing.T) {
	b := Start(t)
	name := func(i int) string {
		return fmt.Sprintf("<img src=x onerror=document.title=%d>", i)
	}
	var scenario strings.Builder
	fmt.Fprintf(&scenario, "name: many\nduration: 10s\nentries:\n"+
		"  - {name: web, to: %q, load: {rate: 20}}\nservices:\n", name(0))
	for i := range 30 {
		fmt.Fprintf(&scenario, "  - name: %q\n    latency: {p50: 1ms, p99: 2ms}\n"+
			"    failureRate: 5%%\n", name(i))
		var calls []string
		for _, to := range []int{2*i + 1, 2*i + 2} {
			if to < 30 {
				calls = append(calls, fmt.Sprintf("{to: %q}", name(to)))
			}
		}
		if calls != nil {
			fmt.Fprintf(&scenario, "    calls: [%s]\n", strings.Join(calls, ", "))
		}
	}
	file := filepath.Join(t.TempDir(), "report.html")
	run := exec.Command(program(t), "simulate", "--html", file, "-")
	run.Stdin = strings.NewReader(scenario.String())
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, look := range looks {
		t.Run(look.name, func(t *testing.T) {
			p := b.OpenFile(t, file, look.Look)
			check(t, p, "report-many-"+look.name)
			if title := Eval[string](p, "document.title"); !strings.Contains(title, "“many”") {
				t.Errorf("a name ran as a script: title %q", title)
			}
		})
	}
}

const pictures = "figure svg[role=img]"

// see returns what there is to be seen, as a screen reader and as an eye have it.
func see(t *testing.T, p *Page) sight {
	t.Helper()
	var s sight
	var names []string
	for _, n := range p.Nodes() {
		switch n.Role {
		case "heading":
			s.Headings = append(s.Headings, n.Name)
		case "figure":
			s.Figures = append(s.Figures, n.Name)
		case "image":
			names = append(names, n.Name)
		}
	}
	boxes := p.Boxes(pictures)
	if len(names) != len(boxes) {
		t.Fatalf("%d pictures, of which a screen reader has %d", len(boxes), len(names))
	}
	// The tree of a screen reader has its own order.
	for _, list := range [][]string{s.Headings, s.Figures, names} {
		if slices.Contains(list, "") {
			t.Errorf("something has no name: %q", list)
		}
		slices.Sort(list)
	}
	names = Eval[[]string](p, `[...document.querySelectorAll("`+pictures+`")]
		.map((e) => e.querySelector("title").textContent)`)
	for i, g := range p.Gists(boxes) {
		b := boxes[i]
		s.Pictures = append(s.Pictures, pictured{
			names[i], math.Round(b.X), math.Round(b.Width), math.Round(b.Height), g,
		})
	}
	return s
}

// compare holds a sight to its golden file.
func compare(t *testing.T, name string, got sight) {
	t.Helper()
	file := filepath.Join("testdata", name+".json")
	if *update {
		data, err := json.MarshalIndent(got, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(data, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var want sight
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Headings, want.Headings) {
		t.Errorf("headings: got %q, want %q", got.Headings, want.Headings)
	}
	if !slices.Equal(got.Figures, want.Figures) {
		t.Errorf("figures: got %q, want %q", got.Figures, want.Figures)
	}
	if len(got.Pictures) != len(want.Pictures) {
		t.Fatalf("%d pictures, want %d", len(got.Pictures), len(want.Pictures))
	}
	for i, w := range want.Pictures {
		for _, complaint := range got.Pictures[i].against(w) {
			t.Errorf("%s: %s; look at the picture, and run with -update if it is right",
				w.Name, complaint)
		}
	}
}

// against returns what is different.
func (p pictured) against(want pictured) (complaints []string) {
	if p.Name != want.Name {
		complaints = append(complaints, "is now "+p.Name)
	}
	near := func(a, b float64) bool { return math.Abs(a-b) <= sizeTolerance*max(b, 400) }
	if !near(p.Left, want.Left) || !near(p.Width, want.Width) || !near(p.Height, want.Height) {
		complaints = append(complaints, "has another place or size")
	}
	if d := p.Gist.Distance(want.Gist); d > gistTolerance {
		complaints = append(complaints, fmt.Sprintf("looks different, by %.2f", d))
	}
	return complaints
}

// What the comparison is for must not get through it: the charts of two sides that
// fare differently are far apart.
func TestGistsTell(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "report-metastable-desk.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s sight
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	for i := 1; i+1 < len(s.Pictures); i += 2 {
		a, b := s.Pictures[i], s.Pictures[i+1]
		d := a.Gist.Distance(b.Gist)
		t.Logf("%.2f between %s and %s", d, a.Name, b.Name)
		if strings.HasPrefix(a.Name, "Load") && d < 2*gistTolerance {
			t.Errorf("%s and %s are %.2f apart, which would not be seen", a.Name, b.Name, d)
		}
	}
}
