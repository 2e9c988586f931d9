package main

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationconfig"
	"github.com/ration-go/ration/rationconfig/strict"
	"github.com/ration-go/ration/rationsim"
)

// layers returns the files that an argument names: one, or several in layers with
// commas between them. A file whose own name has a comma is meant where there is one.
func layers(arg string) []string {
	if _, err := os.Stat(arg); err == nil {
		return []string{arg}
	}
	return strings.Split(arg, ",")
}

// policyRefs is the flag --policy, which may be given more than once: FILE#NAME, or
// FILE for all policies in it.
type policyRefs []string

// String implements [flag.Value].
func (r *policyRefs) String() string { return strings.Join(*r, " ") }

// Set implements [flag.Value].
func (r *policyRefs) Set(text string) error {
	if file, _, _ := strings.Cut(text, "#"); file == "" {
		return errors.New("it is not FILE#NAME")
	}
	*r = append(*r, text)
	return nil
}

// read returns the policies that the flag names, in its order. Two that have one name
// are called as the flag calls them.
func (r policyRefs) read() (configs []rationsim.Config, err error) {
	times := make(map[string]int)
	var refs []string
	for _, ref := range r {
		policies, err := readRef(ref)
		if err != nil {
			return nil, err
		}
		file, _ := cutRef(ref)
		for _, p := range policies {
			configs = append(configs, rationsim.Config{Name: p.Name, Policy: p})
			refs = append(refs, file+"#"+p.Name)
			times[p.Name]++
		}
	}
	for i := range configs {
		if times[configs[i].Name] > 1 {
			configs[i].Name = refs[i]
		}
	}
	return configs, nil
}

// cutRef cuts FILE#NAME. Names have no #, if anybody has a choice; files may.
func cutRef(ref string) (file, name string) {
	i := strings.LastIndex(ref, "#")
	if i < 0 {
		return ref, ""
	}
	return ref[:i], ref[i+1:]
}

func readRef(ref string) ([]ration.Policy, error) {
	file, name := cutRef(ref)
	policies, err := rationconfig.Policies(layers(file)...)
	if err != nil {
		return nil, err
	}
	if name == "" {
		var all []ration.Policy
		for _, name := range slices.Sorted(maps.Keys(policies)) {
			all = append(all, policies[name])
		}
		return all, nil
	}
	p, ok := policies[name]
	if !ok {
		return nil, usage("%s has no policy %q; %s", file, name,
			strict.Meant(name, slices.Sorted(maps.Keys(policies))))
	}
	return []ration.Policy{p}, nil
}

// override puts the policies that the flag names in the place of a scenario's own. A
// single one is compared with itself without a budget.
func (r policyRefs) override(c *comparison) error {
	if len(r) == 0 {
		return nil
	}
	if len(c.configs) == 0 {
		return usage("--policy is for scenarios with one dependency, and this has several services")
	}
	named, err := r.read()
	if err != nil {
		return err
	}
	if p := resolved(named[0].Policy); len(named) == 1 && p.Budget != nil {
		without := rationsim.Config{Name: "no budget", Policy: named[0].Policy}
		without.Policy.Budget = ration.NoBudget
		named = []rationsim.Config{without, named[0]}
	}
	c.configs = named
	return nil
}
