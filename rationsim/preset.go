package rationsim

import (
	"maps"
	"slices"
	"time"

	"github.com/ration-go/ration"
)

// tradeTimeout is the attempt timeout of the preset "trade". The storm that it
// makes is the one the preset is about: with it, a dependency that is eight
// times slower sees about 2.1 times its load when nothing bounds retries.
const tradeTimeout = 120 * time.Millisecond

// fixed is a policy of three attempts with a fixed attempt timeout, as most
// services have it, and nothing else that would hold a storm back.
func fixed(timeout time.Duration) ration.Policy {
	return ration.Policy{AttemptTimeout: timeout, Ceiling: ration.NoCeiling}
}

func withBudget(p ration.Policy, b *ration.Budget) ration.Policy {
	p.Budget = b
	return p
}

type preset struct {
	scenario Scenario
	configs  []Config
}

// comparison is a policy without a budget, the same with one, and the default.
func comparison(p ration.Policy) []Config {
	return []Config{
		{Name: "no budget", Policy: withBudget(p, ration.NoBudget)},
		{Name: "budget", Policy: p},
		{Name: "default policy"},
	}
}

var presets = map[string]preset{
	"trade": {
		scenario: Scenario{
			Name:     "trade",
			Duration: 5 * time.Minute,
			Rate:     500,
			Dependency: Dependency{
				Latency:   Latency{P50: 20 * time.Millisecond, P99: 200 * time.Millisecond},
				Brownouts: []Brownout{{From: 30 * time.Second, For: time.Minute, Slower: 8}},
			},
		},
		configs: comparison(fixed(tradeTimeout)),
	},
	"outage": {
		scenario: Scenario{
			Name:     "outage",
			Duration: 2 * time.Minute,
			Rate:     500,
			Dependency: Dependency{
				Latency: Latency{P50: 20 * time.Millisecond, P99: 200 * time.Millisecond},
				Outages: []Outage{{From: 30 * time.Second, For: 30 * time.Second}},
			},
		},
		configs: comparison(ration.Policy{}),
	},
	"partial": {
		scenario: Scenario{
			Name:     "partial",
			Duration: 2 * time.Minute,
			Rate:     500,
			Dependency: Dependency{
				Latency:     Latency{P50: 20 * time.Millisecond, P99: 200 * time.Millisecond},
				FailureRate: 0.3,
			},
		},
		configs: comparison(ration.Policy{}),
	},
	"saturation": {
		scenario: Scenario{
			Name:     "saturation",
			Duration: 3 * time.Minute,
			Rate:     500,
			Dependency: Dependency{
				Latency:     Latency{P50: 20 * time.Millisecond, P99: 60 * time.Millisecond},
				Brownouts:   []Brownout{{From: 30 * time.Second, For: 20 * time.Second, Slower: 3}},
				Concurrency: 20,
				Queue:       400,
			},
		},
		configs: comparison(fixed(500 * time.Millisecond)),
	},
}

// Preset returns a scenario that comes with the package and the policies to
// compare on it, the one without a budget first, and whether there is one of
// that name. "trade" is the one to begin with.
func Preset(name string) (s Scenario, configs []Config, ok bool) {
	p, ok := presets[name]
	return p.scenario, slices.Clone(p.configs), ok
}

// PresetNames returns the names of the presets, sorted.
func PresetNames() []string { return slices.Sorted(maps.Keys(presets)) }
