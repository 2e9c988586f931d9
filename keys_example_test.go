package ration_test

import (
	"fmt"
	"time"

	"github.com/ration-go/ration"
)

// Each key has a budget, a breaker and estimates of its own, so that one shard
// that fails does not use up what the others need.
func ExampleExecutor_For() {
	executor := ration.MustNew(ration.Policy{Name: "shards"})
	now := time.Now()
	for executor.For("shard-7").Budget().Withdraw(now, ration.Critical) {
	}
	for _, key := range []string{"shard-7", "shard-8"} {
		fmt.Println(key, executor.For(key).Budget().UtilizationAt(now))
	}
	// Output:
	// shard-7 1
	// shard-8 0
}
