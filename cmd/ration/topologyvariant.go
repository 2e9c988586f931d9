package main

import (
	"reflect"
	"slices"
	"strings"

	"github.com/ration-go/ration/rationconfig"
	"github.com/ration-go/ration/rationconfig/strict"
)

// variant returns the topology with the changes of a variant. The receiver stays
// as it is: what a variant changes is copied, the rest shared.
func (f *topologySection) variant(v variantSection) topologySection {
	changed := *f
	changed.Entries = slices.Clone(f.Entries)
	changed.Services = slices.Clone(f.Services)
	for i := range changed.Services {
		changed.Services[i].Calls = slices.Clone(changed.Services[i].Calls)
	}
	for _, s := range v.Set {
		s.apply(&changed)
	}
	return changed
}

func (s *setSection) apply(f *topologySection) {
	for i := range f.Entries {
		e := &f.Entries[i]
		if s.Entry != nil && named(*s.Entry, e.name()) {
			override(&e.entrySettings, &s.entrySettings)
			e.edgeSettings.override(&s.edgeSettings)
		}
		if s.edge(e.name(), *e.To) {
			e.edgeSettings.override(&s.edgeSettings)
		}
	}
	for i := range f.Services {
		x := &f.Services[i]
		if s.Service != nil && named(*s.Service, *x.Name) {
			override(&x.serviceSettings, &s.serviceSettings)
		}
		for j := range x.Calls {
			if c := &x.Calls[j]; s.edge(*x.Name, *c.To) {
				c.edgeSettings.override(&s.edgeSettings)
				override(&c.callSettings, &s.callSettings)
			}
		}
	}
}

// edge reports whether the changes are for that edge.
func (s *setSection) edge(from, to string) bool {
	if s.Edge == nil {
		return false
	}
	a, b, ok := edgeEnds(*s.Edge)
	return ok && named(a, from) && named(b, to)
}

// edgeEnds splits "gateway -> api". A * alone is every edge.
func edgeEnds(text string) (from, to string, ok bool) {
	if text == "*" {
		return "*", "*", true
	}
	from, to, ok = strings.Cut(text, "->")
	return strings.TrimSpace(from), strings.TrimSpace(to), ok
}

func named(pattern, name string) bool { return pattern == "*" || pattern == name }

// override lays settings over others of the same type: each as a whole.
func override[T any](onto, top *T) {
	target := reflect.ValueOf(onto).Elem()
	for field, value := range reflect.ValueOf(top).Elem().Fields() {
		if !value.IsNil() {
			target.FieldByIndex(field.Index).Set(value)
		}
	}
}

// override lays the settings of an edge over others. A policy changes key by key;
// one from a file, and a limiter, take the place of what was there.
func (s *edgeSettings) override(top *edgeSettings) {
	was := *s
	override(s, top)
	switch {
	case top.PolicyFile != nil:
		s.Policy = nil
	case top.Policy != nil && was.Policy != nil:
		s.Policy = top.Policy.Over(was.Policy)
	}
	if top.setsBudget() {
		s.Limiter = nil
	}
}

// setsBudget reports whether the settings ask for the budget themselves, so that no
// limiter that was there before stays in its place.
func (s *edgeSettings) setsBudget() bool {
	return s.Limiter == nil && s.Policy != nil && s.Policy.Budget != nil
}

// withoutBudgets returns the topology with every edge's budget off.
func (f *topologySection) withoutBudgets() topologySection {
	no := false
	every := "*"
	off := rationconfig.Policy{Budget: &rationconfig.Budget{Enabled: &no}}
	return f.variant(variantSection{Set: []setSection{{
		Edge: &every, edgeSettings: edgeSettings{Policy: &off},
	}}})
}

func (e *entrySection) name() string {
	if e.Name != nil {
		return *e.Name
	}
	return "to " + *e.To
}

// settingsIn returns the keys that are set in a struct of settings, with those of
// the structs embedded in it.
func settingsIn(settings any) (keys []string) {
	v := reflect.ValueOf(settings)
	for _, f := range reflect.VisibleFields(v.Type()) {
		if !f.Anonymous && !v.FieldByIndex(f.Index).IsNil() {
			keys = append(keys, strict.Key(f.Name))
		}
	}
	return keys
}
