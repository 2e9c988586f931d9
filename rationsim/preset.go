package rationsim

import (
	"maps"
	"slices"
	"time"

	"github.com/ration-go/ration"
)

// presets are functions so that no two callers share a slice.
var presets = map[string]func() (Scenario, []Config){
	"trade":      trade,
	"outage":     outage,
	"partial":    partial,
	"saturation": saturation,
}

// Preset returns a scenario that comes with the package and the policies to
// compare on it, the one without a budget first, and whether there is one of
// that name. "trade" is the one to begin with. The result is the caller's own.
func Preset(name string) (s Scenario, configs []Config, ok bool) {
	preset, ok := presets[name]
	if !ok {
		return Scenario{}, nil, false
	}
	s, configs = preset()
	s.Name = name
	return s, configs, true
}

// PresetNames returns the names of the presets, sorted.
func PresetNames() []string { return slices.Sorted(maps.Keys(presets)) }

// tradeTimeout makes the storm that "trade" is about: attempts that are given up
// after it send a dependency which is eight times slower about 2.1 times its
// load when nothing bounds retries. It cuts off 3 % of healthy attempts.
const tradeTimeout = 120 * time.Millisecond

// trade prices a budget: a dependency that is slow for a minute, and clients
// whose timeout has not heard of it.
func trade() (Scenario, []Config) {
	return Scenario{
		Duration: 5 * time.Minute,
		Rate:     500,
		Dependency: Dependency{
			Latency:   usual,
			Brownouts: []Brownout{{From: 30 * time.Second, For: time.Minute, Slower: 8}},
		},
	}, append(comparison(fixed(tradeTimeout)), Config{Name: "default policy"})
}

// outage is down for half a minute. Retries gain nothing, and a breaker sees it.
func outage() (Scenario, []Config) {
	return Scenario{
			Duration: 2 * time.Minute,
			Rate:     500,
			Dependency: Dependency{
				Latency: usual,
				Outages: []Outage{{From: 30 * time.Second, For: 30 * time.Second}},
			},
		}, append(comparison(ration.Policy{}), Config{
			Name:   "budget and breaker",
			Policy: ration.Policy{Breaker: &ration.BreakerSettings{}},
		})
}

// partial fails three attempts in ten, for ever. It is the case against a
// budget: each retry would probably succeed, and the dependency could bear it.
func partial() (Scenario, []Config) {
	return Scenario{
		Duration:   2 * time.Minute,
		Rate:       500,
		Dependency: Dependency{Latency: usual, FailureRate: 0.3},
	}, comparison(ration.Policy{})
}

// saturation slows a dependency until its queue fills. Work that was given up is
// done all the same, so that retries take the place of calls.
func saturation() (Scenario, []Config) {
	return Scenario{
		Duration: 3 * time.Minute,
		Rate:     500,
		Dependency: Dependency{
			Latency:     Latency{P50: 20 * time.Millisecond, P99: 60 * time.Millisecond},
			Brownouts:   []Brownout{{From: 30 * time.Second, For: 20 * time.Second, Slower: 3}},
			Concurrency: 20,
			Queue:       400,
		},
	}, append(comparison(fixed(500*time.Millisecond)), Config{Name: "default policy"})
}

// usual is the latency of a healthy service.
var usual = Latency{P50: 20 * time.Millisecond, P99: 200 * time.Millisecond}

// fixed is a policy of three attempts with a fixed attempt timeout, as most
// services have it, and nothing else that would hold a storm back.
func fixed(timeout time.Duration) ration.Policy {
	return ration.Policy{AttemptTimeout: timeout, Ceiling: ration.NoCeiling}
}

// comparison is p without a budget and with the automatic one.
func comparison(p ration.Policy) []Config {
	without := p
	without.Budget = ration.NoBudget
	return []Config{{Name: "no budget", Policy: without}, {Name: "budget", Policy: p}}
}
