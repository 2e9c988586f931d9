package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/failsafe-go/failsafe-go/budget"
	"github.com/ration-go/ration"
	"golang.org/x/time/rate"
)

// The bucket alone, told the time. x/time/rate has no deposit, as time alone fills
// it; the budget of failsafe-go counts what is in flight, and stands here with
// what it does for a success and for a retry.
var budgetGroup = group{"Budget", budgetRows()}

func budgetRows() []row {
	var rows []row
	for _, op := range []struct {
		name  string
		peers []peer
	}{
		{"deposit-full", []peer{
			{ours, depositFull, 0},
			{name: "aws", prepare: func(testing.TB) func(int) {
				b := ratelimit.NewTokenRateLimit(500)
				return repeat(func() { b.AddTokens(1) })
			}},
			{name: "failsafe-go", prepare: func(testing.TB) func(int) {
				b := budget.New().(failsafeBudget)
				return repeat(func() { b.RecordExecution(); b.ReleaseExecution() })
			}},
			floorOf(loadLoop),
		}},
		{"deposit-not-full", []peer{{ours, depositNotFull, 0}, floorOf(loadLoop)}},
		{"withdraw", []peer{
			{ours, withdraw, 0},
			{name: "x-time-rate", prepare: func(testing.TB) func(int) {
				l := rate.NewLimiter(1e9, 1e9)
				return func(n int) {
					now := time.Now()
					for range n {
						now = now.Add(10)
						l.AllowN(now, 1)
					}
				}
			}},
			{name: "aws", prepare: func(testing.TB) func(int) {
				b := ratelimit.NewTokenRateLimit(1 << 60)
				ctx := context.Background()
				return repeat(func() { b.GetToken(ctx, 1) })
			}},
			{name: "failsafe-go", prepare: func(testing.TB) func(int) {
				b := budget.NewBuilder().WithMaxRate(1).Build().(failsafeBudget)
				return repeat(func() {
					if b.TryAcquirePermit() {
						b.ReleasePermit()
					}
				})
			}},
			floorOf(loadLoop),
		}},
	} {
		for _, goroutines := range []int{1, 2, 8} {
			rows = append(rows, row{
				name:       fmt.Sprintf("%s,goroutines=%d", op.name, goroutines),
				goroutines: goroutines,
				peers:      op.peers,
			})
		}
	}
	return rows
}

func depositFull(tb testing.TB) func(int) {
	b := deepBudget(tb)
	return func(n int) {
		now := time.Now()
		for range n {
			b.Deposit(now)
		}
	}
}

// depositNotFull is the deposit of a bucket that retries keep from filling.
func depositNotFull(tb testing.TB) func(int) {
	b, err := ration.NewBudget(1e-9, 1e8)
	if err != nil {
		tb.Fatal(err)
	}
	now := time.Now()
	for range 1000 {
		b.Withdraw(now, ration.Critical)
	}
	return func(n int) {
		for range n {
			b.Deposit(now)
		}
	}
}

func withdraw(tb testing.TB) func(int) {
	b := deepBudget(tb)
	return func(n int) {
		now := time.Now()
		for range n {
			now = now.Add(10)
			b.Withdraw(now, ration.Critical)
		}
	}
}
