package report

import (
	"fmt"
	"strings"
)

// A chart shows one quantity over time, with a panel for each side. All panels
// have the same axes, so that their heights compare.
type chart struct {
	id    string // of its file and its elements
	title string
	unit  string
	note  string // how to read it
	y     scale
	lines []line               // the first is what the chart is about
	cell  func(float64) string // for the table of the data
}

// A line is a quantity on every side.
type line struct {
	label string
	kind  lineKind
	sides []series
}

type lineKind int

const (
	mainLine   lineKind = iota // with its band, in the colour of the side
	secondLine                 // the same, dashed
	reference                  // what the main line is to be compared with: dotted
)

var lineClasses = map[lineKind]string{mainLine: "l", secondLine: "l m", reference: "r"}

// newChart returns a chart from 0 to a round number above all that it shows.
func newChart(c chart, label func(float64) string) chart {
	top := 0.0
	for _, l := range c.lines {
		for _, s := range l.sides {
			top = max(top, s.top())
		}
	}
	c.y = linear(top, label)
	c.cell = label
	return c
}

// empty reports whether there is nothing in the chart but zeros.
func (c *chart) empty() bool {
	for _, s := range c.lines[0].sides {
		if s.top() > 0 {
			return false
		}
	}
	return true
}

// A frame is where in a picture a panel is, and the room inside it for the plot.
type frame struct {
	w, h                     float64 // of the panel
	left, right, top, bottom float64 // margins of the plot
	x, y                     scale
}

// size is that of the letters in a chart, in its own pixels.
const size = 12

func (f frame) px(t float64) float64 { return f.left + f.x.place(t)*(f.w-f.left-f.right) }
func (f frame) py(v float64) float64 {
	return f.h - f.bottom - f.y.place(v)*(f.h-f.top-f.bottom)
}

// frameFor returns the frame of each panel when so many are beside each other.
func frameFor(c *chart, b bins, columns int) frame {
	f := frame{w: 330, h: 190, left: 46, right: 10, top: 42, bottom: 24, y: c.y}
	steps := 5
	switch columns {
	case 1:
		f.w, f.h, steps = 560, 230, 8
	case 2:
		f.w, f.h, steps = 500, 215, 6
	case 4:
		f.w, f.h, steps = 245, 165, 4
	}
	f.x = timeline(b.end(), steps)
	return f
}

// columns returns how many panels are beside each other.
func columns(sides int) int {
	switch {
	case sides <= 3:
		return sides
	case sides == 4:
		return 2
	case sides <= 6:
		return 3
	}
	return 4
}

// panel draws one side.
func (c *chart) panel(d *drawing, v *view, side int) {
	f := frameFor(c, v.bins, columns(len(v.sides)))
	d.put(`<g class="c%d">`, side%len(colours)+1)
	d.put(`<rect x="%v" y="3" width="14" height="4" class="k"/>`, f.left)
	d.text(f.left+20, 10, "n", clip(v.sides[side].name, f.w-f.left-f.right-20, size))
	f.troubles(d, v.sides[side].troubles)
	f.axes(d)
	var traces []trace
	for i := len(c.lines) - 1; i >= 0; i-- {
		traces = append(traces, f.line(d, c.lines[i], side, v.bins, len(c.lines) > 1))
	}
	if side > 0 {
		ghost := f.trace(c.lines[0].sides[0], v.bins, v.sides[0].name)
		d.put(`<path d="%s" class="g"/>`, ghost.path())
		traces = append(traces, ghost)
	}
	// Many small panels are alike: what the lines are is learnt from the first two.
	if f.w > 300 || side < 2 {
		f.labels(d, traces)
	}
	d.WriteString("</g>")
}

