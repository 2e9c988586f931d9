package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
)

// A Plot draws lines over a number that they share, such as the depth of a chain.
// Its vertical axis is logarithmic, for numbers that multiply.
type Plot struct {
	X  string    // what At is
	Y  string    // what the lines are
	At []float64 // in ascending order; at least two

	Lines []PlotLine
}

// A PlotLine is one line of a [Plot].
type PlotLine struct {
	Name   string
	Values []float64 // above 0, one for each At
}

// plotDashes tell lines apart without colour; so do the names at their ends.
var plotDashes = []string{"", "7 4", "2 3", "9 3 2 3"}

// frame leaves room for the names at the right.
func (p *Plot) frame() frame {
	low, high, longest := 1.0, 1.0, 0.0
	for _, l := range p.Lines {
		low, high = min(low, slices.Min(l.Values)), max(high, slices.Max(l.Values))
		longest = max(longest, width(clip(l.Name, 150, size), size))
	}
	f := frame{w: 520, h: 290, left: 56, right: 30 + longest, top: 14, bottom: 40}
	f.y = logarithmic(low, high, func(x float64) string { return amount(x) + "×" })
	f.x = scale{low: p.At[0], high: p.At[len(p.At)-1]}
	for _, x := range p.At {
		f.x.ticks = append(f.x.ticks, tick{x, amount(x)})
	}
	return f
}

// check returns what is wrong with the plot, for there is no drawing it then.
func (p *Plot) check() error {
	if len(p.At) < 2 || !slices.IsSorted(p.At) {
		return fmt.Errorf("report: a plot needs two places or more, in order, and has %v", p.At)
	}
	for _, l := range p.Lines {
		if len(l.Values) != len(p.At) || !(slices.Min(l.Values) > 0) {
			return fmt.Errorf("report: the line %q has not a number above 0 for each of %v",
				l.Name, p.At)
		}
	}
	return nil
}

func (p *Plot) draw(d *drawing) {
	f := p.frame()
	f.axes(d)
	d.text(f.left+(f.w-f.left-f.right)/2, f.h-4, "i", p.X)
	for i, l := range p.Lines {
		d.put(`<g class="%s"><path class="l" stroke-dasharray="%s" d="`,
			sideClass(i), plotDashes[i%len(plotDashes)])
		letter := "M"
		for j, y := range l.Values {
			d.put("%s%v %v", letter, f.px(p.At[j]), f.py(y))
			letter = "L"
		}
		d.WriteString(`"/>`)
		for j, y := range l.Values {
			d.put(`<circle class="k" r="3" cx="%v" cy="%v"/>`, f.px(p.At[j]), f.py(y))
		}
		d.WriteString("</g>")
	}
	for i, y := range p.ends(f) {
		l := p.Lines[i]
		d.text(f.w-f.right+10, y+4, "n "+sideClass(i), clip(l.Name, 150, size))
	}
}

// ends returns how high the name of each line is: at its end, but not over another.
func (p *Plot) ends(f frame) []float64 {
	heights := make([]float64, len(p.Lines))
	order := make([]int, len(p.Lines))
	for i, l := range p.Lines {
		heights[i], order[i] = f.py(l.Values[len(l.Values)-1]), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(heights[b], heights[a]) })
	for i := 1; i < len(order); i++ {
		heights[order[i]] = min(heights[order[i]], heights[order[i-1]]-size-3)
	}
	return heights
}

func (p *Plot) title() string { return p.Y + " by " + p.X }

// describe says in words what the plot shows.
func (p *Plot) describe() string {
	var words []string
	first, last := p.At[0], p.At[len(p.At)-1]
	for _, l := range p.Lines {
		words = append(words, fmt.Sprintf("%s: from %s at %s to %s at %s", l.Name,
			times(l.Values[0]), amount(first), times(l.Values[len(l.Values)-1]), amount(last)))
	}
	return strings.Join(words, ". ") + "."
}

// svg returns the plot as an element of the page, for the template.
func (p *Plot) svg(id string) template.HTML {
	var d drawing
	f := p.frame()
	d.open(id, f.w, f.h, p.title(), p.describe())
	p.draw(&d)
	d.WriteString("</svg>")
	return template.HTML(d.String()) //nolint:gosec // drawing escapes
}

// picture returns the plot as a file.
func (p *Plot) picture(id string) Picture {
	var d drawing
	f := p.frame()
	d.open(id, f.w, f.h, p.title(), p.describe())
	d.alone(f.w, f.h)
	p.draw(&d)
	d.WriteString("</svg>\n")
	return Picture{id + ".svg", d.Bytes()}
}
