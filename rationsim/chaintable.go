package rationsim

import (
	"context"
	"fmt"
	"time"

	"github.com/ration-go/ration"
)

// hop names the i-th service of a chain.
func hop(i int) string { return fmt.Sprintf("hop %d", i) }

// A ChainRow says what the worst failure rate makes of retries in a chain of
// services: how many attempts reach the bottom for each call at the top, when
// every hop retries. It is a value.
type ChainRow struct {
	Depth int // retrying hops

	NoBudget float64 // without budgets: the attempts of a policy to the power of the depth
	Budget   float64 // each hop with its own budget
	Broken   float64 // and obeying those below that have given up

	BudgetAt float64 // the failure rate of the bottom at which Budget is worst
	BrokenAt float64 // and Broken
}

// chainRates are the failure rates among which the worst is looked for: about
// where a budget of a tenth begins to bind at one hop or another, and both ends.
var chainRates = []float64{
	0.05, 0.08, 0.1, 0.12, 0.16, 0.2, 0.25, 0.3, 0.34, 0.38, 0.42, 0.46, 0.5, 0.6, 0.8, 1,
}

// The load of each run. The floor and what it has banked add a thousandth or two
// to every hop; without a floor a bucket would hold one token, and lose most of
// what a success deposits while it is full.
const (
	chainRate  = 1000
	chainTime  = 6 * time.Second
	chainFloor = 1
)

// ChainTable returns a row for each depth up to the given one. It is about the
// policy of [Chain] with so low a floor to its budget that the fraction of
// traffic is what counts: what a floor adds depends on the traffic. The mean-field
// bound on Budget is about 1 + depth × fraction, and on Broken 1 + fraction. It
// runs on as many cores as there are, whose number makes no difference, for some
// ten seconds at depth 8.
func ChainTable(ctx context.Context, depth int, seed uint64) ([]ChainRow, error) {
	budget, err := ration.PrivateBudget(ration.DefaultBudgetFraction, chainFloor)
	if err != nil {
		return nil, err
	}
	const kinds = 2 // with budgets, and with the loop broken
	each := kinds*len(chainRates) + 1
	bottoms, err := inParallel(ctx, depth*each, func(ctx context.Context, i int) (float64, error) {
		// The deepest first: they take longest, and the cores end together.
		depth, k := depth-i/each, i%each
		if k == each-1 {
			return bottomLoad(ctx, fewCalls(Chain(depth, 1)).withBudget(ration.NoBudget), seed)
		}
		t := Chain(depth, chainRates[k/kinds]).withBudget(budget)
		t.Duration, t.Entries[0].Load.Rate = chainTime, chainRate
		if k%kinds == 1 {
			t = t.WithObedience()
		}
		return bottomLoad(ctx, t, seed)
	})
	if err != nil {
		return nil, err
	}
	rows := make([]ChainRow, depth)
	for i := range rows {
		row := &rows[i]
		row.Depth = i + 1
		loads := bottoms[(depth-row.Depth)*each:][:each]
		row.NoBudget = loads[each-1]
		for j, rate := range chainRates {
			if x := loads[j*kinds]; x > row.Budget {
				row.Budget, row.BudgetAt = x, rate
			}
			if x := loads[j*kinds+1]; x > row.Broken {
				row.Broken, row.BrokenAt = x, rate
			}
		}
	}
	return rows, nil
}

// fewCalls returns t with few calls: without budgets, at a failure rate of 1,
// each is as bad as any other, and at depth 8 is 6,561 attempts.
func fewCalls(t Topology) Topology {
	t.Duration = 5 * time.Second
	t.Entries[0].Load.Rate = 2
	return t
}

// bottomLoad returns the attempts at the last service per call at the entry.
func bottomLoad(ctx context.Context, t Topology, seed uint64) (float64, error) {
	r, err := RunTopology(ctx, t, seed)
	if err != nil {
		return 0, err
	}
	return r.Services[len(r.Services)-1].LoadMultiplier, nil
}