// axes draws horizontal lines at round numbers and the time below them. Vertical
// lines would say nothing: time is read from the troubles.
func (f frame) axes(d *drawing) {
	for _, t := range f.y.ticks {
		y := f.py(t.at)
		d.put(`<path d="M%v %vH%v" class="h"/>`, f.left, y, f.w-f.right)
		d.text(f.left-6, y+4, "e", t.label)
	}
	d.put(`<path d="M%v %vH%v" class="a"/>`, f.left, f.h-f.bottom, f.w-f.right)
	for i, t := range f.x.ticks {
		x, class := f.px(t.at), "i j"
		d.put(`<path d="M%v %vv4" class="a"/>`, x, f.h-f.bottom)
		if i == len(f.x.ticks)-1 && x+width(t.label, size)/2 > f.w {
			x, class = f.w-1, "e j"
		}
		d.text(x, f.h-f.bottom+17, class, t.label)
	}
}

// troubles shades them, with their names above the plot where there is room. All
// of them are in the description and below the charts.
func (f frame) troubles(d *drawing, all []trouble) {
	free := f.left
	for _, t := range all {
		if t.from >= f.x.high {
			continue
		}
		from, to := f.px(t.from), f.px(min(t.to, f.x.high))
		d.put(`<rect x="%v" y="%v" width="%v" height="%v" class="t"/>`,
			from, f.top-3, max(to-from, 1), f.h-f.top-f.bottom+3)
		d.put(`<path d="M%v %vH%v" class="u"/>`, from, f.top-3, max(to, from+1))
		w := width(t.what, size-1)
		x := min(max(from, free), f.w-f.right-w)
		if x < free || x > to {
			continue
		}
		d.text(x, f.top-8, "s", t.what)
		free = x + w + 8
	}
}

// line draws the band and the median of a line, and returns where it runs.
func (f frame) line(d *drawing, l line, side int, b bins, named bool) trace {
	label := ""
	if named {
		label = l.label
	}
	s := l.sides[side]
	t := f.trace(s, b, label)
	if l.kind != reference {
		if area := f.area(s, b); area != "" {
			d.put(`<path d="%s" class="b"/>`, area)
		}
	}
	d.put(`<path d="%s" class="%s"/>`, t.path(), lineClasses[l.kind])
	return t
}

// area returns the outline of the band, "" where there is only one seed.
func (f frame) area(s series, b bins) string {
	var out strings.Builder
	for from := 0; from < len(s); from++ {
		to := from
		for to < len(s) && s[to].ok {
			to++
		}
		if to > from {
			f.stretch(&out, s, b, from, to)
		}
		from = to
	}
	return out.String()
}

// stretch writes the outline of a stretch without gaps, unless it has no height.
func (f frame) stretch(out *strings.Builder, s series, b bins, from, to int) {
	flat := true
	for _, p := range s[from:to] {
		flat = flat && p.min == p.max
	}
	if flat {
		return
	}
	letter := "M"
	point := func(i int, y float64) {
		fmt.Fprintf(out, "%s%s %s", letter, coordinate(f.px(b.middle(i))), coordinate(f.py(y)))
		letter = "L"
	}
	for i := from; i < to; i++ {
		point(i, s[i].max)
	}
	for i := to - 1; i >= from; i-- {
		point(i, s[i].min)
	}
	out.WriteString("Z")
}

// describe says in words what a panel shows, for those who do not see it.
func (c *chart) describe(v *view, side int) string {
	var words []string
	for _, l := range c.lines {
		s := l.sides[side]
		at, peak := 0, band{}
		for i, p := range s {
			if p.ok && p.median > peak.median {
				at, peak = i, p
			}
		}
		if peak.ok {
			words = append(words, fmt.Sprintf("%s: at most %s, %s after the start, and %s at the end",
				l.label, c.cell(peak.median), v.bins.clock(at), c.last(s)))
		}
	}
	if len(words) == 0 {
		words = append(words, "nothing but zero")
	}
	if len(v.sides[side].troubles) > 0 {
		words = append(words, "in trouble: "+details(v.sides[side].troubles))
	}
	return strings.Join(words, ". ") + "."
}

// last returns the last number of the median.
func (c *chart) last(s series) string {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i].ok {
			return c.cell(s[i].median)
		}
	}
	return noNumber
}
