package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/cmd/ration/internal/drill"
)

// introduction says what is real, what is not, and what each number means.
func (o *drillOptions) introduction() string {
	d := o.drill()
	var b strings.Builder
	fmt.Fprintf(&b, "Drill of %s: %d phases of %s, %s user actions a second, evenly spaced.\n\n",
		short(o.lasts.value), len(drill.Phases()), latency(d.Each), count(d.Rate))
	b.WriteString("  client -> frontend (HTTP) -> backend (gRPC) -> database (HTTP)\n\n" +
		"Servers, connections and policies are real; only the trouble is made up.\n")
	const indent = 18
	for _, r := range o.terms() {
		fmt.Fprintf(&b, "  %-*s%s\n", indent-2, r[0], wrap(r[1], lineWidth-indent, indent))
	}
	b.WriteString("\n" + drillHeads())
	return b.String()
}

// terms are rows of a keyword and a sentence.
func (o *drillOptions) terms() (rows [][2]string) {
	n := o.attempts.value
	for _, t := range drill.Troubles() {
		rows = append(rows, [2]string{t.Name, o.troubleText(t)})
	}
	rows = append(rows,
		[2]string{"attempts", fmt.Sprintf("at most %d at each arrow, hence %d x %d x %d = %s at the "+
			"database for one action", n, n, n, n, count(int(cube(n))))})
	rows = append(rows, o.policyTerms()...)
	d := o.drill()
	a := d.Allowance()
	return append(rows,
		[2]string{"budgets", fmt.Sprintf("%s at each arrow, %s%% of successes + %s/s, in buckets "+
			"that start each phase full, with %s tokens", o.whose(), decimal(100*a.Fraction),
			decimal(a.MinimumPerSecond), decimal(a.Tokens()))},
		[2]string{"loop broken", "with budgets, and a server whose own retries are spent or refused " +
			"tells its caller not to retry"},
		[2]string{"amplification", "attempts that reached the database for each user action, the " +
			"burst left out"},
		[2]string{"burst", fmt.Sprintf("retries beyond what successes and time have earned in the "+
			"phase, at most %s at an arrow: only the tokens that a bucket starts with can have "+
			"funded them", decimal(a.Tokens()))},
		[2]string{"worst second", "attempts at the database in one second, for each user action that " +
			"begins in one, the burst included"},
		[2]string{"as simulated", "the same of the simulator, which is told the chain, the policies " +
			"and the trouble, and nothing of what the drill has seen"},
		[2]string{"latencies", "of whole user actions, failed ones too; a refusal comes after a pause " +
			"of 100ms"},
		[2]string{"nested", "calls of a server that can retry, made for a caller that can"},
		[2]string{"refused", "calls that were to be retried, and were not for want of a token"},
	)
}

// whose says whose budget it is.
func (o *drillOptions) whose() string {
	if o.shipped == nil {
		return "the default"
	}
	return "one of its own"
}

// policyTerms say under which policy the arrows retry.
func (o *drillOptions) policyTerms() [][2]string {
	if o.shipped == nil {
		return [][2]string{
			{"backoff", fmt.Sprintf("short, so that they fit into a phase: %s, x2, at most %s "+
				"whatever a server asks for", short(drill.BackoffBase), short(drill.BackoffMax))},
			{"off", "breakers and measured ceilings, so that what is seen is the budgets' doing"},
		}
	}
	p := resolved(*o.shipped)
	return [][2]string{
		{"policy", fmt.Sprintf("%s at each arrow; the deadline is %s, and in a drill at most %s",
			o.policy, limitText(p.Deadline), short(drill.Deadline))},
		{"timeout", fmt.Sprintf("%s for an attempt; measured ceiling %s", limitText(p.AttemptTimeout),
			ceilingText(p))},
		{"backoff", backoffText(p)},
		{"breaker", breakerText(p)},
	}
}

func (o *drillOptions) troubleText(t drill.Trouble) string {
	switch {
	case t.Late > 0 && o.shipped != nil:
		return fmt.Sprintf("the database takes %s to answer", short(t.Late))
	case t.Late > 0:
		return fmt.Sprintf("the database takes %s to answer, and an attempt at it times out after %s "+
			"(%s otherwise), at times before it arrives and is counted", short(t.Late),
			short(t.Timeout), short(ration.DefaultAttemptTimeout))
	case t.Failing < 1:
		return fmt.Sprintf("the database answers %s%% of attempts with 503, at random but the "+
			"same in each drill", decimal(100*t.Failing))
	}
	return "the database answers every attempt with 503"
}

// drillLine is what is printed as soon as a phase has ended.
func drillLine(r *drill.Result) string {
	return drillColumns(r.Name, count(r.Actions), count(bottom(r)), times(r.Amplification),
		percent(r.SuccessRate()))
}

// drillHeads stands above these lines.
func drillHeads() string {
	return drillColumns("", "actions", "at the database", "amplification", "succeeded")
}

func drillColumns(name, actions, attempts, amplification, succeeded string) string {
	line := fmt.Sprintf("%-27s%10s%17s%15s%11s", name, actions, attempts, amplification, succeeded)
	return line + "\n"
}

func bottom(r *drill.Result) int { return r.Tiers[len(r.Tiers)-1].Attempts }

// drillTables sets the ways to retry side by side, a table for each trouble.
func drillTables(results []*drill.Result) string {
	var b strings.Builder
	for group := range byTrouble(results) {
		fmt.Fprintf(&b, "\n%s", drillTable(group))
	}
	return b.String()
}

