package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ration-go/ration/rationsim"
)

// A graph is who calls whom.
type graph struct {
	nodes []node
	arcs  []arc
}

// A node is an entry or a service.
type node struct {
	name    string
	entry   bool
	facts   []string // below the name
	trouble bool
}

// An arc is the calls of one node to another, on every side.
type arc struct {
	from, to int // in the nodes
	calls    []arcSide
}

// An arcSide is what became of an arc on one side; ok is false where there is no
// such arc.
type arcSide struct {
	amplification rationsim.Band
	nested        bool
	ok            bool
}

// graphOf returns the graph of all variants: what only some of them have is in
// it too.
func graphOf(r *Report) graph {
	var g graph
	index := make(map[string]int)
	for _, v := range r.Variants {
		for _, e := range v.Topology.Entries {
			g.add(index, "entry "+entryName(e), entryNode(e))
		}
		for _, s := range v.Topology.Services {
			g.add(index, "service "+s.Name, serviceNode(s, r.Duration))
		}
	}
	for i, t := range r.Bands {
		for j, e := range t.Entries {
			g.call(index["entry "+e.From], index["service "+e.To], i, len(r.Bands),
				e.EdgeBands, nestedEntry(t, j))
		}
		for j, e := range t.Edges {
			g.call(index["service "+e.From], index["service "+e.To], i, len(r.Bands),
				e, nestedEdge(t, j))
		}
	}
	return g
}

func nestedEntry(t *rationsim.TopologyBands, i int) bool {
	for _, r := range t.Reports {
		if r.Entries[i].Nested {
			return true
		}
	}
	return false
}

func nestedEdge(t *rationsim.TopologyBands, i int) bool {
	for _, r := range t.Reports {
		if r.Edges[i].Nested {
			return true
		}
	}
	return false
}

func (g *graph) add(index map[string]int, key string, n node) {
	if _, ok := index[key]; !ok {
		index[key] = len(g.nodes)
		g.nodes = append(g.nodes, n)
	}
}

// call notes the calls between two nodes on one side. Where there are several
// edges between them, the worst counts.
func (g *graph) call(from, to, side, sides int, b rationsim.EdgeBands, nested bool) {
	at := -1
	for i, a := range g.arcs {
		if a.from == from && a.to == to {
			at = i
		}
	}
	if at < 0 {
		at = len(g.arcs)
		g.arcs = append(g.arcs, arc{from: from, to: to, calls: make([]arcSide, sides)})
	}
	c := &g.arcs[at].calls[side]
	if !c.ok || b.Amplification.Median > c.amplification.Median {
		c.amplification = b.Amplification
	}
	c.ok, c.nested = true, c.nested || nested
}

// entryName returns the name under which an entry is reported.
func entryName(e rationsim.Entry) string {
	if e.Name == "" {
		return "to " + e.To
	}
	return e.Name
}

func entryNode(e rationsim.Entry) node {
	n := node{name: entryName(e), entry: true}
	switch l := e.Load; {
	case l.Users > 0:
		n.facts = append(n.facts, amount(float64(l.Users))+" users")
	case l.Rate > 0:
		n.facts = append(n.facts, amount(l.Rate)+" calls/s")
	case len(l.Shape) > 0:
		high := 0.0
		for _, p := range l.Shape {
			high = max(high, p.Rate)
		}
		n.facts = append(n.facts, "up to "+amount(high)+" calls/s")
	case len(l.Trace) > 0:
		n.facts = append(n.facts, amount(float64(len(l.Trace)))+" recorded calls")
	}
	if e.Clients > 1 {
		n.facts = append(n.facts, amount(float64(e.Clients))+" clients")
	}
	return n
}

func serviceNode(s rationsim.Service, end time.Duration) node {
	n := node{name: s.Name}
	n.facts = append(n.facts, plural(max(1, s.Replicas), "replica"))
	if s.Concurrency > 0 {
		n.facts[0] += " × " + amount(float64(s.Concurrency)) + " at once"
	}
	if s.FailureRate > 0 {
		n.facts, n.trouble = append(n.facts, failing(s.FailureRate)), true
	}
	if s.RateLimit != nil {
		n.facts = append(n.facts, "429 beyond "+amount(s.RateLimit.PerSecond)+"/s")
	}
	for _, t := range troubles(s, "", end) {
		n.facts, n.trouble = append(n.facts, t.what), true
		if len(n.facts) >= 3 {
			break
		}
	}
	return n
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return amount(float64(n)) + " " + what + "s"
}

const nestedLoop = "nested loop"

// nests says on which sides an arc is in a nested loop, "" for none.
func (a *arc) nests(sides []side) string {
	var in []string
	for i, c := range a.calls {
		if c.nested {
			in = append(in, clean(sides[i].name))
		}
	}
	switch len(in) {
	case 0:
		return ""
	case len(a.calls):
		return nestedLoop
	}
	return nestedLoop + " with " + strings.Join(in, ", ")
}

// describe says in words what the diagram shows.
func (g *graph) describe(sides []side) string {
	var words []string
	for _, a := range g.arcs {
		text := g.nodes[a.from].name + " calls " + g.nodes[a.to].name + ":"
		for i, c := range a.calls {
			if c.ok {
				text += fmt.Sprintf(" %s %s", times(c.amplification.Median), sides[i].name) + ","
			}
		}
		text = strings.TrimSuffix(text, ",")
		if n := a.nests(sides); n != "" {
			text += "; " + n
		}
		words = append(words, text+".")
	}
	return strings.Join(words, " ")
}

// short shows an amplification in a label among many.
func short(x float64) string {
	if x >= 9.95 {
		return strconv.FormatFloat(x, 'f', 0, 64) + "×"
	}
	return strconv.FormatFloat(x, 'f', 1, 64) + "×"
}
