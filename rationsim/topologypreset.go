package rationsim

import (
	"maps"
	"slices"
	"time"

	"github.com/ration-go/ration"
)

// topologyPresets are functions so that no two callers share a slice. Each
// returns the topology without budgets first.
var topologyPresets = map[string]func() []Variant{
	"brownout":     brownoutPreset,
	"chain":        chainPreset,
	"fleet":        fleetPreset,
	"throttled":    throttledPreset,
	"bad-replica":  badReplicaPreset,
	"backfill":     backfillPreset,
	"cold-restart": coldRestartPreset,
	"metastable":   metastablePreset,
}

// TopologyPreset returns a topology that comes with the package, the variants of
// it to compare, the one without budgets first, and whether there is one of that
// name. Those of [Preset] are here too, as one client of one service each. The
// result is the caller's own.
func TopologyPreset(name string) (t Topology, variants []Variant, ok bool) {
	if preset, ok := topologyPresets[name]; ok {
		variants = preset()
	} else if s, configs, ok := Preset(name); ok {
		for _, c := range configs {
			variants = append(variants, Variant{c.Name, s.topology(c.Policy)})
		}
	} else {
		return Topology{}, nil, false
	}
	for i := range variants {
		variants[i].Topology.Name = name
	}
	return variants[0].Topology.Clone(), variants, true
}

// TopologyPresetNames returns the names of the presets, sorted.
func TopologyPresetNames() []string {
	names := append(PresetNames(), slices.Collect(maps.Keys(topologyPresets))...)
	slices.Sort(names)
	return names
}

// withBudget returns a copy of t with this budget everywhere.
func (t Topology) withBudget(b *ration.Budget) Topology {
	return t.WithPolicies(func(_, _ string, p ration.Policy) ration.Policy {
		p.Budget = b
		return p
	})
}

// budgets are t without budgets and with the automatic ones.
func budgets(t Topology) []Variant {
	return []Variant{
		{Name: "no budget", Topology: t.withBudget(ration.NoBudget)},
		{Name: "budget", Topology: t.withBudget(nil)},
	}
}

// quick is the latency of a service that does little itself.
var quick = Latency{P50: 2 * time.Millisecond, P99: 10 * time.Millisecond}

// brownoutPreset is a database that is eight times as slow for a minute, below
// pods and a gateway that both retry: the retries of one multiply those of the
// other, and the pods fill up with requests that wait.
func brownoutPreset() []Variant {
	t := Topology{
		Duration: 3 * time.Minute,
		Entries: []Entry{{
			Name: "gateway", To: "api", Clients: 4,
			Policy: fixed(time.Second), Load: Load{Rate: 400},
		}},
		Services: []Service{{
			Name: "api", Replicas: 10, Latency: quick, Concurrency: 64, Queue: 128,
			Calls: []Edge{{To: "database", Policy: fixed(tradeTimeout)}},
		}, {
			Name: "database", Latency: usual,
			Brownouts: []Brownout{{From: time.Minute, For: time.Minute, Slower: 8}},
		}},
	}
	broken := t.withBudget(nil).WithObedience()
	return append(budgets(t), Variant{Name: "budget, loop broken", Topology: broken})
}

// chainPreset is three services that call each other, each with retries, above
// one that fails for a while.
func chainPreset() []Variant {
	t := Chain(3, 0)
	t.Duration = 2 * time.Minute
	for i := range t.Entries {
		t.Entries[i].Load.Rate = 300
	}
	leaf := &t.Services[len(t.Services)-1]
	leaf.Failures = []Failing{{From: 30 * time.Second, For: 30 * time.Second, Rate: 0.5}}
	broken := t.withBudget(nil).WithObedience()
	return append(budgets(t), Variant{Name: "budget, loop broken", Topology: broken})
}

// Chain returns services that call each other in a row, "hop 1" and so on, to
// the given depth, below an entry of 500 calls a second for a minute: there are
// depth retrying hops above the bottom, which fails at the given rate.
//
// All have the default policy without its measured ceiling. That is tighter than
// the pause before a refusal, and so would have a caller give up and retry before
// it hears that the service below has given up.
func Chain(depth int, failureRate float64) Topology {
	p := ration.Policy{Ceiling: ration.NoCeiling}
	t := Topology{
		Name:     "chain",
		Duration: time.Minute,
		Entries:  []Entry{{Name: "users", To: hop(1), Policy: p, Load: Load{Rate: 500}}},
	}
	for i := 1; i <= depth; i++ {
		s := Service{Name: hop(i), Latency: quick}
		if i < depth {
			s.Calls = []Edge{{To: hop(i + 1), Policy: p}}
		} else {
			s.FailureRate = failureRate
		}
		t.Services = append(t.Services, s)
	}
	return t
}

// fleetPods is large enough for the floors to add up.
const fleetPods = 500

