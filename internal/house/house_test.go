// Package house holds the rules of the house that a compiler does not know:
// what may import what, who may read a clock, what must be documented. It is
// nothing but tests, and reads the whole tree, nested modules included.
//
// A rule is a function from the tree to the faults it finds, so that it can be
// tried on examples: a rule that cannot fail guards nothing.
package house

import (
	"slices"
	"strings"
	"testing"
)

type rule struct {
	name     string
	check    func(tree []source) []string
	examples []example
}

// An example is a small tree and the places at which the rule must find fault,
// as path:line.
type example struct {
	name  string
	files map[string]string
	want  []string
}

var rules = []rule{
	manifestRule,
	workspaceRule,
	lengthRule,
	arrowRule,
	sleepRule,
	clockRule,
	wallRule,
	documentedRule,
	concurrencyRule,
}

func TestTree(t *testing.T) {
	tree := readTree(t, root(t))
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, fault := range r.check(tree) {
				t.Error(fault)
			}
		})
	}
}

func TestExamples(t *testing.T) {
	for _, r := range rules {
		for _, e := range r.examples {
			t.Run(r.name+"/"+e.name, func(t *testing.T) {
				got := places(r.check(e.tree(t)))
				slices.Sort(e.want)
				if !slices.Equal(got, e.want) {
					t.Errorf("faults at %q, want %q", got, e.want)
				}
			})
		}
	}
}

func (e example) tree(t *testing.T) []source {
	t.Helper()
	var tree []source
	for name, text := range e.files {
		s, err := newSource(name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		tree = append(tree, s)
	}
	return tree
}

// places cuts each fault down to its path:line, sorted.
func places(faults []string) []string {
	var at []string
	for _, f := range faults {
		place, _, _ := strings.Cut(f, ": ")
		at = append(at, place)
	}
	slices.Sort(at)
	return at
}
