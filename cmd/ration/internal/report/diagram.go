package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A diagram is a graph with a place for everything in it. Its rows go from top to
// bottom or, where they would be wider than the page, from left to right: one
// scrolls away from the entries then, not to them.
type diagram struct {
	graph    graph
	sides    []side
	layout   *layout
	sideways bool      // from left to right
	widths   []float64 // of the nodes
	tall     float64   // height of a node
	gap      float64   // between rows
	starts   []float64 // of the rows, along the way from callers to called
	ends     []float64
	brief    bool // whether labels have numbers alone
	labels   []label
	area     box // that everything is in
	w, h     float64
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

// Widths of a diagram, in pixels: below narrow it leaves room beside it, and above
// pageWidth, made as small as can be read, it has to be moved about.
const (
	narrow     = 360
	pageWidth  = 1040
	leastScale = 0.8
)

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
	facts := 0
	for _, n := range g.nodes {
		w := width(clip(n.name, maxName, size), size) * 1.06
		for _, f := range n.facts {
			w = max(w, width(f, size-1))
		}
		d.widths = append(d.widths, w+22)
		facts = max(facts, len(n.facts))
	}
	d.tall = 26 + float64(facts)*lineHeight
	d.arrange()
	if d.w*leastScale > pageWidth {
		d.sideways = true
		d.arrange()
	}
	return d
}

// arrange places everything.
func (d *diagram) arrange() {
	sizes := d.widths
	if d.sideways {
		sizes = slices.Repeat([]float64{d.tall}, len(d.widths))
	}
	d.layout = arrange(d.graph, sizes)
	for _, spread := range []float64{1, 1.4, 2, 2.8, 4} {
		d.gap = spread * (44 + d.labelRoom())
		d.placeRows()
		if d.placeLabels() {
			break
		}
	}
	d.size()
}

// labelRoom returns how much of the gap between rows the largest label takes.
func (d *diagram) labelRoom() float64 {
	room := 0.0
	for _, a := range d.graph.arcs {
		w, h := labelSize(d.label(a))
		if d.sideways {
			h = w
		}
		room = max(room, h-4)
	}
	return room
}

func (d *diagram) placeRows() {
	d.starts, d.ends = nil, nil
	at := 0.0
	for _, row := range d.layout.rows {
		depth := d.tall
		if d.sideways {
			depth = 0
			for _, i := range row {
				if i < len(d.widths) {
					depth = max(depth, d.widths[i])
				}
			}
		}
		d.starts, d.ends = append(d.starts, at), append(d.ends, at+depth)
		at += depth + d.gap
	}
}

// at returns the place in the picture of what is across the rows and along the way
// through them.
func (d *diagram) at(across, along float64) point {
	if d.sideways {
		return point{x: along, y: across}
	}
	return point{x: across, y: along}
}

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
		w, h := labelSize(l.lines)
		found := false
		for _, p := range d.along(i) {
			l.box = box{p.x - w/2, p.y - h/2, p.x + w/2, p.y + h/2}
			if !d.onArc() {
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

// onArc reports whether labels interrupt their arc. Where there is room, they are
// to its right.
func (d *diagram) onArc() bool { return d.brief || d.sideways }

func labelSize(lines []labelLine) (w, h float64) {
	for _, line := range lines {
		w = max(w, width(line.words, size-1)+8)
	}
	return w, float64(len(lines))*lineHeight + 4
}

func (d *diagram) node(i int) box {
	s := d.layout.spots[i]
	a, b := d.at(s.x-s.w/2, d.starts[s.row]), d.at(s.x+s.w/2, d.ends[s.row])
	return box{a.x, a.y, b.x, b.y}
}

// along returns points on an arc at which a label could be, the best first.
func (d *diagram) along(arc int) (points []point) {
	path := d.layout.paths[arc]
	for _, t := range []float64{.5, .4, .6, .3, .7, .22, .78} {
		for i := range path[1:] {
			a, b := d.link(path[i], path[i+1])
			p := bezier(a, b, t)
			points = append(points, d.at(p.x, p.y))
		}
	}
	return points
}

// link returns where an arc leaves a spot and reaches the next, as if rows went
// down. A bend is a straight passage from the start of its row to the end.
func (d *diagram) link(from, to int) (a, b point) {
	s, e := d.layout.spots[from], d.layout.spots[to]
	return point{x: s.x, y: d.ends[s.row]}, point{x: e.x, y: d.starts[e.row]}
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

// size finds the area that everything is in.
func (d *diagram) size() {
	d.area = box{}
	grow := func(b box) {
		d.area.left, d.area.top = min(d.area.left, b.left), min(d.area.top, b.top)
		d.area.right, d.area.bottom = max(d.area.right, b.right), max(d.area.bottom, b.bottom)
	}
	for i := range d.graph.nodes {
		grow(d.node(i))
	}
	for i := range d.layout.spots {
		p := d.at(d.layout.spots[i].x, 0)
		grow(box{p.x, p.y, p.x, p.y})
	}
	for _, l := range d.labels {
		grow(l.box)
	}
	d.w = d.area.right - d.area.left + 2*diagramMargin
	d.h = d.area.bottom - d.area.top + 2*diagramMargin
}

// draw draws the arcs first, then the labels over them, then the nodes.
func (d *diagram) draw(out *drawing) {
	out.put(`<g transform="translate(%v %v)">`, diagramMargin-d.area.left, diagramMargin-d.area.top)
	for i := range d.graph.arcs {
		d.arc(out, i)
	}
	for _, l := range d.labels {
		out.put(`<rect x="%v" y="%v" width="%v" height="%v" class="p"/>`,
			l.left, l.top, l.right-l.left, l.bottom-l.top)
		for i, line := range l.lines {
			y := l.top + 12 + float64(i)*lineHeight
			if d.onArc() {
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
	start, _ := d.link(path[0], path[1])
	out.put(`<path class="%s" stroke-width="%v" d="M%s`, class, thick, d.pair(start.x, start.y))
	for j := range path[1:] {
		p, q := d.link(path[j], path[j+1])
		if j == len(path)-2 {
			q.y -= 7 // the arrow head
		}
		if j > 0 {
			out.put("L%s", d.pair(p.x, p.y))
		}
		mid := (p.y + q.y) / 2
		out.put("C%s %s %s", d.pair(p.x, mid), d.pair(q.x, mid), d.pair(q.x, q.y))
	}
	_, end := d.link(path[len(path)-2], path[len(path)-1])
	out.put(`"/><path class="v" d="M%sL%s %sZ"/>`, d.pair(end.x, end.y-0.5),
		d.pair(end.x-5, end.y-9.5), d.pair(end.x+5, end.y-9.5))
}

// pair returns a place as the data of a path.
func (d *diagram) pair(across, along float64) string {
	p := d.at(across, along)
	return coordinate(p.x) + " " + coordinate(p.y)
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
