package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationsim"
)

// text returns the result for people: what was assumed, the numbers, and what they
// come to.
func (r *result) text() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "Scenario %s, %s.\n\n", r.scenario.Name, seedText(r.seed, r.seeds()))
	b.WriteString("The policies are real: the code that ships decides, on a simulated clock. The\n" +
		"rest is a model, and nothing here is a real network.\n")
	const indent = 16
	for _, a := range r.assumptions() {
		fmt.Fprintf(&b, "  %-*s%s\n", indent-2, a[0], wrap(a[1], lineWidth-indent, indent))
	}
	t := r.settingsTable()
	if r.seeds() == 1 {
		r.addNumbers(t)
		fmt.Fprintf(&b, "\n%s", t)
	} else {
		fmt.Fprintf(&b, "\n%s\n%s", t, r.bandsTable())
	}
	fmt.Fprintf(&b, "\n%s\n", wrap(r.verdict(), lineWidth, 0))
	return []byte(b.String())
}

func (r *result) runs() (reports []*rationsim.Report) {
	for _, b := range r.bands {
		reports = append(reports, b.Reports[0])
	}
	return reports
}

// settingsTable begins a table with what the policies are.
func (r *result) settingsTable() *table {
	t := &table{}
	var policies []ration.Policy
	for _, c := range r.configs {
		t.heads = append(t.heads, c.Name)
		policies = append(policies, resolved(c.Policy))
	}
	add := func(label string, cell func(ration.Policy) string) {
		var cells []string
		for _, p := range policies {
			cells = append(cells, cell(p))
		}
		t.add(label, cells...)
	}
	add("attempts at most", func(p ration.Policy) string { return count(p.Attempts) })
	add("deadline", func(p ration.Policy) string { return limitText(p.Deadline) })
	add("attempt timeout", func(p ration.Policy) string { return limitText(p.AttemptTimeout) })
	add("measured ceiling", ceilingText)
	add("backoff", backoffText)
	add("budget", budgetText)
	add("breaker", breakerText)
	return t
}

// addNumbers adds what came of a single seed.
func (r *result) addNumbers(t *table) {
	t.add("")
	r.addCounts(t)
	r.addQuotients(t)
	if slices.ContainsFunc(r.configs, func(c rationsim.Config) bool { return hasBreaker(c.Policy) }) {
		r.add(t, "breaker opened", func(i int, run *rationsim.Report) string {
			if !hasBreaker(r.configs[i].Policy) {
				return noNumber
			}
			return count(run.BreakerOpens)
		})
	}
	if r.troubled() {
		r.add(t, "recovered after", func(_ int, run *rationsim.Report) string {
			if !run.Recovered {
				return "not in time"
			}
			return latency(run.TimeToRecover)
		})
	}
}

// add adds a row with a cell for each policy.
func (r *result) add(t *table, label string, cell func(i int, run *rationsim.Report) string) {
	var cells []string
	for i, run := range r.runs() {
		cells = append(cells, cell(i, run))
	}
	t.add(label, cells...)
}

func (r *result) addCounts(t *table) {
	add := func(label string, number func(*rationsim.Report) int) {
		r.add(t, label, func(_ int, run *rationsim.Report) string { return count(number(run)) })
	}
	add("calls", func(run *rationsim.Report) int { return run.Calls })
	add("succeeded", func(run *rationsim.Report) int { return run.Succeeded })
	add("failed", func(run *rationsim.Report) int { return run.Failed })
	for _, why := range failureReasons {
		number := func(run *rationsim.Report) int { return run.Stops[why] }
		if slices.ContainsFunc(r.runs(), func(run *rationsim.Report) bool { return number(run) > 0 }) {
			add("  "+strings.ReplaceAll(why.String(), "_", " "), number)
		}
	}
	add("attempts", func(run *rationsim.Report) int { return run.Attempts })
}

// addQuotients adds what does not exist without calls.
func (r *result) addQuotients(t *table) {
	add := func(label string, cell func(*rationsim.Report) string) {
		r.add(t, label, func(_ int, run *rationsim.Report) string {
			if run.Calls == 0 {
				return noNumber
			}
			return cell(run)
		})
	}
	add("availability", func(run *rationsim.Report) string { return percent(run.Availability) })
	add("attempts per call", func(run *rationsim.Report) string { return times(run.LoadMultiplier) })
	add("worst second", func(run *rationsim.Report) string { return times(run.Amplification) })
	add("latency p50", func(run *rationsim.Report) string { return latency(run.Latency.P50) })
	add("latency p90", func(run *rationsim.Report) string { return latency(run.Latency.P90) })
	add("latency p99", func(run *rationsim.Report) string { return latency(run.Latency.P99) })
	add("latency max", func(run *rationsim.Report) string { return latency(run.Latency.Max) })
}

// failureReasons are those for which a simulated call can fail.
var failureReasons = []ration.StopReason{
	ration.StopPermanent,
	ration.StopAttemptsExhausted,
	ration.StopDeadlineExceeded,
	ration.StopBudgetExhausted,
	ration.StopUnavailable,
}

// noNumber stands where there is nothing that a number could be about.
const noNumber = "-"

// bandsTable has the headline numbers over all seeds, and whether they tell each
// policy from the first.
func (r *result) bandsTable() *table {
	t := &table{heads: []string{"min", "median", "max"}}
	first := r.bands[0]
	if len(r.bands) > 1 {
		t.heads = append(t.heads, "against "+first.Name)
	}
	for _, q := range quantities {
		if q.key == "time_to_recover_s" && !r.troubled() {
			continue
		}
		t.add(q.label)
		for i, b := range r.bands {
			cells := []string{noNumber, noNumber, noNumber}
			band, ok := q.of(b)
			if ok {
				cells = []string{q.format(band.Min), q.format(band.Median), q.format(band.Max)}
			}
			switch _, both := q.of(first); {
			case i == 0:
			case !ok || !both:
				cells = append(cells, noNumber)
			case q.separates(first, b):
				cells = append(cells, "apart")
			default:
				cells = append(cells, "overlaps")
			}
			t.add("  "+b.Name, cells...)
		}
	}
	return t
}

// troubled reports whether there is something to recover from.
func (r *result) troubled() bool {
	return len(r.scenario.Dependency.Brownouts)+len(r.scenario.Dependency.Outages) > 0
}
