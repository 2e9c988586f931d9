package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

// files writes files into a fresh directory, the working directory of the test.
func files(t *testing.T, texts map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range texts {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// ofPolicies are files for these tests.
func ofPolicies(t *testing.T) {
	t.Helper()
	services, err := os.ReadFile("testdata/manual/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files(t, map[string]string{
		"base.yaml": "budgets: {db: {fraction: 20%}}\npolicies:\n" +
			"  orders: {attempts: 4, attemptTimeout: 500ms, budget: {shared: db}}\n  single: {preset: none}\n",
		"more.yaml":     "policies: {orders: {attempts: 5, deadline: none}}",
		"layer.yaml":    "policies: {orders: {budget: {shared: db}}}", // not good alone
		"a,b.yaml":      "policies: {comma: {}}",
		"scenario.yaml": tiny,
		"services.yaml": string(services),
		"bad.yaml":      "policies:\n  p: {attempts: 0}\n  q: {deadline: 5}\n",
		"worse.yaml":    "duration: 1\nrate: -1\n",
	})
}

func TestCheck(t *testing.T) {
	ofPolicies(t)
	tests := []struct {
		args, out, err string
		code           int
	}{
		{"base.yaml", "base.yaml: 2 policies: orders, single\n", "", 0},
		{"base.yaml a,b.yaml scenario.yaml", "base.yaml: 2 policies: orders, single\na,b.yaml: 1 policy: comma\n" +
			"scenario.yaml: a scenario with 2 policies\n", "", 0},
		{"services.yaml", "services.yaml: a scenario with 3 services and 4 variants\n", "", 0},
		{"base.yaml,layer.yaml", "base.yaml,layer.yaml: 2 policies: orders, single\n", "", 0},
		{"layer.yaml", "", "layer.yaml:1: policies.orders.budget.shared: names \"db\", and the file has no budgets; " +
			"add it under budgets\n", 2},
		{"bad.yaml more.yaml worse.yaml none.yaml .", "more.yaml: 1 policy: orders\n", "bad.yaml:2: policies.p.attempts: 0 is not a whole number from 1\n" +
			"bad.yaml:3: policies.q.deadline: 5 is not a duration above 0, such as 250ms, or none\n" +
			"worse.yaml:1: duration: 1 is not a duration such as 250ms, above 0\n" +
			"worse.yaml:1: dependency.latency: is missing; say how fast it is, such as {p50: 20ms, p99: 200ms}\n" +
			"worse.yaml:2: rate: -1 is not a number above 0\n" +
			"none.yaml: does not exist\n.: is not a regular file; name one\n", 2},
		{"", "", "ration check: takes files, and got none (see ration check -h)\n", 2},
		{"-h", page("check"), "", 0},
	}
	for _, tt := range tests {
		out, err, code := console(t, "", append([]string{"check"}, strings.Fields(tt.args)...)...)
		if out != tt.out || err != tt.err || code != tt.code {
			t.Errorf("%s: %d\n%s%s", tt.args, code, out, err)
		}
	}
}

func TestExplain(t *testing.T) {
	ofPolicies(t)
	out, err, code := console(t, "", "explain", "base.yaml")
	if err != "" || code != 0 || strings.Count(out, "\npolicy ") != 1 || !strings.HasPrefix(out, "policy orders\n") {
		t.Errorf("%d, %s%s", code, out, err)
	}
	out, err, code = console(t, "", "explain", "base.yaml,more.yaml", "orders")
	for _, want := range []string{
		"policy orders\n",
		"  attempt 5        3.5s to 4s\n",
		"  binds first      the attempts\n",
		"  3                      1.60x            125x\n",
		"  8                      2.60x        390,625x\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in %s", want, out)
		}
	}
	if err != "" || code != 0 {
		t.Errorf("%d, %s", code, err)
	}
	for args, want := range map[string]string{
		"base.yaml ordres": "ration explain: base.yaml: unknown policy \"ordres\"; did you mean orders? There are orders, single\n",
		"none.yaml":        "none.yaml: does not exist\n",
		"bad.yaml": "bad.yaml:2: policies.p.attempts: 0 is not a whole number from 1\n" +
			"bad.yaml:3: policies.q.deadline: 5 is not a duration above 0, such as 250ms, or none\n",
		"":      "ration explain: takes FILE and, to see one policy of it, NAME (see ration explain -h)\n",
		"a b c": "ration explain: takes FILE and, to see one policy of it, NAME (see ration explain -h)\n",
	} {
		out, err, code := console(t, "", append([]string{"explain"}, strings.Fields(args)...)...)
		if out != "" || err != want || code != statusUnusable {
			t.Errorf("%s: %d, %q, %q", args, code, out, err)
		}
	}
}

