package ration_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/ration-go/ration"
)

// A policy states what differs from the defaults. To vary one, copy it.
func ExamplePolicy() {
	reads := ration.Policy{Name: "reads", AttemptTimeout: 2 * time.Second}
	writes := reads
	writes.Name, writes.Attempts = "writes", 1

	for _, p := range []ration.Policy{reads, writes} {
		inForce := ration.MustNew(p).Policy()
		fmt.Println(inForce.Name, inForce.Attempts, inForce.AttemptTimeout, inForce.Deadline)
	}
	// Output:
	// reads 3 2s 30s
	// writes 1 2s 30s
}

func ExampleConfigError() {
	_, err := ration.New(ration.Policy{
		Name:     "payments",
		Attempts: -1,
		Backoff:  ration.Backoff{Factor: -2},
	})
	var config *ration.ConfigError
	if errors.As(err, &config) {
		for _, problem := range config.Problems {
			fmt.Println(problem)
		}
	}
	// Output:
	// Attempts -1 is negative; 0 means the default
	// Backoff.Factor -2 is not a finite number above 0; 0 means the default
}

// A ceiling follows what is normal; this one is looser than the default.
func ExampleCeiling() {
	executor := ration.MustNew(ration.Policy{Ceiling: &ration.Ceiling{Multiple: 5}})
	c := executor.Policy().Ceiling
	fmt.Printf("%g times the %g quantile, %v or more\n", c.Multiple, c.Quantile, c.Floor)
	// Output: 5 times the 0.95 quantile, 50ms or more
}

// New settings come into force in place: what the executor has learnt stays.
func ExampleExecutor_Update() {
	executor := ration.MustNew(ration.Policy{Name: "search"})
	p := executor.Policy()
	p.Attempts = 2
	if err := executor.Update(p); err != nil {
		fmt.Println(err)
	}
	fmt.Println(executor.Policy().Name, executor.Policy().Attempts)
	// Output: search 2
}
