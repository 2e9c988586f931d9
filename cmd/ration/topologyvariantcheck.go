package main

import (
	"slices"
	"strings"

	"github.com/ration-go/ration/rationconfig/strict"
)

// variants reports what is wrong with changes, and with what they make of a topology
// that is in order.
func (c *topologyChecker) variants(f *topologySection) {
	if f.Variants != nil && len(f.Variants) == 0 {
		c.Problem("variants", "is an empty list; name at least one, or leave the key out to compare "+
			"the topology with and without budgets")
	}
	names := make(map[string]int)
	for i := range f.Variants {
		v, at := &f.Variants[i], strict.At("variants", i)
		checkName(c.Document, at+".name", *v.Name)
		if first, twice := names[*v.Name]; twice {
			c.Problem(at+".name", "%q is also that of variants[%d]; change one", *v.Name, first)
		} else {
			names[*v.Name] = i
		}
		so := *f
		for j := range v.Set {
			c.set(&so, strict.At(at+".set", j), &v.Set[j])
			so = so.variant(variantSection{Set: v.Set[j : j+1]})
		}
		if c.Err() == nil {
			c.core(at, &so)
		}
	}
}

// set checks one change to a topology.
func (c *topologyChecker) set(f *topologySection, at string, s *setSection) {
	targets := settingsIn(struct{ Edge, Entry, Service *string }{s.Edge, s.Entry, s.Service})
	switch {
	case len(targets) == 0:
		c.Problem(at, `says not what it changes; add an edge such as "gateway -> api", an entry or `+
			`a service`)
		return
	case len(targets) > 1:
		c.Problem(at+"."+targets[1], "stands beside %s; a change is of one of them", targets[0])
		return
	}
	if !c.settings(at, targets[0], s) || !c.known(f, at, s) {
		return
	}
	if s.Load != nil {
		c.load(at+".load", s.Load)
	}
	c.setEdges(f, at, s)
	for i := range f.Services {
		if x := &f.Services[i]; s.Service != nil && named(*s.Service, *x.Name) {
			whole := x.serviceSettings
			override(&whole, &s.serviceSettings)
			if c.found(func() { c.service(at, &s.serviceSettings, whole) }) {
				return
			}
		}
	}
}

// settings reports settings that the target does not have, or that there are none.
func (c *topologyChecker) settings(at, target string, s *setSection) bool {
	edge, call := settingsIn(s.edgeSettings), settingsIn(s.callSettings)
	entry, service := settingsIn(s.entrySettings), settingsIn(s.serviceSettings)
	all := slices.Concat(edge, call, entry, service)
	own := map[string][]string{
		"edge": slices.Concat(edge, call), "entry": slices.Concat(edge, entry), "service": service,
	}[target]
	article := map[string]string{"edge": "an edge", "entry": "an entry", "service": "a service"}
	for _, key := range all {
		if !slices.Contains(own, key) {
			c.Problem(at+"."+key, "is no setting of %s", article[target])
		}
	}
	if len(all) == 0 {
		c.Problem(at, "changes nothing; add a setting of %s", article[target])
	}
	return len(all) > 0 && len(all) == len(own)
}

// known reports a target that is not there.
func (c *topologyChecker) known(f *topologySection, at string, s *setSection) bool {
	switch {
	case s.Service != nil && *s.Service != "*" && f.service(*s.Service) == nil:
		c.Problem(at+".service", "%q is no service; %s", *s.Service,
			strict.Meant(*s.Service, f.serviceNames()))
		return false
	case s.Entry != nil && *s.Entry != "*" && !slices.Contains(f.entryNames(), *s.Entry):
		c.Problem(at+".entry", "%q is no entry; %s", *s.Entry, strict.Meant(*s.Entry, f.entryNames()))
		return false
	case s.Edge != nil && !slices.ContainsFunc(f.edges(), func(e [2]string) bool {
		return s.edge(e[0], e[1])
	}):
		var edges []string
		for _, e := range f.edges() {
			edges = append(edges, e[0]+" -> "+e[1])
		}
		c.Problem(at+".edge", "%q is no edge; %s", *s.Edge, strict.Meant(*s.Edge, append(edges, "*")))
		return false
	}
	return true
}

func (f *topologySection) entryNames() (names []string) {
	for i := range f.Entries {
		names = append(names, f.Entries[i].name())
	}
	return names
}

// edges returns the ends of every edge, those of entries first.
func (f *topologySection) edges() (edges [][2]string) {
	for i := range f.Entries {
		edges = append(edges, [2]string{f.Entries[i].name(), *f.Entries[i].To})
	}
	for i := range f.Services {
		for j := range f.Services[i].Calls {
			edges = append(edges, [2]string{*f.Services[i].Name, *f.Services[i].Calls[j].To})
		}
	}
	return edges
}

// setEdges checks what a change makes of each edge. A fault that it makes on several
// edges is one.
func (c *topologyChecker) setEdges(f *topologySection, at string, s *setSection) {
	var edges []*edgeSettings
	for i := range f.Entries {
		e := &f.Entries[i]
		if s.Entry != nil && named(*s.Entry, e.name()) || s.edge(e.name(), *e.To) {
			edges = append(edges, &e.edgeSettings)
		}
	}
	for i := range f.Services {
		for j := range f.Services[i].Calls {
			if call := &f.Services[i].Calls[j]; s.edge(*f.Services[i].Name, *call.To) {
				edges = append(edges, &call.edgeSettings)
			}
		}
	}
	for _, e := range edges {
		if c.found(func() { c.setEdge(at, e, &s.edgeSettings) }) {
			return
		}
	}
}

func (c *topologyChecker) setEdge(at string, e, change *edgeSettings) {
	if change.Limiter != nil {
		c.limiter(at, change)
	}
	changed := *e
	changed.override(change)
	switch {
	case change.PolicyFile != nil:
		c.edge(at, &edgeSettings{Policy: change.Policy, PolicyFile: change.PolicyFile})
	case change.Policy == nil:
	case e.PolicyFile == nil:
		changed.Policy.Check(c.Document, at+".policy")
	case !onlyBudgetOff(change):
		c.Problem(at+".policy", "changes one from %s, of which only the budget can be switched off "+
			"here; change it there, or name another with policyFile", *e.PolicyFile)
	}
}

// onlyBudgetOff reports whether the policy in settings is budget: {enabled: false}.
func onlyBudgetOff(s *edgeSettings) bool {
	keys := settingsIn(*s.Policy)
	return slices.Equal(keys, []string{"budget"}) &&
		slices.Equal(settingsIn(*s.Policy.Budget), []string{"enabled"}) && !*s.Policy.Budget.Enabled
}

// found reports whether check has found a problem.
func (c *topologyChecker) found(check func()) bool {
	before := c.count()
	check()
	return c.count() > before
}

func (c *topologyChecker) count() int {
	if err := c.Err(); err != nil {
		return len(problemsIn(err))
	}
	return 0
}

// summary says in a line what a change does, in the words of the file.
func (s *setSection) summary() string {
	what := "edge " + orZero(s.Edge)
	switch {
	case s.Edge != nil && *s.Edge == "*":
		what = "every edge"
	case s.Entry != nil:
		what = "entry " + *s.Entry
	case s.Service != nil:
		what = "service " + *s.Service
	}
	return what + ": " + strings.Join(flatten("", *s), ", ")
}
