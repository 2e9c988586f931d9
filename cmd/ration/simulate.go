package main

import (
	"context"
	"errors"
	"flag"
	"io"

	"github.com/ration-go/ration"
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

// simulate is the command of that name.
func simulate(ctx context.Context, args []string, std streams) error {
	o, err := simulateFlags(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return help(ctx, []string{"simulate"}, std)
	case err != nil:
		return err
	}
	c, err := interruptible(ctx, func() (*comparison, error) { return o.comparison(std.in) })
	if err == nil {
		err = o.policies.override(c)
	}
	if err != nil {
		return err
	}
	bar := startProgress(ctx, std.err, isTerminal(std.err), c.calls(o.seeds.value))
	r, err := interruptible(ctx, func() (*result, error) { return o.run(ctx, c, bar.count) })
	bar.stop()
	if err != nil {
		return err
	}
	text := r.text()
	if o.json {
		if text, err = r.json(); err != nil {
			return err
		}
	}
	_, err = std.out.Write(text)
	return err
}

// interruptible runs work, and leaves it behind when the context ends first. A
// simulation and the standard input know nothing of contexts, and the process is
// about to end.
func interruptible[T any](ctx context.Context, work func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		value, err := work()
		done <- answer{value, err}
	}()
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// simulateOptions are the arguments of the command.
type simulateOptions struct {
	preset   string
	file     string
	policies policyRefs
	seed     whole
	seeds    whole
	json     bool
}

func simulateFlags(args []string) (o simulateOptions, err error) {
	o.seed = whole{value: defaultSeed, most: maxSeed}
	o.seeds = whole{value: 1, least: 1, most: maxSeeds}
	flags := flag.NewFlagSet("simulate", flag.ContinueOnError)
	flags.StringVar(&o.preset, "preset", "", "")
	flags.Var(&o.policies, "policy", "")
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
	case len(files) == 1 && files[0] == "":
		err = usage("takes a scenario, and its name is empty")
	case len(files) == 1:
		o.file = files[0]
	case !given["preset"]:
		o.preset = defaultPreset
	}
	return o, err
}

// comparison returns what the options ask for.
func (o *simulateOptions) comparison(stdin io.Reader) (*comparison, error) {
	if o.file != "" {
		return openScenario(o.file, stdin)
	}
	s, configs, ok := rationsim.Preset(o.preset)
	if !ok {
		return nil, usage("there is no preset %q; %s", o.preset,
			strict.Meant(o.preset, rationsim.PresetNames()))
	}
	return &comparison{scenario: s, configs: configs}, nil
}

// run simulates. Every event of every simulated call goes to the listener too.
func (o *simulateOptions) run(
	ctx context.Context, c *comparison, listen func(ration.Event),
) (*result, error) {
	r := &result{scenario: c.scenario, configs: c.configs, seed: o.seed.value}
	if c.seed != nil && !o.seed.set {
		r.seed = *c.seed
	}
	for _, config := range c.configs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		config.Policy.OnEvent = listen
		bands, err := rationsim.RunSeeds(c.scenario, config, r.seed, int(o.seeds.value))
		if err != nil {
			return nil, err
		}
		r.bands = append(r.bands, bands)
	}
	return r, nil
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
