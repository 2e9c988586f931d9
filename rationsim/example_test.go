package rationsim_test

import (
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
