package ration_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ration-go/ration"
)

// Three failures in a row open the breaker, and the next call is refused
// without an attempt.
func ExampleBreakerSettings() {
	executor := ration.MustNew(ration.Policy{
		Attempts: 1,
		Breaker:  &ration.BreakerSettings{ConsecutiveFailures: 3, Break: time.Minute},
	})
	down := ration.Transient(errors.New("connection refused"))
	attempts := 0
	for range 4 {
		err := executor.Run(context.Background(), func(context.Context) error {
			attempts++
			return down
		})
		fmt.Println(attempts, errors.Is(err, ration.ErrUnavailable))
	}
	// Output:
	// 1 false
	// 2 false
	// 3 false
	// 3 true
}

// A health endpoint shows the state without taking part in it.
func ExampleExecutor_Breaker() {
	executor := ration.MustNew(ration.Policy{Breaker: &ration.BreakerSettings{}})
	status := executor.Breaker(time.Now())
	fmt.Println(status.State, status.Break)
	// Output: closed 0s
}
