package ration_test

import (
	"fmt"
	"time"

	"github.com/ration-go/ration"
)

// A budget of its own numbers: one retry for five successes, and one each
// second when there is little traffic. It belongs beside the executor that uses
// it, not into a function that runs once a request.
func ExampleNewBudget() {
	budget, err := ration.NewBudget(0.2, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	executor := ration.MustNew(ration.Policy{Name: "search", Budget: budget})
	fmt.Println(executor.Budget().Capacity(), "retries at once")

	_, err = ration.NewBudget(0, 1)
	fmt.Println(err)
	// Output:
	// 10 retries at once
	// ration: budget fraction 0 is outside (0, 1]; to retry without a budget use NoBudget
}

// Two clients of one dependency, built far from each other, draw on one bucket.
func ExampleSharedBudget() {
	reads, _ := ration.SharedBudget("payments", 0.1, 3)
	writes, _ := ration.SharedBudget("payments", 0.1, 3)
	fmt.Println(reads == writes, reads.Name())
	// Output: true payments
}

// Work that is not a call, such as a message that is put back into its queue,
// can be charged by hand. Time is a parameter.
func ExampleBudget_Withdraw() {
	budget, _ := ration.NewBudget(0.1, 0)
	now := time.Now()
	fmt.Println("the first:", budget.Withdraw(now, ration.Critical))
	fmt.Println("the second:", budget.Withdraw(now, ration.Critical))
	for range 10 {
		budget.Deposit(now)
	}
	fmt.Println("after ten successes:", budget.Withdraw(now, ration.Critical))
	// Output:
	// the first: true
	// the second: false
	// after ten successes: true
}

func ExampleBudget_RetryAfter() {
	budget, _ := ration.NewBudget(0.1, 4)
	now := time.Now()
	for budget.Withdraw(now, ration.Critical) {
	}
	wait, known := budget.RetryAfter(now, ration.Critical)
	fmt.Println(wait, known)
	fmt.Println(budget.Withdraw(now.Add(wait), ration.Critical))

	// Nothing but successes fills a bucket without a floor.
	budget, _ = ration.NewBudget(0.1, 0)
	budget.Withdraw(now, ration.Critical)
	_, known = budget.RetryAfter(now, ration.Critical)
	fmt.Println(known)
	// Output:
	// 250ms true
	// true
	// false
}

// Half of the bucket is kept for the work that somebody waits for.
func ExampleBudget_UtilizationAt() {
	budget, _ := ration.NewBudget(0.1, 3)
	now := time.Now()
	for budget.Withdraw(now, ration.Sheddable) {
	}
	fmt.Println(budget.UtilizationAt(now))
	fmt.Println(budget.Withdraw(now, ration.Critical))
	// Output:
	// 0.5
	// true
}
