package main

import (
	"context"
	"errors"
	"flag"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationsim"
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
	r, err := o.simulate(ctx, std)
	if err != nil {
		return err
	}
	if err := o.writePage(ctx, r); err != nil {
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

// An outcome is what a simulation has to say.
type outcome interface {
	text() []byte // for people
	json() ([]byte, error)
}

// simulate runs whatever is asked for, and writes the files that are.
func (o *simulateOptions) simulate(ctx context.Context, std streams) (outcome, error) {
	if o.chain {
		return simulateChain(ctx, o.seed.value)
	}
	c, err := interruptible(ctx, func() (*comparison, error) { return o.comparison(std.in) })
	if err != nil {
		return nil, err
	}
	switch {
	case o.rivals != nil:
		return o.simulateRivals(ctx, c, std)
	case c.topology != nil:
		return o.simulateTopology(ctx, c, std)
	}
	bar := startProgress(ctx, std.err, isTerminal(std.err), c.calls(o.seeds.value))
	r, err := interruptible(ctx, func() (*result, error) { return o.run(ctx, c, bar.count) })
	bar.stop()
	if err != nil {
		return nil, err
	}
	return r, o.writeFiles(ctx, c, r)
}

// topologySeeds is how many seeds a topology is run with unless told otherwise: as
// many as it takes to see whether a difference is more than chance.
const topologySeeds = 5

func (o *simulateOptions) simulateTopology(
	ctx context.Context, c *comparison, std streams,
) (*topologyResult, error) {
	r, err := o.runVariants(ctx, c.topology, c.seed, std)
	if err != nil {
		return nil, err
	}
	return r, o.writeTopologyFiles(r)
}

// runVariants simulates a topology, and shows how far it is.
func (o *simulateOptions) runVariants(
	ctx context.Context, t *topologyComparison, seed *uint64, std streams,
) (*topologyResult, error) {
	seeds := o.seeds.value
	if !o.seeds.set {
		seeds = topologySeeds
	}
	terminal := isTerminal(std.err)
	bar := startProgress(ctx, std.err, terminal, t.calls(seeds))
	defer bar.stop()
	listen := bar.count
	if !terminal {
		listen = nil
	}
	return runTopology(ctx, t, o.firstSeed(seed), int(seeds), listen)
}

// firstSeed returns the seed of the flag, or else that of the scenario.
func (o *simulateOptions) firstSeed(scenario *uint64) uint64 {
	if scenario != nil && !o.seed.set {
		return *scenario
	}
	return o.seed.value
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

// run simulates. Every event of every simulated call goes to the listener too.
func (o *simulateOptions) run(
	ctx context.Context, c *comparison, listen func(ration.Event),
) (*result, error) {
	r := &result{scenario: c.scenario, configs: c.configs, seed: o.firstSeed(c.seed)}
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
