package main

import (
	"flag"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/ration-go/ration/rationconfig/strict"
	"github.com/ration-go/ration/rationsim"
)

const (
	defaultPreset = "trade"
	defaultSeed   = 1
	maxSeeds      = 10_000

	// maxSeed is the largest number that every reader of JSON can hold, and leaves
	// room for the seeds after it.
	maxSeed = 1<<53 - 1
)

// simulateOptions are the arguments of the command.
type simulateOptions struct {
	preset   string
	file     string
	policies policyRefs
	variants words
	traces   words
	rivals   rivalsFlag
	chain    bool
	seed     whole
	seeds    whole
	json     bool
	csv      string
	page     pageFiles
}

func simulateFlags(args []string) (o simulateOptions, err error) {
	o.seed = whole{value: defaultSeed, most: maxSeed}
	o.seeds = whole{value: 1, least: 1, most: maxSeeds}
	flags := flag.NewFlagSet("simulate", flag.ContinueOnError)
	flags.StringVar(&o.preset, "preset", "", "")
	flags.Var(&o.policies, "policy", "")
	flags.Var(&o.variants, "variant", "")
	flags.Var(&o.traces, "trace", "")
	flags.Var(&o.rivals, "rivals", "")
	flags.BoolVar(&o.chain, "chain", false, "")
	flags.Var(&o.seed, "seed", "")
	flags.Var(&o.seeds, "seeds", "")
	flags.BoolVar(&o.json, "json", false, "")
	flags.StringVar(&o.csv, "csv", "", "")
	o.page.define(flags, args)
	files, err := parse(flags, args)
	if err == nil {
		err = o.rivals.check()
	}
	if err != nil {
		return o, err
	}
	given := make(map[string]bool)
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if o.chain {
		return o, chainFlags(given, files)
	}
	switch {
	case len(files) > 1:
		err = usage("takes one scenario, and got %q and %q", files[0], files[1])
	case len(files) == 1 && given["preset"]:
		err = usage("takes a preset or a scenario, and got both %q and %q", o.preset, files[0])
	case len(files) == 1 && files[0] == "":
		err = usage("takes a scenario, and its name is empty")
	case len(files) == 1:
		o.file = files[0]
	case !given["preset"]:
		o.preset = defaultPreset
	}
	return o, err
}

// chainFlags refuses what has no part in the table of chains.
func chainFlags(given map[string]bool, files []string) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains([]string{"chain", "seed", "json", "html", "svg"}, name) {
			return usage("--chain is a table of its own, and --%s has no part in it", name)
		}
	}
	if len(files) > 0 {
		return usage("--chain is a table of its own, and takes no scenario")
	}
	return nil
}

// comparison returns what the options ask for.
func (o *simulateOptions) comparison(stdin io.Reader) (*comparison, error) {
	c, err := o.scenario(stdin)
	if err == nil {
		err = o.policies.override(c)
	}
	if err != nil {
		return nil, err
	}
	if o.traces != nil {
		if c.topology, err = c.asTopology().replay(o.traces); err != nil {
			return nil, err
		}
	}
	if o.variants != nil {
		return c.only(o.variants)
	}
	return c, nil
}

func (o *simulateOptions) scenario(stdin io.Reader) (*comparison, error) {
	if o.file != "" {
		return openScenario(o.file, stdin)
	}
	c, ok := preset(o.preset)
	if !ok {
		return nil, usage("there is no preset %q; %s", o.preset,
			strict.Meant(o.preset, rationsim.TopologyPresetNames()))
	}
	return c, nil
}

// words is a flag that may be given several times.
type words []string

// String implements [flag.Value].
func (w *words) String() string { return strings.Join(*w, ",") }

// Set implements [flag.Value].
func (w *words) Set(text string) error {
	*w = append(*w, text)
	return nil
}

// rivalsFlag is a flag that means all rivals unless it names some.
type rivalsFlag []string

// IsBoolFlag makes the value optional: --rivals or --rivals=aws,envoy.
func (*rivalsFlag) IsBoolFlag() bool { return true }

// String implements [flag.Value].
func (r *rivalsFlag) String() string { return strings.Join(*r, ",") }

// Set implements [flag.Value].
func (r *rivalsFlag) Set(text string) error {
	*r = strings.Split(text, ",")
	if text == "true" {
		*r = rivalNames()
	}
	return nil
}

// check refuses rivals that nobody knows.
func (r rivalsFlag) check() error {
	for _, name := range r {
		if _, known := rationsim.RivalNamed(name); !known {
			return usage("there is no rival %q; %s", name, strict.Meant(name, rivalNames()))
		}
	}
	return nil
}
