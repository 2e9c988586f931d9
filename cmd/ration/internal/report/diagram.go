package report

import (
	"fmt"
	"math"
	"strings"
)

// A diagram is a graph with a place for everything in it.
type diagram struct {
	graph  graph
	sides  []side
	layout *layout
	tall   float64 // height of a node
	gap    float64 // between rows
	brief  bool    // whether labels have numbers alone
	labels []label
	w, h   float64
}

// A label is what an arc says: a line for each side, and whether it nests.
type label struct {
	box
	lines []labelLine
}

type labelLine struct {
	class string // "" = plain
	words string
}

// narrow is the width below which a diagram leaves room beside it, in pixels.
const narrow = 360

// mostNamed is how many sides have a line each on an arc, in a graph with few
// arcs; mostListed is how many have a number each on one line, in any.
const (
	mostNamed  = 4
	mostListed = 3
)

const (
	diagramMargin = 10
	lineHeight    = 15
	maxName       = 150 // pixels
)

// newDiagram finds a place for all nodes and labels. Where labels do not fit
// between rows, the rows go farther apart.
func newDiagram(g graph, sides []side) *diagram {
	d := &diagram{graph: g, sides: sides, brief: len(g.arcs) > 9}
	var widths []float64
	facts := 0
	for _, n := range g.nodes {
		w := width(clip(n.name, maxName, size), size) * 1.06
		for _, f := range n.facts {
			w = max(w, width(f, size-1))
		}
		widths = append(widths, w+22)
		facts = max(facts, len(n.facts))
	}
	d.tall = 26 + float64(facts)*lineHeight
	d.layout = arrange(g, widths)
	for _, spread := range []float64{1, 1.4, 2, 2.8, 4} {
		d.gap = spread * (44 + d.labelHeight())
		if d.placeLabels() {
			break
		}
	}
	d.size()
	return d
}

// labelHeight returns the height of the highest label.
func (d *diagram) labelHeight() float64 {
	high := 0
	for _, a := range d.graph.arcs {
		high = max(high, len(d.label(a)))
	}
	return float64(high) * lineHeight
}

// top returns the upper end of a row.
func (d *diagram) top(row int) float64 { return float64(row) * (d.tall + d.gap) }

// label returns the lines of an arc's label.
func (d *diagram) label(a arc) (lines []labelLine) {
	if d.brief || len(d.sides) > mostNamed {
		lines = append(lines, labelLine{"", d.summary(a)})
	} else {
		for i, c := range a.calls {
			if c.ok {
				words := times(c.amplification.Median)
				if len(d.sides) > 1 {
					words += " " + clip(d.sides[i].name, 120, size-1)
				}
				lines = append(lines, labelLine{fmt.Sprintf("c%d", i%len(colours)+1), words})
			}
		}
	}
	if a.nests(d.sides) != "" {
		lines = append(lines, labelLine{"", d.nesting(a)})
	}
	return lines
}

// summary is the amplification of an arc in one line: that of each side or, if
// there are many, of the first and the range of the others.
func (d *diagram) summary(a arc) string {
	if len(d.sides) <= mostListed {
		text := ""
		for i, c := range a.calls {
			if i > 0 {
				text += " | "
			}
			if c.ok {
				text += short(c.amplification.Median)
			} else {
				text += noNumber
			}
		}
		return text
	}
	low, high := math.Inf(1), 0.0
	for _, c := range a.calls[1:] {
		if c.ok {
			low, high = min(low, c.amplification.Median), max(high, c.amplification.Median)
		}
	}
	first := noNumber
	if a.calls[0].ok {
		first = short(a.calls[0].amplification.Median)
	}
	switch {
	case high == 0:
		return first
	case short(low) == short(high):
		return first + " | " + short(high)
	}
	return first + " | " + short(low) + "–" + short(high)
}

// legend says what the numbers of an arc are.
func (d *diagram) legend() string {
	var names []string
	for _, s := range d.sides {
		names = append(names, clip(s.name, maxName, size))
	}
	const what = "The worst second on each edge"
	switch {
	case len(names) == 1 || !d.brief && len(names) <= mostNamed:
		return what
	case len(names) <= mostListed:
		return what + ": " + strings.Join(names, " | ")
	}
	return what + ": " + names[0] + " | the range of the others"
}

func (d *diagram) nesting(a arc) string {
	n := 0
	for _, c := range a.calls {
		if c.nested {
			n++
		}
	}
	if n == len(a.calls) {
		return "nested"
	}
	return fmt.Sprintf("nested in %d of %d", n, len(a.calls))
}

// placeLabels puts each label on its arc where nothing else is, and reports
// whether there was room for all.
func (d *diagram) placeLabels() bool {
	d.labels = nil
	var taken []box
	for i := range d.graph.nodes {
		taken = append(taken, d.node(i))
	}
	fits := true
	for i, a := range d.graph.arcs {
		l := label{lines: d.label(a)}
		w := 0.0
		for _, line := range l.lines {
			w = max(w, width(line.words, size-1)+8)
		}
		h := float64(len(l.lines))*lineHeight + 4
		found := false
		for _, p := range d.along(i) {
			l.box = box{p.x - w/2, p.y - h/2, p.x + w/2, p.y + h/2}
			if !d.brief {
				l.box = box{p.x + 5, p.y - h/2, p.x + 5 + w, p.y + h/2}
			}
			if found = !anyOverlap(l.box, taken); found {
				break
			}
		}
		fits = fits && found
		taken = append(taken, l.box)
		d.labels = append(d.labels, l)
	}
	return fits
}

