package report

import (
	"math"
	"strings"
	"time"
)

// A trace is where a median runs in a panel, in pixels.
type trace struct {
	label string // "" = none
	at    []point
}

type point struct {
	x, y float64
	ok   bool
}

// middle returns the time in the middle of a bin, in seconds.
func (b bins) middle(i int) float64 { return (float64(i) + 0.5) * float64(b.width) }

// clock returns when a bin begins, in words.
func (b bins) clock(i int) string { return clock(time.Duration(b.from(i)) * time.Second) }

func (f frame) trace(s series, b bins, label string) trace {
	t := trace{label: label, at: make([]point, len(s))}
	for i, p := range s {
		t.at[i] = point{f.px(b.middle(i)), f.py(p.median), p.ok}
	}
	return t
}

// path returns the trace as the data of a path, with gaps where there are.
func (t trace) path() string {
	var out strings.Builder
	letter := "M"
	for i, p := range t.at {
		if !p.ok {
			letter = "M"
			continue
		}
		out.WriteString(letter + coordinate(p.x) + " " + coordinate(p.y))
		letter = "L"
		if next := i + 1; next == len(t.at) || !t.at[next].ok {
			out.WriteString("h0") // a point alone is seen as a dot
		}
	}
	return out.String()
}

// A box is where a label is.
type box struct{ left, top, right, bottom float64 }

func (a box) overlaps(b box) bool {
	return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
}

// labels writes the name of each trace beside it, where it is farthest from the
// others. A trace that has no room of its own goes without: it is close to one
// that has a name, and the caption has all of them.
func (f frame) labels(d *drawing, traces []trace) {
	var taken []box
	for i, t := range traces {
		if t.label == "" {
			continue
		}
		words := clip(t.label, 140, size-1)
		at, found := f.room(traces, i, width(words, size-1), taken)
		if !found {
			continue
		}
		taken = append(taken, at)
		// A wider font makes it grow away from the border.
		if at.right > f.w-f.right-near-size {
			d.text(at.right, at.bottom-3, "d f", words)
		} else {
			d.text(at.left, at.bottom-3, "d", words)
		}
	}
}

// clear is how far from all other traces a label should be, and near how far it
// may be from its own, in pixels.
const (
	clear = 9.0
	near  = 3.0
)

// room returns the best place for the label of a trace, from the right.
func (f frame) room(traces []trace, own int, w float64, taken []box) (best box, found bool) {
	most := 2.0 // less than that is no room
	for i := len(traces[own].at) - 1; i >= 0; i-- {
		p := traces[own].at[i]
		if !p.ok {
			continue
		}
		for _, above := range []bool{true, false} {
			b, ok := f.beside(traces[own], p.x-w, w, above)
			if !ok || anyOverlap(b, taken) {
				continue
			}
			if free := min(clear, distance(traces, own, b)); free > most+0.5 {
				best, most, found = b, free, true
			}
		}
		if most >= clear {
			break
		}
	}
	return best, found
}

func anyOverlap(b box, taken []box) bool {
	for _, t := range taken {
		if b.overlaps(t) {
			return true
		}
	}
	return false
}

// beside returns the box just above or below a trace, and whether it is inside
// the plot and the trace flat enough there to be followed.
func (f frame) beside(t trace, left, w float64, above bool) (box, bool) {
	high, low := math.Inf(1), math.Inf(-1)
	for _, p := range t.at {
		if p.ok && p.x >= left-6 && p.x <= left+w+6 {
			high, low = min(high, p.y), max(low, p.y)
		}
	}
	if math.IsInf(high, 0) || low-high > 14 {
		return box{}, false
	}
	const tall = size + 2
	b := box{left, low + near, left + w, low + near + tall}
	if above {
		b = box{left, high - near - tall, left + w, high - near}
	}
	return b, b.left >= f.left+2 && b.right <= f.w-f.right && b.top >= f.top &&
		b.bottom <= f.h-f.bottom-1
}

// distance returns how far a box is from all traces but one, vertically.
func distance(traces []trace, own int, b box) float64 {
	free := math.Inf(1)
	for i, t := range traces {
		for j, p := range t.at {
			if i == own || !p.ok || p.x < b.left-4 || p.x > b.right+4 {
				continue
			}
			high, low := p.y, p.y
			if j > 0 && t.at[j-1].ok { // a steep stretch passes between its ends
				high, low = min(high, t.at[j-1].y), max(low, t.at[j-1].y)
			}
			free = min(free, max(b.top-low, high-b.bottom))
		}
	}
	return free
}
