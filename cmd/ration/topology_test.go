package main

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationconfig/strict"
	"github.com/ration-go/ration/rationsim"
)

// TestTopology: what the keys come to.
func TestTopology(t *testing.T) {
	c, err := openScenario("testdata/topology.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	base := c.topology.base
	if base.Name != "every key" || base.Duration != 40*time.Second || *c.seed != 3 ||
		c.topology.question != "What happens to everything at once?" {
		t.Errorf("got %q, %v, %d, %q", base.Name, base.Duration, *c.seed, c.topology.question)
	}
	second := time.Second
	loads := []rationsim.Load{
		{Rate: 40, Burst: rationsim.Burst{Factor: 3, Share: 0.2, Length: 2 * second},
			Sheddable: 0.2, CriticalPlus: 0.05},
		{Shape: []rationsim.Point{{At: 0, Rate: 5}, {At: 20 * second, Rate: 15}},
			Burst: rationsim.BurstOf(12.5, 4, second), Sheddable: 1},
		{Shape: rationsim.Ramp(1, 4, 5*second, 10*second)},
		{Shape: rationsim.Spike(2, 5, 10*second, 5*second)},
		{Shape: rationsim.Daily(1, 5, 14*time.Hour)},
		{Users: 20, Think: 2 * second},
	}
	for i, want := range loads {
		if got := base.Entries[i].Load; !reflect.DeepEqual(got, want) {
			t.Errorf("load %d is %+v, want %+v", i, got, want)
		}
	}
	if n := len(base.Entries[6].Load.Trace); n != 60 {
		t.Errorf("the trace has %d arrivals", n)
	}
	web := rationsim.Service{
		Name: "web", Replicas: 4,
		Latency:     rationsim.Latency{P50: 3 * time.Millisecond, P99: 12 * time.Millisecond},
		Concurrency: 60, Queue: 30, Order: rationsim.LIFO, DropExpired: true, CancelsWork: true,
		KeepsDeadline: true, Parallel: true,
	}
	search := rationsim.Service{
		Name: "search", Replicas: 2, Latency: rationsim.Latency{Exponential: 15 * time.Millisecond},
		FailureRate: 0.01,
		RateLimit:   &rationsim.RateLimit{PerSecond: 50, Burst: 60, RetryAfter: second},
	}
	orders := rationsim.Service{
		Name: "orders", Replicas: 5,
		Latency: rationsim.Latency{Quantiles: []rationsim.Quantile{
			{Q: 0, Value: 2 * time.Millisecond}, {Q: 0.5, Value: 8 * time.Millisecond},
			{Q: 0.99, Value: 60 * time.Millisecond}, {Q: 1, Value: 200 * time.Millisecond},
		}},
		Brownouts: []rationsim.Brownout{{From: 10 * second, For: 5 * second, Slower: 4}},
		Outages:   []rationsim.Outage{{From: 20 * second, For: 3 * second}},
		Failures:  []rationsim.Failing{{From: 25 * second, For: 5 * second, Rate: 0.3}},
		Bad: []rationsim.BadReplica{{
			Replica: 4, From: 5 * second, For: 30 * second, Slower: 2, FailureRate: 0.1,
		}},
		Cold: &rationsim.Cold{Slower: 3, HalfLife: 100},
	}
	for i, want := range []rationsim.Service{web, search, orders} {
		got := base.Services[i]
		got.Calls = nil
		if !reflect.DeepEqual(got, want) {
			t.Errorf("service %d is %+v\nwant %+v", i, got, want)
		}
	}
}

// TestTopologyEdges: who decides on each edge.
func TestTopologyEdges(t *testing.T) {
	c, err := openScenario("testdata/topology.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	base := c.topology.base
	users, batch, partners, flash := base.Entries[0], base.Entries[1], base.Entries[2], base.Entries[3]
	if users.Clients != 3 || users.Policy.Attempts != 2 || !users.ObeyGiveUp || users.Limiter != nil {
		t.Errorf("users: %+v", users)
	}
	if batch.Policy.Name != "careful" || batch.Policy.Budget.Fraction() != 0.05 {
		t.Errorf("batch has the policy %q", batch.Policy.Name)
	}
	if partners.Limiter == nil || partners.Policy.Budget != ration.NoBudget {
		t.Error("partners have no limiter, or a budget beside it")
	}
	if flash.Limiter != nil || flash.Policy.Budget != nil {
		t.Error("limiter: ration is not the budget")
	}
	search, orders := base.Services[0].Calls[0], base.Services[0].Calls[1]
	if !search.Optional || search.To != "search" || search.Times != 0 || search.ObeyGiveUp {
		t.Errorf("web -> search: %+v", search)
	}
	if orders.Times != 2 || !orders.ObeyGiveUp || orders.Policy.Budget.Fraction() != 0.2 {
		t.Errorf("web -> orders: %+v", orders)
	}
}

// TestVariants: each changes what it names and leaves the rest, and the others, alone.
func TestVariants(t *testing.T) {
	c, err := openScenario("testdata/topology.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	variants := c.topology.variants
	for _, e := range edgesOf(variants[0].Topology) {
		if e.policy.Budget != ration.NoBudget || e.limiter {
			t.Errorf("no budget: %s has one, or a limiter", e.name())
		}
	}
	if n := variants[0].Topology.Entries[0].Policy.Attempts; n != 2 {
		t.Errorf("no budget: users make %d attempts", n)
	}
	as := variants[1].Topology
	if !reflect.DeepEqual(as.Services, c.topology.base.Services) {
		t.Error("a variant without changes is not the topology")
	}
	changed := variants[2].Topology
	users, web, orders := changed.Entries[0], changed.Services[0], changed.Services[2]
	if users.Clients != 1 || !reflect.DeepEqual(users.Load, rationsim.Load{Rate: 60}) ||
		users.Policy.Attempts != 2 {
		t.Errorf("changed: users %+v", users)
	}
	if orders.Replicas != 8 || orders.Bad != nil || len(orders.Brownouts) != 1 {
		t.Errorf("changed: orders %+v", orders)
	}
	if web.Calls[0].Limiter == nil || web.Calls[1].Limiter != nil || web.Calls[1].Times != 1 {
		t.Errorf("changed: calls %+v", web.Calls)
	}
	if changed.Entries[4].Limiter == nil || changed.Entries[0].Limiter != nil {
		t.Error("changed: an edge of an entry is not one")
	}
	const want = "entry users: clients 1, load.rate 60; service orders: replicas 8, bad none; " +
		"edge web -> orders: times 1; edge * -> search: limiter grpc"
	if got := c.topology.changes[2]; got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// twoTiers is a topology in order, to which tests add what is not. It has 7 lines.
const twoTiers = `duration: 1m
entries:
- {name: users, to: a, load: {rate: 5}}
services:
- {name: a, latency: {p50: 1ms, p99: 2ms}, calls: [{to: b}]}
- name: b
  latency: {p50: 1ms, p99: 2ms}
`

// TestDefaultVariants: without any, a topology is compared with itself without
// budgets, unless it has none.
func TestDefaultVariants(t *testing.T) {
	names := func(text string) (names []string) {
		c, err := readScenario("f.yaml", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range c.topology.variants {
			names = append(names, v.Name)
		}
		return names
	}
	if got := names(twoTiers); !slices.Equal(got, []string{"no budget", "as written"}) {
		t.Errorf("got %q", got)
	}
	bare := strings.ReplaceAll(twoTiers, "to: a,", "to: a, policy: {attempts: 1},")
	bare = strings.ReplaceAll(bare, "{to: b}", "{to: b, policy: {budget: {enabled: false}}}")
	if got := names(bare); !slices.Equal(got, []string{"as written"}) {
		t.Errorf("got %q", got)
	}
}

// TestTopologyJSONFile: the same topology in JSON is the same.
func TestTopologyJSONFile(t *testing.T) {
	const text = `{"duration": "1m",
"entries": [{"name": "users", "to": "a", "load": {"rate": 5}}],
"services": [{"name": "a", "latency": {"p50": "1ms", "p99": "2ms"}, "calls": [{"to": "b"}]},
{"name": "b", "latency": {"p50": "1ms", "p99": "2ms"}}]}`
	a, err := readScenario("f.json", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	b, err := readScenario("f.yaml", strings.NewReader(twoTiers))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("got %+v\nand %+v", a.topology, b.topology)
	}
}

// TestBadTopologies: every fault has its line, its key, and what is allowed instead.
func TestBadTopologies(t *testing.T) {
	entry := func(load string) string { return strings.Replace(twoTiers, "{rate: 5}", "{"+load+"}", 1) }
	call := func(keys string) string { return strings.Replace(twoTiers, "{to: b}", "{to: b, "+keys+"}", 1) }
	b := func(keys string) string { return twoTiers + "  " + keys + "\n" }
	set := func(change string) string {
		return twoTiers + "variants:\n- name: x\n  set:\n  - {" + change + "}\n"
	}
	const idle = "has no effect without a concurrency; add one or remove it"
	tests := []struct {
		name, text string
		want       []string // without the name of the file
	}{
		{"a question alone", "question: why", []string{
			"1: duration: is missing; say how long calls arrive, such as 5m",
			"1: entries: is missing; say where load comes in, such as [{name: users, to: api, load: {rate: 500}}]",
			"1: services: is missing; say what is called, such as [{name: api, latency: {p50: 20ms, p99: 200ms}}]"}},
		{"both forms", twoTiers + "rate: 5\npolicies: []\n", []string{
			"8: rate: stands beside entries and services, which say it in another way; remove it",
			"9: policies: stands beside entries and services, which say it in another way; remove it"}},
		{"nothing in them", "duration: 1m\nentries: [{}]\nservices: [{calls: [{}]}]", []string{
			"2: entries[0].to: is missing; say which service is called",
			"2: entries[0].load: is missing; say how calls arrive, such as {rate: 500}",
			"3: services[0].name: is missing; entries and calls refer to it",
			"3: services[0].latency: is missing; say how fast it is, such as {p50: 20ms, p99: 200ms}",
			"3: services[0].calls[0].to: is missing; say which service is called"}},
		{"unknown key", b("replica: 5"), []string{"8: services[1].replica: is no key here; did you mean replicas?"}},

		{"no such service", strings.Replace(twoTiers, "{to: b}", "{to: bb}, {to: users}", 1), []string{
			"5: services[0].calls[0].to: \"bb\" is no service; allowed are a, b",
			"5: services[0].calls[1].to: \"users\" is no service; allowed are a, b",
			"6: services[1]: \"b\" is not called, directly or by others, by any entry; call it or remove it"}},
		{"a cycle", b("calls: [{to: a}]"), []string{"8: services[1].calls[0].to: makes a cycle: a -> b -> a"}},
		{"itself", b("calls: [{to: b}]"), []string{"8: services[1].calls[0].to: makes a cycle: b -> b"}},
		{"two names", twoTiers + "- {name: a, latency: {exponential: 1ms}}\n", []string{
			`8: services[2].name: "a" is also that of services[0]; change one`}},
		{"an entry like a service", strings.Replace(twoTiers, "name: users", "name: a", 1), []string{
			`3: entries[0].name: "a" is also that of services[0]; change one`}},
		{"two entries without names", strings.Replace(twoTiers, "- {name: users, to: a, load: {rate: 5}}",
			"- {to: a, load: {rate: 5}}\n- {to: a, load: {rate: 5}}", 1), []string{
			"4: entries[1].name: is missing, and entries[0] has none either; give them names"}},
		{"a name like an edge", strings.Replace(twoTiers, "name: users", "name: a->b", 1), []string{
			`3: entries[0].name: "a->b" would not stand out in the name of an edge; choose another`}},
		{"escapes", "question: \"\\e[31m\"\n" + twoTiers, []string{"1: question: holds what cannot be printed"}},

		{"no load", entry("sheddable: 1"), []string{"3: entries[0].load: says not how calls arrive; give one of " +
			"rate, shape, ramp, spike, daily, users and trace"}},
		{"two loads", entry("rate: 5, users: 5, think: 1s"), []string{
			"3: entries[0].load.users: stands beside rate, and only one of them can say how calls arrive"}},
		{"users in a hurry", entry("users: 5"), []string{
			"3: entries[0].load.think: is missing; say how long a user waits before the next call, such as 2s"}},
		{"thinking alone", entry("rate: 5, think: 1s"), []string{
			"3: entries[0].load.think: has no effect without users; remove it"}},
		{"bursts of users", entry("users: 5, think: 1s, burst: {dispersion: 3, length: 1s}"), []string{
			"3: entries[0].load.burst: has no effect beside users; remove it"}},
		{"half a burst", entry("rate: 5, burst: {factor: 2}"), []string{
			"3: entries[0].load.burst.length: is missing; say how long a burst lasts on average, such as 2s",
			"3: entries[0].load.burst.share: is missing; say which share of the time is in bursts, such as 10%"}},
		{"two bursts", entry("rate: 5, burst: {factor: 2, dispersion: 3, length: 1s}"), []string{
			"3: entries[0].load.burst.dispersion: stands beside factor or share, and says the same as both; " +
				"remove it or them"}},
		{"too much burst", entry("rate: 5, burst: {factor: 20, share: 10%, length: 1s}"), []string{
			"3: entries[0].load.burst.factor: 20 for 0.1 of the time is more than the average allows; " +
				"factor times share is 1 at most"}},
		{"shares", entry("rate: 5, sheddable: 70%, criticalPlus: 40%"), []string{
			"3: entries[0].load.criticalPlus: and sheddable are more than 1 together"}},
		{"shape", entry("shape: [{at: 5s, rate: 1}, {at: 1s, rate: 1}, {}]"), []string{
			"3: entries[0].load.shape[2].at: is missing; say when, such as 30s",
			"3: entries[0].load.shape[2].rate: is missing; say how many calls a second there are then"}},
		{"shape out of order", entry("shape: [{at: 5s, rate: 1}, {at: 1s, rate: 1}]"), []string{
			"3: entries[0].load.shape[1].at: is before the point above it; sort them"}},
		{"no shape", entry("shape: []"), []string{
			"3: entries[0].load.shape: is an empty list; give it a point such as {at: 0s, rate: 500}"}},
		{"day", entry("daily: {low: 5, high: 1, peak: 2h}"), []string{"3: entries[0].load.daily.high: 1 is below low 5"}},
		{"trace", entry("trace: nowhere.txt"), []string{"3: entries[0].load.trace: nowhere.txt: does not exist"}},

		{"latencies", strings.Replace(twoTiers, "{p50: 1ms, p99: 2ms}", "{p50: 3ms, p99: 2ms}", 1), []string{
			"5: services[0].latency.p99: 2ms is below p50 3ms"}},
		{"half a latency", strings.Replace(twoTiers, "{p50: 1ms, p99: 2ms}", "{p50: 3ms}", 1), []string{
			"5: services[0].latency.p99: is missing; say how long 99 of 100 requests take at most; or give quantiles"}},
		{"two latencies", strings.Replace(twoTiers, "{p50: 1ms, p99: 2ms}", "{p50: 3ms, exponential: 2ms}", 1), []string{
			"5: services[0].latency.exponential: stands beside another form; keep one"}},
		{"quantiles", strings.Replace(twoTiers, "{p50: 1ms, p99: 2ms}",
			"{quantiles: [{q: 50%, value: 2ms}, {q: 40%, value: 3ms}]}", 1), []string{
			"5: services[0].latency.quantiles[1]: is below the point before it; both numbers must rise"}},
		{"queue alone", b("queue: 5\n  order: lifo\n  dropExpired: true"), []string{
			"8: services[1].queue: " + idle, "9: services[1].order: " + idle, "10: services[1].dropExpired: " + idle}},
		{"order", b("concurrency: 1\n  queue: 1\n  order: random"), []string{
			"10: services[1].order: random is not fifo or lifo"}},
		{"troubles", b("brownouts: [{from: 2m, for: 1s, slower: 2}]\n  failures: [{from: 1s, for: 1s}]"), []string{
			"9: services[1].failures[0].rate: is missing; say which share fails, such as 30%"}},
		{"late", b("bad: [{replica: 1, from: 2m}]"), []string{
			"8: services[1].bad[0].from: 2m is not before the end of the run at 1m",
			"8: services[1].bad[0].replica: 1 is none of the 1, which count from 0",
			"8: services[1].bad[0]: is no worse than the others; say how much slower it is, or its failureRate"}},
		{"cold for no reason", b("cold: {slower: 2, halfLife: 5}"), []string{
			"8: services[1].cold: has no effect without outages"}},
		{"too many calls", entry("rate: 1e9"), []string{
			"1: duration: 1m0s of this load is 120000000000 calls in all, more than 50000000"}},

		{"a policy", call("policy: {budget: {fraction: 2}}"), []string{
			"5: services[0].calls[0].policy.budget.fraction: 2 is not a share such as 0.1 or 10%, above 0 up to 1"}},
		{"what the core says", call("policy: {breaker: {break: 2s, maxBreak: 1s}}"), []string{
			"5: services[0].calls[0].policy.breaker.maxBreak: 1s is below break 2s"}},
		{"two policies", call("policy: {attempts: 1}, policyFile: p.yaml#a"), []string{
			"5: services[0].calls[0].policyFile: stands beside a policy; remove one of them"}},
		{"no reference", call("policyFile: p.yaml"), []string{
			"5: services[0].calls[0].policyFile: \"p.yaml\" is not FILE#NAME, a file of policies and the name of one"}},
		{"no file", call("policyFile: p.yaml#a"), []string{
			"5: services[0].calls[0].policyFile: p.yaml: does not exist"}},
		{"limiter", call("limiter: envoys"), []string{
			"5: services[0].calls[0].limiter: \"envoys\" is no limiter; did you mean envoy?"}},
		{"limiter and budget", call("limiter: envoy, policy: {budget: {fraction: 0.2}}"), []string{
			"5: services[0].calls[0].policy.budget: has no effect beside a limiter, which takes its place; " +
				"remove one of them"}},

		{"no variants", twoTiers + "variants: []\n", []string{"8: variants: is an empty list; name at least one, or leave " +
			"the key out to compare the topology with and without budgets"}},
		{"variants of one name", twoTiers + "variants: [{name: x}, {name: x}, {}]\n", []string{
			"8: variants[2].name: is missing; it heads a part of the output"}},
		{"twice", twoTiers + "variants: [{name: x}, {name: x}]\n", []string{
			`8: variants[1].name: "x" is also that of variants[0]; change one`}},
		{"no target", set("times: 2"), []string{`11: variants[0].set[0]: says not what it changes; add an edge such ` +
			`as "gateway -> api", an entry or a service`}},
		{"two targets", set("edge: a -> b, service: b, times: 2"), []string{
			"11: variants[0].set[0].service: stands beside edge; a change is of one of them"}},
		{"no change", set("edge: a -> b"), []string{"11: variants[0].set[0]: changes nothing; add a setting of an edge"}},
		{"no such edge", set("edge: a -> c, times: 2"), []string{
			`11: variants[0].set[0].edge: "a -> c" is no edge; did you mean a -> b?`}},
		{"no such target", set("service: c, replicas: 2"), []string{
			`11: variants[0].set[0].service: "c" is no service; allowed are a, b`}},
		{"no such entry", set("entry: user, clients: 2"), []string{
			`11: variants[0].set[0].entry: "user" is no entry; did you mean users?`}},
		{"settings of others", set("service: b, times: 2, clients: 3, replicas: 2"), []string{
			"11: variants[0].set[0].times: is no setting of a service",
			"11: variants[0].set[0].clients: is no setting of a service"}},
		{"times of an entry", set("entry: users, times: 2"), []string{
			"11: variants[0].set[0].times: is no setting of an entry"}},
		{"a bad policy, once", set(`edge: "*", policy: {breaker: {break: 2s, maxBreak: 1s}}`), []string{
			"11: variants[0].set[0].policy.breaker.maxBreak: 1s is below break 2s"}},
		{"a bad service", set("service: b, queue: 5"), []string{"11: variants[0].set[0].queue: " + idle}},
	}
	t.Chdir(t.TempDir())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.WriteFile("f.yaml", []byte(tt.text), 0o666); err != nil {
				t.Fatal(err)
			}
			_, err := openScenario("f.yaml", nil)
			var all *strict.Error
			if !errors.As(err, &all) {
				t.Fatalf("got %v", err)
			}
			var got []string
			for _, p := range all.Problems {
				got = append(got, strings.TrimPrefix(p.String(), "f.yaml:"))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// TestPolicyFileVariants: of a policy that comes from a file, a variant can switch the
// budget off, and no more.
func TestPolicyFileVariants(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("p.yaml", []byte("policies: {a: {attempts: 4}}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(twoTiers, "{to: b}", "{to: b, policyFile: p.yaml#a}", 1) + "variants:\n- name: x\n"
	c, err := readScenario("f.yaml", strings.NewReader(text+
		"  set: [{edge: \"*\", policy: {budget: {enabled: false}}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	p := c.topology.variants[0].Topology.Services[0].Calls[0].Policy
	if p.Attempts != 4 || p.Budget != ration.NoBudget {
		t.Errorf("%d attempts, budget %v", p.Attempts, p.Budget)
	}
	_, err = readScenario("f.yaml", strings.NewReader(text+"  set: [{edge: a -> b, policy: {attempts: 2}}]\n"))
	const want = "f.yaml:10: variants[0].set[0].policy: changes one from p.yaml#a, of which only the budget " +
		"can be switched off here; change it there, or name another with policyFile"
	if fmt.Sprint(err) != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	_, err = readScenario("f.yaml", strings.NewReader(strings.Replace(text, "#a", "#b", 1)))
	if err == nil || !strings.Contains(err.Error(), `p.yaml has no policy "b"; allowed are a`) {
		t.Errorf("got %v", err)
	}
}

// FuzzTopology: whatever the file, it is either refused with problems on its lines or
// it is one that the simulator takes.
func FuzzTopology(f *testing.F) {
	for _, file := range []string{"testdata/topology.yaml", "testdata/manual/shop.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add(twoTiers)
	f.Add(twoTiers + "variants: [{name: x, set: [{edge: \"*\", limiter: aws, times: 3}, {service: b, bad: []}]}]\n")
	f.Add(twoTiers + "variants: [{name: x, set: [{entry: users, load: {daily: {low: 0, high: 1, peak: 1h}}}]}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "/") || strings.Contains(text, "trace") {
			return // no other file is for a fuzzer to read
		}
		c, err := readScenario("f.yaml", strings.NewReader(text))
		if err != nil {
			refusedInItsLines(t, text, err)
			return
		}
		if c.topology == nil {
			return
		}
		for _, v := range c.topology.variants {
			if err := v.Topology.Check(); err != nil {
				t.Error(err)
			}
		}
	})
}

func refusedInItsLines(t *testing.T, text string, err error) {
	t.Helper()
	var refused *strict.Error
	if !errors.As(err, &refused) {
		t.Fatalf("%T: %v", err, err)
	}
	for _, p := range refused.Problems {
		if p.Line < 1 && len(text) < 1<<20 || p.Line > 1+strings.Count(text, "\n")+strings.Count(text, "\r") ||
			strings.ContainsAny(p.String(), "\n\r\x1b") {
			t.Errorf("%q", p.String())
		}
	}
}
