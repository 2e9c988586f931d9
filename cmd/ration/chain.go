package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationsim"
)

// chainPreset is also the name of a preset, which has the chain of depth 3 in trouble.
const chainPreset = "chain"

// chainDepth is how many callers retry in the longest chain.
const chainDepth = 8

// A chainResult is a table of how retries multiply with depth.
type chainResult struct {
	seed uint64
	rows []rationsim.ChainRow
}

func simulateChain(ctx context.Context, seed uint64) (*chainResult, error) {
	rows, err := rationsim.ChainTable(ctx, chainDepth, seed)
	return &chainResult{seed, rows}, err
}

const chainQuestion = "How many attempts does the last service of a chain get for each call, " +
	"when every caller retries?"

func (r *chainResult) text() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "Scenario %s, seed %d.\n", chainPreset, r.seed)
	b.WriteString(wrap(chainQuestion, lineWidth, 0) + "\n\n")
	b.WriteString("The policies are real: the code that ships decides, on a simulated clock. The\n" +
		"rest is a model, and nothing here is a real network.\n")
	for _, a := range r.assumptions() {
		writeTerm(&b, a[0], a[1])
	}
	fmt.Fprintf(&b, "\n%s\n%s\n", r.table(), wrap(r.verdict(), lineWidth, 0))
	return []byte(b.String())
}

func (r *chainResult) assumptions() [][2]string {
	return [][2]string{
		{"chain", "users call a service, which calls the next, and so on; depth is how many callers " +
			"retry, and only the last service fails"},
		{"policies", "the default, without its measured ceiling"},
		{"budget", "a tenth of what succeeds, with the floor turned down until it hardly counts: a " +
			"floor adds to this, the more the fewer calls there are"},
		{"loop broken", "besides, a service whose retries were refused or spent says so, and its " +
			"caller does not retry (obeyGiveUp)"},
		{"worst case", "over failure rates from 5 to 100%; without budgets 100% is the worst, and for " +
			"the others the rate is in brackets"},
		{"formula", "3 attempts to the power of the depth; 1 + depth x 10%; 1 + 10%"},
	}
}

func (r *chainResult) table() *table {
	t := &table{heads: []string{"no budget", "formula", "budget", "formula", "loop broken", "formula"}}
	for _, row := range r.rows {
		t.add(fmt.Sprintf("depth %d", row.Depth),
			multiple(row.NoBudget), multiple(math.Pow(3, float64(row.Depth))),
			worstAt(row.Budget, row.BudgetAt), times(1+float64(row.Depth)*ration.DefaultBudgetFraction),
			worstAt(row.Broken, row.BrokenAt), times(1+ration.DefaultBudgetFraction))
	}
	t.gap = 2
	return t
}

func worstAt(x, rate float64) string {
	return fmt.Sprintf("%s (%s%%)", times(x), decimal(100*rate))
}

// multiple is times, for numbers that get large.
func multiple(x float64) string {
	if x < 100 {
		return times(x)
	}
	return fmt.Sprintf("%.0fx", x)
}

func (r *chainResult) verdict() string {
	last := r.rows[len(r.rows)-1]
	return fmt.Sprintf("At depth %d each call becomes %s attempts at the last service without "+
		"budgets, %s with a budget in every caller, and %s with the loop broken as well: retries "+
		"multiply without budgets, add up with them, and stay at one caller's share where the loop "+
		"is broken.", last.Depth, multiple(last.NoBudget), times(last.Budget), times(last.Broken))
}

func (r *chainResult) json() ([]byte, error) {
	var rows []object
	for _, row := range r.rows {
		rows = append(rows, object{
			{"depth", row.Depth},
			{"no_budget", row.NoBudget},
			{"budget", row.Budget}, {"budget_failure_rate", row.BudgetAt},
			{"loop_broken", row.Broken}, {"loop_broken_failure_rate", row.BrokenAt},
		})
	}
	return encode(object{
		{"scenario", chainPreset}, {"question", chainQuestion}, {"seed", r.seed}, {"depths", rows},
		{"verdict", r.verdict()},
	})
}
