package report

import (
	"cmp"
	"slices"
)

// A layout places the nodes of a graph in rows, callers above what they call. An
// arc that passes a row without stopping has a bend there, which takes part in
// the ordering as a node does, so that no arc runs through a node.
type layout struct {
	spots []spot  // the nodes, in their order, then the bends
	rows  [][]int // of spots, from left to right
	paths [][]int // for each arc, the spots from its start to its end
	width float64
}

// A spot is the place of a node or a bend.
type spot struct {
	row         int
	x, w        float64 // the middle and the width
	above, down []int   // the spots it is linked to, in the rows beside its own
}

// apart is how far spots of one row are from each other, in pixels.
const apart = 26

// bendWidth is what an arc takes that passes a row.
const bendWidth = 14

// arrange lays a graph out. The widths are those of the nodes.
func arrange(g graph, widths []float64) *layout {
	l := &layout{spots: make([]spot, len(g.nodes))}
	for i, row := range ranks(g) {
		l.spots[i] = spot{row: row, w: widths[i]}
	}
	for _, a := range g.arcs {
		l.link(a)
	}
	for i, s := range l.spots {
		for len(l.rows) <= s.row {
			l.rows = append(l.rows, nil)
		}
		l.rows[s.row] = append(l.rows[s.row], i)
	}
	l.order()
	l.spread()
	return l
}

// ranks returns the row of each node: below all that call it. Topologies have no
// cycles, so this ends; the bound is for those that nobody has checked.
func ranks(g graph) []int {
	row := make([]int, len(g.nodes))
	for range g.nodes {
		moved := false
		for _, a := range g.arcs {
			if row[a.to] <= row[a.from] && row[a.from] < len(g.nodes) {
				row[a.to], moved = row[a.from]+1, true
			}
		}
		if !moved {
			break
		}
	}
	return row
}

// link adds the bends of an arc.
func (l *layout) link(a arc) {
	path := []int{a.from}
	for row := l.spots[a.from].row + 1; row < l.spots[a.to].row; row++ {
		path = append(path, len(l.spots))
		l.spots = append(l.spots, spot{row: row, w: bendWidth})
	}
	path = append(path, a.to)
	for i := range path[1:] {
		up, down := path[i], path[i+1]
		l.spots[up].down = append(l.spots[up].down, down)
		l.spots[down].above = append(l.spots[down].above, up)
	}
	l.paths = append(l.paths, path)
}

// order sorts each row by where its neighbours are, down and up in turn, and
// keeps what crosses least.
func (l *layout) order() {
	best, least := l.copyRows(), l.crossings()
	for sweep := range 12 {
		at := l.positions()
		for i := range l.rows {
			row, links := l.rows[i], func(s spot) []int { return s.above }
			if sweep%2 == 1 {
				row, links = l.rows[len(l.rows)-1-i], func(s spot) []int { return s.down }
			}
			slices.SortStableFunc(row, func(a, b int) int {
				return cmp.Compare(centre(at, links(l.spots[a]), a), centre(at, links(l.spots[b]), b))
			})
			for j, s := range row {
				at[s] = float64(j) - float64(len(row)-1)/2
			}
		}
		if n := l.crossings(); n < least {
			best, least = l.copyRows(), n
		}
	}
	l.rows = best
}

// positions returns where each spot is in its row, from the middle.
func (l *layout) positions() []float64 {
	at := make([]float64, len(l.spots))
	for _, row := range l.rows {
		for j, s := range row {
			at[s] = float64(j) - float64(len(row)-1)/2
		}
	}
	return at
}

// centre returns the middle of some spots or, without any, where one is already.
func centre(at []float64, links []int, own int) float64 {
	if len(links) == 0 {
		return at[own]
	}
	sum := 0.0
	for _, i := range links {
		sum += at[i]
	}
	return sum / float64(len(links))
}

func (l *layout) copyRows() [][]int {
	rows := make([][]int, len(l.rows))
	for i, row := range l.rows {
		rows[i] = slices.Clone(row)
	}
	return rows
}

// crossings counts the pairs of links that cross.
func (l *layout) crossings() int {
	at, n := l.positions(), 0
	for _, row := range l.rows {
		for i, a := range row {
			for _, b := range row[i+1:] {
				for _, x := range l.spots[a].down {
					for _, y := range l.spots[b].down {
						if at[x] > at[y] {
							n++
						}
					}
				}
			}
		}
	}
	return n
}

// spread places the spots of each row near their neighbours, without changing
// their order or letting them touch.
func (l *layout) spread() {
	x := make([]float64, len(l.spots))
	want := slices.Clone(x)
	for sweep := range 40 {
		for i := range l.rows {
			row, links := l.rows[i], func(s spot) []int { return s.above }
			if sweep%2 == 1 {
				row, links = l.rows[len(l.rows)-1-i], func(s spot) []int { return s.down }
			}
			if sweep > 15 {
				links = func(s spot) []int { return slices.Concat(s.above, s.down) }
			}
			for _, s := range row {
				want[s] = centre(x, links(l.spots[s]), s)
			}
			l.settle(row, want, x)
		}
	}
	left, right := x[0]-l.spots[0].w/2, x[0]+l.spots[0].w/2
	for i, s := range l.spots {
		left, right = min(left, x[i]-s.w/2), max(right, x[i]+s.w/2)
	}
	for i := range l.spots {
		l.spots[i].x = x[i] - left
	}
	l.width = right - left
}

// weight is how much a spot insists on its place. Bends do most: an arc that
// runs straight is followed easily.
func (s spot) weight() float64 {
	if s.w == bendWidth {
		return 6
	}
	return 1
}

// settle moves a row as near as it gets to where its spots want to be, by least
// squares: those that would touch form a block, which goes to its mean.
func (l *layout) settle(row []int, want, x []float64) {
	type block struct {
		sum, weight float64
		n           int
	}
	offset := make([]float64, len(row))
	var blocks []block
	for i, s := range row {
		if i > 0 {
			offset[i] = offset[i-1] + (l.spots[row[i-1]].w+l.spots[s].w)/2 + apart
		}
		w := l.spots[s].weight()
		blocks = append(blocks, block{w * (want[s] - offset[i]), w, 1})
		for n := len(blocks); n > 1; n = len(blocks) {
			a, b := blocks[n-2], blocks[n-1]
			if a.sum/a.weight <= b.sum/b.weight {
				break
			}
			blocks = append(blocks[:n-2], block{a.sum + b.sum, a.weight + b.weight, a.n + b.n})
		}
	}
	i := 0
	for _, b := range blocks {
		for range b.n {
			x[row[i]] = b.sum/b.weight + offset[i]
			i++
		}
	}
}