// byTrouble cuts the results into those of each trouble. If the drill was
// interrupted, the last has fewer.
func byTrouble(results []*drill.Result) func(yield func([]*drill.Result) bool) {
	return slices.Chunk(results, len(drill.Phases())/len(drill.Troubles()))
}

func drillTable(results []*drill.Result) *table {
	t := &table{}
	for _, r := range results {
		t.heads = append(t.heads, r.Budgets.Label())
	}
	add := func(label string, cell func(*drill.Result) string) {
		var cells []string
		for _, r := range results {
			cells = append(cells, cell(r))
		}
		t.add(label, cells...)
	}
	t.add(trouble(results[0]))
	add("user actions", func(r *drill.Result) string { return count(r.Actions) })
	addTiers(t, results, "attempts at", func(tier drill.Tier) int { return tier.Attempts })
	add("burst", func(r *drill.Result) string { return count(r.BurstRetries) })
	add("amplification", func(r *drill.Result) string { return times(r.Amplification) })
	add("  as simulated", func(r *drill.Result) string { return times(r.Simulated.Amplification) })
	add("worst second", func(r *drill.Result) string { return times(r.WorstSecond) })
	add("succeeded", func(r *drill.Result) string { return percent(r.SuccessRate()) })
	add("  as simulated", func(r *drill.Result) string { return percent(r.Simulated.Succeeded) })
	add("latency p50", func(r *drill.Result) string { return seconds(r.Latency.P50) })
	add("latency p99", func(r *drill.Result) string { return seconds(r.Latency.P99) })
	addTiers(t, results, "nested in", func(tier drill.Tier) int { return tier.NestedRetries })
	add("refused in client", func(r *drill.Result) string { return count(r.Client.Refusals) })
	addTiers(t, results, "refused in", func(tier drill.Tier) int { return tier.Refusals })
	return t
}

// addTiers adds a row for each tier. The database calls nobody, and so has nothing
// that it could be nested in or refused.
func addTiers(t *table, results []*drill.Result, label string, number func(drill.Tier) int) {
	for i, tier := range results[0].Tiers {
		if i == len(results[0].Tiers)-1 && label != "attempts at" {
			return
		}
		var cells []string
		for _, r := range results {
			cells = append(cells, count(number(r.Tiers[i])))
		}
		t.add(label+" "+tier.Name, cells...)
	}
}

// drillVerdict says what the numbers come to, in words that the numbers choose.
func (o *drillOptions) drillVerdict(results []*drill.Result) string {
	var b strings.Builder
	for group := range byTrouble(results) {
		first := group[0]
		text := fmt.Sprintf("In the %s, one user action becomes %.2f attempts at the database without "+
			"budgets, and %s of actions succeed.", trouble(first), first.Amplification,
			percent(first.SuccessRate()))
		for _, r := range group[1:] {
			text += " " + drillClause(first, r)
		}
		b.WriteString(wrap(text, lineWidth, 0) + "\n\n")
	}
	b.WriteString(wrap(o.allowance(), lineWidth, 0) + "\n\n")
	b.WriteString(wrap(modelVerdict(results), lineWidth, 0) + "\n")
	return b.String()
}

// modelVerdict says how far the simulator is from what happened.
func modelVerdict(results []*drill.Result) string {
	var load, success float64
	for _, r := range results {
		load = max(load, math.Abs(r.Simulated.Amplification/r.Amplification-1))
		success = max(success, math.Abs(r.Simulated.Succeeded-r.SuccessRate()))
	}
	return fmt.Sprintf("The simulator, on the same chain, is off by %s of the amplification and by "+
		"%.2f points of success at most.", percent(load), 100*success)
}

// trouble returns the part of the name that the phases of a group share.
func trouble(r *drill.Result) string {
	name, _, _ := strings.Cut(r.Name, ",")
	return name
}

// drillClause compares by load and by success, as printed: a difference that the
// tables do not show is none.
func drillClause(first, r *drill.Result) string {
	text := "With budgets"
	if r.Budgets == drill.LoopBroken {
		text = "With the loop broken"
	}
	text += fmt.Sprintf(" it becomes %.2f", r.Amplification)
	if times(r.Amplification) == times(first.Amplification) {
		text += " as well"
	}
	rate, wasRate := percent(r.SuccessRate()), percent(first.SuccessRate())
	change := points(first.SuccessRate(), r.SuccessRate())
	switch {
	case rate == wasRate:
		return text + ", and as many succeed."
	case r.SuccessRate() < first.SuccessRate():
		return text + fmt.Sprintf(", at the price of %.2f points of success (%s).", change, rate)
	}
	return text + fmt.Sprintf(", and %.2f points more succeed (%s).", change, rate)
}

// allowance sets the result beside what budgets of this size can fund.
func (o *drillOptions) allowance() string {
	d := o.drill()
	a := d.Allowance()
	one := a.Fraction + a.MinimumPerSecond/float64(o.rate.value)
	if o.attempts.value == 1 {
		return "No hop retries, so there is nothing for a budget to hold back."
	}
	return fmt.Sprintf("At %d actions a second, a budget of %s%% + %s/s adds at most %.2f attempts "+
		"to an action, over time. Three of them add up, to %s. With the loop broken only the "+
		"hop that meets the trouble retries, and the most is %s at any depth.",
		o.rate.value, decimal(100*a.Fraction), decimal(a.MinimumPerSecond), one, times(1+3*one),
		times(1+one))
}
