package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationconfig/strict"
	"github.com/ration-go/ration/rationsim"
)

// A topologyComparison is a topology in several variants. It is not changed once it
// is made.
type topologyComparison struct {
	name     string
	question string
	base     rationsim.Topology // as the file has it, before any variant
	variants []rationsim.Variant
	changes  []string // by variant: what it changes, "" for nothing
}

// topology reads the rest of a scenario file that describes services.
func (f *scenarioFile) topology(d *strict.Document, file string) (*comparison, error) {
	f.topologySection.require(d)
	for key, there := range map[string]bool{
		"rate": f.Rate != nil, "dependency": f.Dependency != nil, "policies": f.Policies != nil,
	} {
		if there {
			d.Problem(key, "stands beside entries and services, which say it in another way; remove it")
		}
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	b := newTopologyBuilder(f.name(file), time.Duration(*f.Duration), file)
	if f.Name != nil {
		checkName(d, "name", *f.Name)
	}
	c := &topologyChecker{Document: d, duration: b.duration, builder: b}
	c.check(&f.topologySection)
	if err := d.Err(); err != nil {
		return nil, err
	}
	t, err := f.topologySection.compare(b)
	if err != nil {
		return nil, err
	}
	return &comparison{topology: t, seed: f.Seed}, nil
}

// compare builds the topology in each of its variants. Without any, it is compared
// with itself without budgets.
func (f *topologySection) compare(b *topologyBuilder) (*topologyComparison, error) {
	base, err := b.build(f)
	if err != nil {
		return nil, err
	}
	c := &topologyComparison{name: b.name, question: orZero(f.Question), base: base}
	add := func(name string, changed topologySection, changes string) error {
		t, err := b.build(&changed)
		c.variants = append(c.variants, rationsim.Variant{Name: name, Topology: t})
		c.changes = append(c.changes, changes)
		return err
	}
	if f.Variants == nil {
		if hasBudget(base) {
			err = add("no budget", f.withoutBudgets(), "every edge: policy.budget.enabled false")
		}
		return c, errors.Join(err, add("as written", *f, ""))
	}
	for _, v := range f.Variants {
		var changes []string
		for i := range v.Set {
			changes = append(changes, v.Set[i].summary())
		}
		err = errors.Join(err, add(*v.Name, f.variant(v), strings.Join(changes, "; ")))
	}
	return c, err
}

// hasBudget reports whether Ration's budget bounds retries on any edge.
func hasBudget(t rationsim.Topology) bool {
	return slices.ContainsFunc(edgesOf(t), func(e edge) bool {
		p := resolved(e.policy)
		return p.Budget != nil && p.Attempts > 1
	})
}

// An edge is one arrow of a topology, from an entry or from a service.
type edge struct {
	from, to  string
	executors int // that decide on it, each for itself
	policy    ration.Policy
	limiter   bool
	obey      bool
	times     int
	optional  bool
}

// edgesOf returns all edges, in the order of the reports: entries, then services.
func edgesOf(t rationsim.Topology) (edges []edge) {
	for _, e := range t.Entries {
		edges = append(edges, edge{
			from: entryName(e), to: e.To, executors: max(e.Clients, 1), policy: e.Policy,
			limiter: e.Limiter != nil, obey: e.ObeyGiveUp, times: 1,
		})
	}
	for _, s := range t.Services {
		for _, c := range s.Calls {
			edges = append(edges, edge{
				from: s.Name, to: c.To, executors: max(s.Replicas, 1), policy: c.Policy,
				limiter: c.Limiter != nil, obey: c.ObeyGiveUp, times: max(c.Times, 1),
				optional: c.Optional,
			})
		}
	}
	return edges
}

func entryName(e rationsim.Entry) string {
	if e.Name != "" {
		return e.Name
	}
	return "to " + e.To
}

// only keeps the named variants or policies, in the order of the scenario.
func (c *comparison) only(names []string) (*comparison, error) {
	kept := *c
	var all []string
	if c.topology == nil {
		kept.configs = nil
		for _, config := range c.configs {
			all = append(all, config.Name)
			if slices.Contains(names, config.Name) {
				kept.configs = append(kept.configs, config)
			}
		}
	} else {
		kept.topology = c.topology.only(names)
		for _, v := range c.topology.variants {
			all = append(all, v.Name)
		}
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, usage("there is no variant %q; %s", name, strict.Meant(name, all))
		}
	}
	return &kept, nil
}

func (c *topologyComparison) only(names []string) *topologyComparison {
	kept := *c
	kept.variants, kept.changes = nil, nil
	for i, v := range c.variants {
		if slices.Contains(names, v.Name) {
			kept.variants = append(kept.variants, v)
			kept.changes = append(kept.changes, c.changes[i])
		}
	}
	return &kept
}

