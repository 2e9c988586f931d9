package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/ration-go/ration/cmd/ration/internal/drill"
)

func TestDrillHelp(t *testing.T) {
	for _, args := range [][]string{{"help", "drill"}, {"drill", "-h"}, {"drill", "--rate", "5", "--help"}} {
		if out, err, code := console(t, "", args...); out != page("drill") || err != "" || code != 0 {
			t.Errorf("%q: %d, %q, %q", args, code, out, err)
		}
	}
}

// TestDrillUsage: arguments that cannot be used start no server.
func TestDrillUsage(t *testing.T) {
	const see = " (see ration drill -h)\n"
	tests := []struct{ args, want string }{
		{"--rte 5", "there is no flag --rte; did you mean --rate?" + see},
		{"now", "takes no argument, and got \"now\"\n"},
		{"--rate", "flag needs an argument: --rate" + see},
		{"--rate 0", "invalid value \"0\" for flag --rate: it is not a whole number from 1 to 1000" + see},
		{"--rate 1e3", "invalid value \"1e3\" for flag --rate: it is not a whole number from 1 to 1000" + see},
		{"--attempts 9", "invalid value \"9\" for flag --attempts: it is not a whole number from 1 to 8" + see},
		{"--for 10", "invalid value \"10\" for flag --for: " +
			"it is not a duration from 1s to 1h, such as 36s" + see},
		{"--for 999ms", "invalid value \"999ms\" for flag --for: " +
			"it is not a duration from 1s to 1h, such as 36s" + see},
		{"--for=-5s", "invalid value \"-5s\" for flag --for: " +
			"it is not a duration from 1s to 1h, such as 36s" + see},
		{"--for 61m", "invalid value \"61m\" for flag --for: " +
			"it is not a duration from 1s to 1h, such as 36s" + see},
		{"--rate 313", "--rate 313 with --attempts 4 is up to 20,032 attempts a second at the " +
			"database; at most 20,000 are allowed\n"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			args := append([]string{"drill"}, strings.Split(tt.args, " ")...)
			out, err, code := console(t, "", args...)
			if want := "ration drill: " + tt.want; out != "" || err != want || code != statusUnusable {
				t.Errorf("%d, %q\n got %q\nwant %q", code, out, err, want)
			}
		})
	}
}

// drillOutput is the object of drill --json, as somebody else would declare it.
type drillOutput struct {
	Interrupted bool
	Phases      []struct {
		Name, Budget       string
		Actions, Succeeded int
		Tiers              []struct {
			Name          string
			Attempts      int
			NestedRetries int `json:"nested_retries"`
			Refusals      int
			Retries       int
		}
		Client        struct{ Retries, Refusals int }
		BurstRetries  int     `json:"burst_retries"`
		Amplification float64 `json:"amplification"`
		WorstSecond   float64 `json:"amplification_worst_second"`
		Simulated     struct {
			SuccessRate   float64 `json:"success_rate"`
			Amplification float64
		}
	}
}

