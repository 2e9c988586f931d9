package main

import (
	"slices"
	"strings"

	"github.com/ration-go/ration/rationsim"
)

// questions are what the presets of topologies are there to answer.
var questions = map[string]string{
	"brownout": "A database is eight times as slow for a minute, below pods and a gateway that both " +
		"retry. What does it get, and what do users see?",
	"chain": "The last of three services in a row fails half of its requests for half a minute, and " +
		"every caller retries. What reaches it?",
	"fleet": "Five hundred pods with little traffic each call a database that is down for a minute. " +
		"What do the floors of their budgets add up to?",
	"throttled": "Callers exceed the rate limit of a partner for a minute. What do retries make of " +
		"the answers 429?",
	"bad-replica": "One replica of ten fails nearly everything for two minutes. How much of it do " +
		"callers see?",
	"backfill": "A backfill and requests that people wait for share a budget while a fifth of the " +
		"requests fail. Who gets the retries?",
	"cold-restart": "A cache restarts empty, and can do a little less than its load. Do its callers " +
		"let it warm up?",
	"metastable": "A database is slow for twenty seconds. Is the system well again when the " +
		"database is?",
}

// preset returns a preset by name, and false if there is none. Those with one
// dependency are comparisons of policies.
func preset(name string) (*comparison, bool) {
	if s, configs, ok := rationsim.Preset(name); ok {
		return &comparison{scenario: s, configs: configs}, true
	}
	_, variants, ok := rationsim.TopologyPreset(name)
	if !ok {
		return nil, false
	}
	return &comparison{topology: newTopologyComparison(name, questions[name], variants)}, true
}

// newTopologyComparison compares variants that no file describes. The first with
// budgets is what the assumptions are told of, and the others by how they differ.
func newTopologyComparison(
	name, question string, variants []rationsim.Variant,
) *topologyComparison {
	c := &topologyComparison{
		name: name, question: question, variants: variants, base: variants[0].Topology,
	}
	if i := slices.IndexFunc(variants, func(v rationsim.Variant) bool {
		return hasBudget(v.Topology)
	}); i >= 0 {
		c.base = variants[i].Topology
	}
	for _, v := range variants {
		c.changes = append(c.changes, difference(c.base, v.Topology))
	}
	return c
}

// difference says in which ways a topology differs from another of the same shape.
func difference(base, t rationsim.Topology) string {
	var parts []string
	for i, e := range t.Entries {
		was, is := loadText(base.Entries[i], base.Duration), loadText(e, t.Duration)
		if was != is {
			parts = append(parts, entryName(e)+": "+is)
		}
	}
	for i, s := range t.Services {
		if is := serviceText(s); is != serviceText(base.Services[i]) {
			parts = append(parts, s.Name+": "+is)
		}
	}
	return strings.Join(append(parts, edgeDifferences(base, t)...), "; ")
}

// edgeDifferences names the edges that differ in the same way together.
func edgeDifferences(base, t rationsim.Topology) (parts []string) {
	were, are := edgesOf(base), edgesOf(t)
	var texts []string
	names := make(map[string][]string)
	for i, e := range are {
		before := were[i].parts()
		changed := slices.DeleteFunc(e.parts(), func(p string) bool {
			return slices.Contains(before, p)
		})
		text := strings.Join(changed, ", ")
		if text == "" {
			continue
		}
		if names[text] == nil {
			texts = append(texts, text)
		}
		names[text] = append(names[text], e.name())
	}
	for _, text := range texts {
		who := strings.Join(names[text], ", ")
		if len(are) > 1 && len(names[text]) == len(are) {
			who = "every edge"
		}
		parts = append(parts, who+": "+text)
	}
	return parts
}