// fleetPreset is many pods with little traffic each and a database that is down
// // for a minute. Each floor of 3 retries a second is small; together they are more
// than half as much as the traffic again. Dividing the floor by the replicas mends
// that, and leaves a pod one retry to begin with and the next in minutes.
func fleetPreset() []Variant {
	t := Topology{
		Duration: 2 * time.Minute,
		Entries: []Entry{{
			Name: "pods", To: "database", Clients: fleetPods, Load: Load{Rate: 2500},
		}},
		Services: []Service{{
			Name: "database", Latency: usual,
			Outages: []Outage{{From: 30 * time.Second, For: time.Minute}},
		}},
	}
	floor := ration.DefaultBudgetMinimumPerSecond / float64(fleetPods)
	divided, err := ration.PrivateBudget(ration.DefaultBudgetFraction, floor)
	if err != nil {
		return budgets(t) // unreachable: both numbers are in range
	}
	return append(budgets(t), Variant{
		Name: "budget, floor divided", Topology: t.withBudget(divided),
	})
}

// throttledPreset is a service with a rate limit and callers whose traffic is
// above it for a while. Retries only take the place of calls.
func throttledPreset() []Variant {
	t := Topology{
		Duration: 3 * time.Minute,
		Entries: []Entry{{
			Name: "workers", To: "partner", Clients: 10,
			Load: Load{Shape: Spike(200, 2, time.Minute, time.Minute)},
		}},
		Services: []Service{{
			Name: "partner", Latency: usual,
			RateLimit: &RateLimit{PerSecond: 300, Burst: 300, RetryAfter: time.Second},
		}},
	}
	return budgets(t)
}

// badReplicaPreset is one of ten replicas that fails most of what it gets for two
// minutes. Here retries are right: another replica answers.
func badReplicaPreset() []Variant {
	t := Topology{
		Duration: 4 * time.Minute,
		Entries: []Entry{{
			Name: "pods", To: "service", Clients: 10, Load: Load{Rate: 400},
		}},
		Services: []Service{{
			Name: "service", Replicas: 10, Latency: usual,
			Bad: []BadReplica{{
				Replica: 3, From: time.Minute, For: 2 * time.Minute, FailureRate: 0.9,
			}},
		}},
	}
	single := t.WithPolicies(func(_, _ string, p ration.Policy) ration.Policy {
		p.Attempts = 1
		return p
	})
	return append(budgets(t), Variant{Name: "no retries", Topology: single})
}

// backfillPreset is a job that shares its client with requests that people wait
// for. The budget keeps half for the latter.
func backfillPreset() []Variant {
	t := Topology{
		Duration: 3 * time.Minute,
		Entries: []Entry{{
			Name: "service", To: "database", Clients: 2,
			Load: Load{Rate: 400, Sheddable: 0.8, CriticalPlus: 0.05},
		}},
		Services: []Service{{
			Name: "database", Latency: usual,
			Failures: []Failing{{From: time.Minute, For: time.Minute, Rate: 0.2}},
		}},
	}
	unlabelled := t.withBudget(nil)
	unlabelled.Entries[0].Load.Sheddable = 0
	return append(budgets(t), Variant{Name: "budget, unlabelled", Topology: unlabelled})
}

// coldRestartPreset is a cache that restarts empty, when it can do a little less
// than its load. It warms up by the work that it does, whoever waits for it.
// Without retries it soon keeps up; with them it must be warm enough for three
// times the load.
func coldRestartPreset() []Variant {
	t := Topology{
		Duration: 4 * time.Minute,
		Entries: []Entry{{
			Name: "pods", To: "cache", Clients: 10,
			Policy: fixed(200 * time.Millisecond), Load: Load{Rate: 1000},
		}},
		Services: []Service{{
			Name: "cache", Latency: Latency{P50: 10 * time.Millisecond, P99: 40 * time.Millisecond},
			Concurrency: 40, Queue: 600,
			Outages: []Outage{{From: time.Minute, For: 10 * time.Second}},
			Cold:    &Cold{Slower: 4, HalfLife: 30_000},
		}},
	}
	return budgets(t)
}

// metastablePreset is a database with room to spare that is slow for twenty
// seconds. Its queue fills; what waits in it is given up and sent again; and the
// work on what was given up keeps the queue full when the database is well again.
func metastablePreset() []Variant {
	t := Topology{
		Duration: 3 * time.Minute,
		Entries: []Entry{{
			Name: "gateway", To: "api", Clients: 2,
			Policy: fixed(2 * time.Second), Load: Load{Rate: 400},
		}},
		Services: []Service{{
			Name: "api", Replicas: 10, Latency: quick,
			Calls: []Edge{{To: "database", Policy: fixed(500 * time.Millisecond)}},
		}, {
			Name: "database", Latency: Latency{P50: 20 * time.Millisecond, P99: 60 * time.Millisecond},
			Concurrency: 15, Queue: 750,
			Brownouts: []Brownout{{From: 40 * time.Second, For: 20 * time.Second, Slower: 4}},
		}},
	}
	return budgets(t)
}