func (d *diagram) node(i int) box {
	s := d.layout.spots[i]
	return box{s.x - s.w/2, d.top(s.row), s.x + s.w/2, d.top(s.row) + d.tall}
}

// along returns points on an arc at which a label could be, the best first.
func (d *diagram) along(arc int) (points []point) {
	path := d.layout.paths[arc]
	for _, t := range []float64{.5, .4, .6, .3, .7, .22, .78} {
		for i := range path[1:] {
			a, b := d.ends(path[i], path[i+1])
			points = append(points, bezier(a, b, t))
		}
	}
	return points
}

// ends returns where a link leaves a spot and reaches the next. A bend is a
// straight passage from the top of its row to the bottom.
func (d *diagram) ends(from, to int) (a, b point) {
	s, e := d.layout.spots[from], d.layout.spots[to]
	return point{x: s.x, y: d.top(s.row) + d.tall}, point{x: e.x, y: d.top(e.row)}
}

// bezier returns a point on the curve that leaves a and reaches b vertically.
func bezier(a, b point, t float64) point {
	u := 1 - t
	mid := (a.y + b.y) / 2
	along := func(p, q, r, s float64) float64 {
		return u*u*u*p + 3*u*u*t*q + 3*u*t*t*r + t*t*t*s
	}
	return point{x: along(a.x, a.x, b.x, b.x), y: along(a.y, mid, mid, b.y)}
}

// size sets the size of the picture, and moves what would be left of it inside.
func (d *diagram) size() {
	left, right := 0.0, d.layout.width
	for _, l := range d.labels {
		left, right = min(left, l.left), max(right, l.right)
	}
	for i := range d.layout.spots {
		d.layout.spots[i].x -= left
	}
	for i := range d.labels {
		d.labels[i].left -= left
		d.labels[i].right -= left
	}
	d.w = right - left + 2*diagramMargin
	d.h = d.top(len(d.layout.rows)-1) + d.tall + 2*diagramMargin
}

// draw draws the arcs first, then the labels over them, then the nodes.
func (d *diagram) draw(out *drawing) {
	out.put(`<g transform="translate(%d %d)">`, diagramMargin, diagramMargin)
	for i := range d.graph.arcs {
		d.arc(out, i)
	}
	for _, l := range d.labels {
		out.put(`<rect x="%v" y="%v" width="%v" height="%v" class="p"/>`,
			l.left, l.top, l.right-l.left, l.bottom-l.top)
		for i, line := range l.lines {
			y := l.top + 12 + float64(i)*lineHeight
			if d.brief {
				out.text((l.left+l.right)/2, y, "o "+line.class, line.words)
			} else {
				out.text(l.left+4, y, "q "+line.class, line.words)
			}
		}
	}
	for i, n := range d.graph.nodes {
		d.box(out, d.node(i), n)
	}
	out.WriteString("</g>")
}

func (d *diagram) arc(out *drawing, i int) {
	a, path := d.graph.arcs[i], d.layout.paths[i]
	thick := 1.2
	if c := a.calls[0]; c.ok && c.amplification.Median > 1 {
		thick = min(1.2+math.Log2(c.amplification.Median), 6)
	}
	if d.brief {
		thick = min(thick/2, 2) // many lines are dark enough together
	}
	class := "w"
	if a.nests(d.sides) != "" {
		class = "w z"
	}
	start, _ := d.ends(path[0], path[1])
	out.put(`<path class="%s" stroke-width="%v" d="M%v %v`, class, thick, start.x, start.y)
	for j := range path[1:] {
		p, q := d.ends(path[j], path[j+1])
		if j == len(path)-2 {
			q.y -= 7 // the arrow head
		}
		if j > 0 {
			out.put("L%v %v", p.x, p.y)
		}
		mid := (p.y + q.y) / 2
		out.put("C%v %v %v %v %v %v", p.x, mid, q.x, mid, q.x, q.y)
	}
	_, end := d.ends(path[len(path)-2], path[len(path)-1])
	out.put(`"/><path class="v" d="M%v %vl-5 -9h10Z"/>`, end.x, end.y-0.5)
}

func (d *diagram) box(out *drawing, b box, n node) {
	class, radius := "x", 4.0
	if n.entry {
		radius = d.tall / 2
	}
	if n.trouble {
		class = "x y"
	}
	out.put(`<rect x="%v" y="%v" width="%v" height="%v" rx="%v" class="%s"/>`,
		b.left, b.top, b.right-b.left, b.bottom-b.top, radius, class)
	middle := (b.left + b.right) / 2
	block := 14 + float64(len(n.facts))*lineHeight
	y := b.top + (d.tall-block)/2 + 11
	out.text(middle, y, "o n", clip(n.name, maxName, size))
	for i, f := range n.facts {
		out.text(middle, y+float64(i+1)*lineHeight, "i s", f)
	}
}
