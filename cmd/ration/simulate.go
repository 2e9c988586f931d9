package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"math"

	"github.com/ration-go/ration/cmd/ration/internal/strict"
	"github.com/ration-go/ration/rationsim"
)

const (
	defaultPreset = "trade"
	defaultSeed   = 1
	maxSeeds      = 10_000
)

// simulate is the command of that name.
func simulate(ctx context.Context, args []string, std streams) error {
	o, err := simulateFlags(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return help(ctx, []string{"simulate"}, std)
	case err != nil:
		return err
	}
	// A simulation and the standard input know nothing of contexts. The process is
	// about to end when this one does, so what is left running is left behind.
	done := make(chan error, 1)
	var text []byte
	go func() {
		var err error
		text, err = o.report(ctx, std)
		done <- err
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-done:
		if err != nil {
			return err
		}
		_, err = std.out.Write(text)
		return err
	}
}

// simulateOptions are the arguments of the command.
type simulateOptions struct {
	preset string
	file   string
	seed   whole
	seeds  whole
	json   bool
}

func simulateFlags(args []string) (o simulateOptions, err error) {
	o.seed = whole{value: defaultSeed, most: math.MaxUint64}
	o.seeds = whole{value: 1, least: 1, most: maxSeeds}
	flags := flag.NewFlagSet("simulate", flag.ContinueOnError)
	flags.StringVar(&o.preset, "preset", "", "")
	flags.Var(&o.seed, "seed", "")
	flags.Var(&o.seeds, "seeds", "")
	flags.BoolVar(&o.json, "json", false, "")
	files, err := parse(flags, args)
	if err != nil {
		return o, err
	}
	given := make(map[string]bool)
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch {
	case len(files) > 1:
		err = usage("takes one scenario, and got %q and %q", files[0], files[1])
	case len(files) == 1 && given["preset"]:
		err = usage("takes a preset or a scenario, and got both %q and %q", o.preset, files[0])
	case len(files) == 1:
		o.file = files[0]
	case !given["preset"]:
		o.preset = defaultPreset
	}
	return o, err
}

// comparison returns what the options ask for.
func (o *simulateOptions) comparison(stdin io.Reader) (*comparison, error) {
	if o.preset == "" && o.file != "" {
		return openScenario(o.file, stdin)
	}
	s, configs, ok := rationsim.Preset(o.preset)
	if !ok {
		return nil, usage("there is no preset %q; %s", o.preset,
			strict.Meant(o.preset, rationsim.PresetNames()))
	}
	return &comparison{scenario: s, configs: configs}, nil
}

// report runs everything and returns what to print.
func (o *simulateOptions) report(ctx context.Context, std streams) ([]byte, error) {
	c, err := o.comparison(std.in)
	if err != nil {
		return nil, err
	}
	r := result{scenario: c.scenario, configs: c.configs, seed: o.seed.value}
	if c.seed != nil && !o.seed.set {
		r.seed = *c.seed
	}
	calls := c.scenario.Rate * c.scenario.Duration.Seconds()
	total := calls * float64(len(c.configs)) * float64(o.seeds.value)
	bar := startProgress(ctx, std.err, isTerminal(std.err), int64(total))
	defer bar.stop()
	for _, config := range c.configs {
		config.Policy.OnEvent = bar.count
		bands, err := rationsim.RunSeeds(c.scenario, config, r.seed, int(o.seeds.value))
		if err != nil {
			return nil, err
		}
		r.bands = append(r.bands, bands)
	}
	if o.json {
		return r.json()
	}
	return r.text(), nil
}

// A result is what was simulated, and what came of it: the bands of each policy, in
// the order of the policies.
type result struct {
	scenario rationsim.Scenario
	configs  []rationsim.Config
	seed     uint64 // the first
	bands    []*rationsim.Bands
}

func (r *result) seeds() int { return len(r.bands[0].Reports) }
