package report

import (
	"testing"
	"time"
)

func diagrams(t *testing.T) map[string]*diagram {
	t.Helper()
	all := make(map[string]*diagram)
	for name, r := range map[string]Report{
		"chain": chain(20 * time.Second), "thirty services": rivals(20 * time.Second),
	} {
		v, err := r.view()
		if err != nil {
			t.Fatal(err)
		}
		all[name] = newDiagram(v.graph, v.sides)
	}
	return all
}

// No label covers another label or a node, and all are in the picture.
func TestDiagramOverlaps(t *testing.T) {
	for name, d := range diagrams(t) {
		var boxes []box
		for i := range d.graph.nodes {
			boxes = append(boxes, d.node(i))
		}
		for _, l := range d.labels {
			boxes = append(boxes, l.box)
		}
		for i, a := range boxes {
			in := d.area
			if a.left < in.left || a.top < in.top || a.right > in.right || a.bottom > in.bottom {
				t.Errorf("%s: %v is outside %v", name, a, in)
			}
			for _, b := range boxes[i+1:] {
				if a.overlaps(b) {
					t.Errorf("%s: %v and %v overlap", name, a, b)
				}
			}
		}
	}
}

// Every arc goes down, so that who calls whom is seen without looking for arrows.
func TestDiagramGoesDown(t *testing.T) {
	for name, d := range diagrams(t) {
		for i, path := range d.layout.paths {
			for j := range path[1:] {
				from, to := d.layout.spots[path[j]].row, d.layout.spots[path[j+1]].row
				if to != from+1 {
					t.Errorf("%s: arc %d goes from row %d to %d", name, i, from, to)
				}
			}
		}
	}
}

// A graph that nobody has checked ends all the same.
func TestDiagramOfCycle(t *testing.T) {
	g := graph{
		nodes: []node{{name: "a"}, {name: "b"}},
		arcs:  []arc{{0, 1, []arcSide{{}}}, {1, 0, []arcSide{{}}}},
	}
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("a cycle panics: %v", r)
		}
	}()
	newDiagram(g, []side{{name: "x"}})
}
