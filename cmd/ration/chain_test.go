package main

import (
	"strings"
	"testing"

	"github.com/ration-go/ration/rationsim"
)

// TestChainJSON: what --json promises of the table. The manual runs the table itself.
func TestChainJSON(t *testing.T) {
	r := &chainResult{seed: 7, rows: []rationsim.ChainRow{
		{Depth: 1, NoBudget: 3, Budget: 1.1, Broken: 1.09, BudgetAt: 0.1, BrokenAt: 0.12},
		{Depth: 2, NoBudget: 9, Budget: 1.2, Broken: 1.1, BudgetAt: 0.2, BrokenAt: 0.1},
	}}
	text, err := r.json()
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Scenario string `json:"scenario"`
		Question string `json:"question"`
		Seed     int    `json:"seed"`
		Depths   []struct {
			Depth    int     `json:"depth"`
			NoBudget float64 `json:"no_budget"`
			Budget   float64 `json:"budget"`
			BudgetAt float64 `json:"budget_failure_rate"`
			Broken   float64 `json:"loop_broken"`
			BrokenAt float64 `json:"loop_broken_failure_rate"`
		} `json:"depths"`
		Verdict string `json:"verdict"`
	}
	readBack(t, string(text), &c)
	if c.Seed != 7 || len(c.Depths) != 2 || c.Depths[1].NoBudget != 9 || c.Depths[0].BrokenAt != 0.12 {
		t.Errorf("got %+v", c)
	}
	const verdict = "At depth 2 each call becomes 9.00x attempts at the last service without budgets, 1.20x " +
		"with a budget in every caller, and 1.10x with the loop broken as well"
	if !strings.HasPrefix(c.Verdict, verdict) {
		t.Errorf("got %s", c.Verdict)
	}
}

// TestChainFlags: what has no part in the table is refused.
func TestChainFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--chain --seed 3 --json":         "",
		"--chain --seeds 3":               "--chain is a table of its own, and --seeds has no part in it",
		"--chain --rivals --preset trade": "--chain is a table of its own, and --preset has no part in it",
		"--chain a.yaml":                  "--chain is a table of its own, and takes no scenario",
	} {
		_, err := simulateFlags(strings.Fields(args))
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != want {
			t.Errorf("%s: %q, want %q", args, text, want)
		}
	}
}
