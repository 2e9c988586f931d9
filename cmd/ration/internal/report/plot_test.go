package report

import (
	"strings"
	"testing"
)

func depths() *Plot {
	return &Plot{X: "depth", Y: "attempts", At: []float64{1, 2, 3}, Lines: []PlotLine{
		{"no budget", []float64{3, 9, 27}}, {"budget", []float64{1.1, 1.2, 1.3}},
		{"loop broken", []float64{1.1, 1.1, 1.1}},
	}}
}

// The names of lines that end close to each other do not cover each other.
func TestPlotNames(t *testing.T) {
	p := depths()
	f := p.frame()
	ends := p.ends(f)
	for i, a := range ends {
		for _, b := range ends[i+1:] {
			if max(a-b, b-a) < size {
				t.Errorf("names at %v overlap", ends)
			}
		}
		if a < 0 || a > f.h {
			t.Errorf("a name at %v is outside", a)
		}
	}
}

func TestPlotOnPage(t *testing.T) {
	r := Report{Tables: []Table{{Title: "Depth", Plot: depths()}}}
	page := write(t, r)
	for _, want := range []string{
		`<title id="plot-1-t">attempts by depth</title>`,
		"no budget: from 3.00× at 1 to 27.00× at 3.", `id="plot-1-d"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	pictures, err := Pictures(r)
	if err != nil || len(pictures) != 1 || pictures[0].Name != "plot-1.svg" {
		t.Errorf("got %v, %v", pictures, err)
	}
	wellFormed(t, r)
}

func TestPlotRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*Plot){
		"one place":       func(p *Plot) { p.At = p.At[:1] },
		"disorder":        func(p *Plot) { p.At[0] = 9 },
		"a value missing": func(p *Plot) { p.Lines[1].Values = p.Lines[1].Values[1:] },
		"no values":       func(p *Plot) { p.Lines[1].Values = nil },
		"a zero":          func(p *Plot) { p.Lines[0].Values[2] = 0 },
	} {
		p := depths()
		spoil(p)
		if _, err := Pictures(Report{Tables: []Table{{Plot: p}}}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