// drillJSON runs a drill to its end and reads what it prints.
func drillJSON(t *testing.T, args ...string) (out drillOutput) {
	t.Helper()
	text, errs, code := console(t, "", append([]string{"drill", "--json"}, args...)...)
	if errs != "" || code != 0 {
		t.Fatalf("%d, %s", code, errs)
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDrillJSON(t *testing.T) {
	out := drillJSON(t, "--for", "1s", "--rate", "40", "--attempts", "2")
	budgets := []string{"off", "on", "loop-broken"}
	if len(out.Phases) != 9 || out.Interrupted {
		t.Fatalf("%d phases, interrupted: %t", len(out.Phases), out.Interrupted)
	}
	for i, p := range out.Phases {
		var tiers []string
		for _, tier := range p.Tiers {
			tiers = append(tiers, tier.Name)
		}
		if p.Budget != budgets[i%3] || p.Actions != 4 || strings.Join(tiers, " ") != "frontend backend database" {
			t.Errorf("%+v", p)
		}
		if p.Amplification < 1 || p.WorstSecond < p.Amplification {
			t.Errorf("%s: amplification %v, worst second %v", p.Name, p.Amplification, p.WorstSecond)
		}
	}
	if first := out.Phases[0]; first.Amplification != 8 {
		t.Errorf("two attempts at three hops come to %v", first.Amplification)
	}
}

// A watcher is an output that calls once a text has been written to it.
type watcher struct {
	written strings.Builder
	text    string
	call    func()
}

func (w *watcher) Write(p []byte) (int, error) {
	w.written.Write(p)
	if strings.Contains(w.String(), w.text) {
		w.call()
	}
	return len(p), nil
}

func (w *watcher) String() string { return w.written.String() }

// TestDrillInterrupt: what is over is printed, and said to be a part.
func TestDrillInterrupt(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	var errs bytes.Buffer
	out := watcher{text: "\noutage, budgets ", call: interrupt}
	args := []string{"drill", "--for", "1s", "--rate", "40", "--attempts", "2"}
	code := run(ctx, args, nil, &out, &errs)
	if code != statusInterrupted || errs.String() != "ration drill: interrupted\n" {
		t.Errorf("%d, %q", code, &errs)
	}
	for _, want := range []string{
		"no budgets   budgets\noutage\nuser actions", "\nInterrupted after 2 of 9 phases.",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "becomes") {
		t.Errorf("a verdict on a part:\n%s", &out)
	}

	var object bytes.Buffer
	errs.Reset()
	code = run(ctx, append(args, "--json"), nil, &object, &errs)
	var got drillOutput
	if err := json.Unmarshal(object.Bytes(), &got); err != nil || code != statusInterrupted ||
		!got.Interrupted || got.Phases == nil || len(got.Phases) != 0 {
		t.Errorf("%d, %v, %s", code, err, &object)
	}
}

// drilled is what a phase could have come to.
func drilled(p drill.Phase, attempts, succeeded int) *drill.Result {
	return &drill.Result{
		Name: p.Name(), Budgets: p.Budgets, Actions: 1000, Succeeded: succeeded,
		Amplification: float64(attempts) / 1000, WorstSecond: 1,
		Simulated: drill.Model{
			Succeeded: float64(succeeded)/1000 + 0.01, Amplification: float64(attempts) / 1020,
		},
		Tiers: []drill.Tier{{Name: "frontend"}, {Name: "backend"}, {Name: "database", Attempts: attempts}},
	}
}

// TestDrillVerdict: the words follow the numbers.
func TestDrillVerdict(t *testing.T) {
	var results []*drill.Result
	numbers := [][2]int{
		{64_000, 0}, {1100, 0}, {1030, 1},
		{1430, 1000}, {1360, 992}, {1120, 844},
		{1000, 500}, {1001, 500}, {1100, 600},
	}
	for i, p := range drill.Phases() {
		results = append(results, drilled(p, numbers[i][0], numbers[i][1]))
	}
	o, err := drillFlags(nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = `In the outage, one user action becomes 64.00 attempts at the database without
budgets, and 0.00% of actions succeed. With budgets it becomes 1.10, and as many
succeed. With the loop broken it becomes 1.03, and 0.10 points more succeed
(0.10%).

In the partial outage, one user action becomes 1.43 attempts at the database
without budgets, and 100.00% of actions succeed. With budgets it becomes 1.36,
at the price of 0.80 points of success (99.20%). With the loop broken it becomes
1.12, at the price of 15.60 points of success (84.40%).

In the brownout, one user action becomes 1.00 attempts at the database without
budgets, and 50.00% of actions succeed. With budgets it becomes 1.00 as well,
and as many succeed. With the loop broken it becomes 1.10, and 10.00 points more
succeed (60.00%).

At 100 actions a second, a budget of 10% + 3/s adds at most 0.13 attempts to an
action, over time. Three of them add up, to 1.39x. With the loop broken only the
hop that meets the trouble retries, and the most is 1.13x at any depth.

The simulator, on the same chain, is off by 1.96% of the amplification and by
1.00 points of success at most.
`
	if got := o.drillVerdict(results); got != want {
		t.Error(firstDifference(strings.Split(want, "\n"), strings.Split(got, "\n")))
	}
	for line := range strings.Lines(o.introduction() + drillTables(results) + drillLine(results[5])) {
		if width(strings.TrimSuffix(line, "\n")) > lineWidth {
			t.Errorf("too wide: %q", line)
		}
	}
}

// TestDrillInFull holds a whole drill to its numbers, and the simulator to the drill:
// without budgets three hops of
// four attempts multiply, with them they add a tenth and the floor each, and with
// the loop broken one of them does. It takes its time, and so it is asked for.
func TestDrillInFull(t *testing.T) {
	if os.Getenv("RATION_DRILL") != "full" {
		t.Skip("takes most of a minute; RATION_DRILL=full runs it")
	}
	for _, p := range drillJSON(t).Phases {
		t.Logf("%-27s %6d attempts for %d actions, %d succeeded, burst %d: %.3f, worst second %.3f, simulated %.3f, %.4f",
			p.Name, p.Tiers[2].Attempts, p.Actions, p.Succeeded, p.BurstRetries, p.Amplification,
			p.WorstSecond, p.Simulated.Amplification, p.Simulated.SuccessRate)
		outage := strings.HasPrefix(p.Name, "outage")
		partial := strings.HasPrefix(p.Name, "partial outage")
		switch {
		case math.Abs(p.Simulated.Amplification/p.Amplification-1) > 0.12:
			t.Errorf("%s: the simulator has %v", p.Name, p.Simulated.Amplification)
		case math.Abs(p.Simulated.SuccessRate-float64(p.Succeeded)/float64(p.Actions)) > 0.1:
			t.Errorf("%s: the simulator has a success rate of %v", p.Name, p.Simulated.SuccessRate)
		case p.Actions < 400:
			t.Errorf("%s: only %d actions", p.Name, p.Actions)
		case p.Budget == "off" && outage && p.Amplification < 60:
			t.Errorf("%s: %v, want at least 60", p.Name, p.Amplification)
		case p.Budget != "off" && p.Amplification > 1.42:
			t.Errorf("%s: %v, want at most 1.42", p.Name, p.Amplification)
		case p.Budget == "loop-broken" && partial && p.Amplification > 1.15:
			t.Errorf("%s: %v, want at most 1.15", p.Name, p.Amplification)
		}
	}
}
