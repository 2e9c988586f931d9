package rationsim_test

import (
	"context"
	"fmt"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationsim"
)

// What would a bad minute do to a dependency, with and without a budget?
func Example() {
	scenario := rationsim.Scenario{
		Duration: 5 * time.Minute,
		Rate:     500,
		Dependency: rationsim.Dependency{
			Latency:   rationsim.Latency{P50: 20 * time.Millisecond, P99: 200 * time.Millisecond},
			Brownouts: []rationsim.Brownout{{From: 30 * time.Second, For: time.Minute, Slower: 8}},
		},
	}
	policy := ration.Policy{AttemptTimeout: 120 * time.Millisecond, Ceiling: ration.NoCeiling}
	without := policy
	without.Budget = ration.NoBudget

	for _, c := range []rationsim.Config{
		{Name: "without", Policy: without},
		{Name: "with", Policy: policy},
	} {
		report, err := rationsim.Run(scenario, c, 1)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%-8s worst second %.2fx, availability %.1f%%\n",
			report.Name, report.Amplification, 100*report.Availability)
	}
	// Output:
	// without  worst second 2.12x, availability 95.4%
	// with     worst second 1.11x, availability 88.1%
}

// One seed is one sample: a difference counts when the ranges do not overlap.
func ExampleRunSeeds() {
	scenario, configs, _ := rationsim.Preset("trade")
	scenario.Duration = 2 * time.Minute // the storm is over by then
	without, err := rationsim.RunSeeds(scenario, configs[0], 1, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	with, err := rationsim.RunSeeds(scenario, configs[1], 1, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rationsim.Separates(without.Amplification, with.Amplification))
	// Output: true
}

// What does a budget do to a partner that throttles? It spares the partner half of
// what it would get, and costs no more than the luck of a seed does.
func ExampleCompareSeeds() {
	_, variants, _ := rationsim.TopologyPreset("throttled")
	bands, err := rationsim.CompareSeeds(context.Background(), variants, 1, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	without, with := bands[0].Entries[0], bands[1].Entries[0]
	fmt.Println("worst second:", rationsim.Separates(without.Amplification, with.Amplification))
	fmt.Println("availability:", rationsim.Separates(without.Availability, with.Availability))
	// Output:
	// worst second: true
	// availability: false
}

// A topology is written down as services and who calls whom.
func ExampleRunTopology() {
	topology := rationsim.Topology{
		Duration: time.Minute,
		Entries: []rationsim.Entry{{
			Name: "users", To: "checkout", Load: rationsim.Load{Rate: 100},
		}},
		Services: []rationsim.Service{
			{
				Name: "checkout", Replicas: 5,
				Latency: rationsim.Latency{P50: 2 * time.Millisecond, P99: 10 * time.Millisecond},
				Calls:   []rationsim.Edge{{To: "payments"}},
			},
			{
				Name:        "payments",
				Latency:     rationsim.Latency{P50: 20 * time.Millisecond, P99: 90 * time.Millisecond},
				FailureRate: 0.05,
			},
		},
	}
	report, err := rationsim.RunTopology(context.Background(), topology, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("users: %.2f%% succeed\n", 100*report.Entries[0].Availability)
	for _, edge := range report.Edges {
		fmt.Printf("%s to %s: %.2f attempts per call, nested: %v\n",
			edge.From, edge.To, edge.LoadMultiplier, edge.Nested)
	}
	// Output:
	// users: 100.00% succeed
	// checkout to payments: 1.05 attempts per call, nested: true
}