// replay returns the comparison with the load of entries replaced by recorded
// arrivals: FILE for the only entry, ENTRY=FILE for one of several.
func (c *topologyComparison) replay(traces []string) (*topologyComparison, error) {
	replayed := *c
	replayed.variants = slices.Clone(c.variants)
	for _, text := range traces {
		entry, file, named := strings.Cut(text, "=")
		if !named {
			entry, file = entryName(c.base.Entries[0]), text
			if len(c.base.Entries) > 1 {
				return nil, usage("--trace %s: there are several entries; say which, as in %s=%s",
					text, entry, text)
			}
		}
		i := slices.IndexFunc(c.base.Entries, func(e rationsim.Entry) bool {
			return entryName(e) == entry
		})
		if i < 0 {
			return nil, usage("--trace %s: there is no entry %q; %s", text, entry,
				strict.Meant(entry, entryNames(c.base)))
		}
		trace, err := openTrace(file)
		if err != nil {
			return nil, err
		}
		replayed.base = withTrace(replayed.base, i, trace)
		for j := range replayed.variants {
			t := &replayed.variants[j].Topology
			*t = withTrace(*t, i, trace)
		}
	}
	return &replayed, nil
}

func withTrace(t rationsim.Topology, entry int, trace []time.Duration) rationsim.Topology {
	t.Entries = slices.Clone(t.Entries)
	was := t.Entries[entry].Load
	t.Entries[entry].Load = rationsim.Load{
		Trace: trace, Sheddable: was.Sheddable, CriticalPlus: was.CriticalPlus,
	}
	return t
}

func entryNames(t rationsim.Topology) (names []string) {
	for _, e := range t.Entries {
		names = append(names, entryName(e))
	}
	return names
}

// calls returns about how many calls there are to simulate, over some seeds.
func (c *comparison) calls(seeds uint64) int64 {
	each := c.scenario.Rate * c.scenario.Duration.Seconds()
	return int64(each * float64(len(c.configs)) * float64(seeds))
}

// calls returns about how many calls arrive in all variants, over some seeds.
func (c *topologyComparison) calls(seeds uint64) int64 {
	n := 0.0
	for _, v := range c.variants {
		for _, e := range v.Topology.Entries {
			n += expectedCalls(e.Load, v.Topology.Duration)
		}
	}
	return int64(n * float64(seeds))
}

// listening returns the variants with a listener to the calls at their entries.
func listening(variants []rationsim.Variant, listen func(ration.Event)) []rationsim.Variant {
	heard := slices.Clone(variants)
	for i := range heard {
		t := &heard[i].Topology
		t.Entries = slices.Clone(t.Entries)
		for j := range t.Entries {
			t.Entries[j].Policy.OnEvent = listen
		}
	}
	return heard
}

// asTopology returns the comparison as one of variants, whatever it was.
func (c *comparison) asTopology() *topologyComparison {
	if c.topology != nil {
		return c.topology
	}
	var variants []rationsim.Variant
	for _, config := range c.configs {
		variants = append(variants, rationsim.Variant{
			Name: config.Name, Topology: topologyOf(c.scenario, config.Policy),
		})
	}
	return newTopologyComparison(c.scenario.Name, "", variants)
}

// topologyOf returns a scenario of one client and one dependency as a topology.
func topologyOf(s rationsim.Scenario, p ration.Policy) rationsim.Topology {
	d := s.Dependency
	return rationsim.Topology{
		Name:     s.Name,
		Duration: s.Duration,
		Entries: []rationsim.Entry{{
			Name: "client", To: "dependency", Load: rationsim.Load{Rate: s.Rate}, Policy: p,
		}},
		Services: []rationsim.Service{{
			Name: "dependency", Latency: d.Latency, FailureRate: d.FailureRate,
			Concurrency: d.Concurrency, Queue: d.Queue,
			Brownouts: d.Brownouts, Outages: d.Outages,
		}},
	}
}

func rivalNames() (names []string) {
	for _, r := range rationsim.Rivals() {
		names = append(names, r.Name)
	}
	return names
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// lineFault is a fault on one line of a file that a scenario names.
func lineFault(file string, line int, text string) error {
	return &strict.Error{Problems: []strict.Problem{{File: file, Line: line, Text: text}}}
}

// problemsIn returns the problems of an error about a file.
func problemsIn(err error) []strict.Problem {
	var faults *strict.Error
	if errors.As(err, &faults) {
		return faults.Problems
	}
	return nil
}

// asPart retells an error as part of another's line.
func asPart(err error) string {
	return strings.ReplaceAll(fmt.Sprint(err), "\n", "; ")
}

func shortened(text string) string {
	if runes := []rune(text); len(runes) > 40 {
		return string(runes[:39]) + "…"
	}
	return text
}