// TestSimulatePolicy: what is simulated is what stands in the file.
func TestSimulatePolicy(t *testing.T) {
	ofPolicies(t)
	tests := []struct {
		args, heads string
	}{
		{"--policy base.yaml#orders", "no budget orders"},
		{"--policy base.yaml#single", "single"},
		{"--policy base.yaml", "orders single"},
		{"--policy base.yaml#orders --policy more.yaml#orders", "base.yaml#orders more.yaml#orders"},
		{"--policy base.yaml,more.yaml#orders --policy base.yaml#single", "orders single"},
	}
	for _, tt := range tests {
		args := append([]string{"simulate", "scenario.yaml"}, strings.Fields(tt.args)...)
		out, err, code := console(t, "", args...)
		before, _, _ := strings.Cut(out, "\nattempts at most")
		heads := before[strings.LastIndex(before, "\n")+1:]
		if got := strings.Join(strings.Fields(heads), " "); got != tt.heads || err != "" || code != 0 {
			t.Errorf("%s: %d, %q, %s", tt.args, code, got, err)
		}
	}
	out, _, _ := console(t, "", "simulate", "scenario.yaml", "--policy", "base.yaml,more.yaml#orders")
	for _, want := range []string{"attempts at most|5|5", "deadline|none|none", "attempt timeout|500ms|500ms", "budget|off|20% + 3/s"} {
		row := strings.Split(want, "|")
		if !strings.Contains(strings.Join(strings.Fields(out), " "), strings.Join(row, " ")) {
			t.Errorf("there is no %s in\n%s", row, out)
		}
	}
	for args, want := range map[string]string{
		"base.yaml#ordres": "ration simulate: base.yaml has no policy \"ordres\"; did you mean orders?\n",
		"none.yaml#x":      "none.yaml: does not exist\n",
		"base.yaml services.yaml": "ration simulate: --policy is for scenarios with one dependency, " +
			"and this has several services\n",
		"bad.yaml": "bad.yaml:2: policies.p.attempts: 0 is not a whole number from 1 (and 1 more)\n",
		"#x":       "ration simulate: invalid value \"#x\" for flag --policy: it is not FILE#NAME (see ration simulate -h)\n",
	} {
		out, err, code := console(t, "", append([]string{"simulate", "--policy"}, strings.Fields(args)...)...)
		if out != "" || err != want || code != statusUnusable {
			t.Errorf("%s: %d, %q, %q", args, code, out, err)
		}
	}
}

// TestDrillPolicy: what a drill runs under is what stands in the file.
func TestDrillPolicy(t *testing.T) {
	ofPolicies(t)
	o, err := drillFlags(strings.Fields("--policy base.yaml#orders --rate 50"))
	if err != nil {
		t.Fatal(err)
	}
	d := o.drill()
	if d.Attempts != 4 || d.Shipped == nil || d.Shipped.AttemptTimeout != 500*time.Millisecond || d.Allowance().Fraction != 0.2 {
		t.Errorf("%+v", d)
	}
	text := o.introduction() + o.allowance()
	for _, want := range []string{"4 x 4 x 4 = 64", "base.yaml#orders at each arrow", "500ms for an attempt", "3 x p95",
		"20% of successes + 3/s", "a budget of 20% + 3/s"} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	for args, want := range map[string]string{
		"base.yaml#orders --attempts 3": "takes --attempts or --policy, which has attempts of its own",
		"base.yaml":                     "--policy base.yaml has 2 policies; name one as FILE#NAME",
		"base.yaml#x":                   "base.yaml has no policy \"x\"; allowed are orders, single",
		"odd.yaml#many":                 "policy \"many\" makes 9 attempts, and a drill at most 8",
		"odd.yaml#unbounded":            "policy \"unbounded\" has no budget, and a drill shows what budgets do",
	} {
		if err := os.WriteFile("odd.yaml", []byte("policies: {many: {attempts: 9}, unbounded: {budget: {enabled: false}}}"), 0o666); err != nil {
			t.Fatal(err)
		}
		out, err, code := console(t, "", append([]string{"drill", "--policy"}, strings.Fields(args)...)...)
		if out != "" || err != "ration drill: "+want+"\n" || code != statusUnusable {
			t.Errorf("%s: %d, %q, %q", args, code, out, err)
		}
	}
}
