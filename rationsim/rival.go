package rationsim

import (
	"slices"
	"time"
)

// A Rival is a published rule that bounds retries. See docs/rivals.md for what
// each admits, and where Ration does worse.
type Rival struct {
	Name   string         // for a command line: lower case, one word
	Rule   string         // in a sentence or two
	Source string         // where the rule was read: project, file, version or date
	New    func() Limiter // with the defaults that its project documents
}

// Rivals returns every rule that is known, none first and then by name. The
// slice is the caller's own.
func Rivals() []Rival { return slices.Clone(rivals) }

var rivals = []Rival{
	{
		Name:   "none",
		Rule:   "Every retry that the policy allows is made.",
		Source: "what a loop without a budget does",
		New:    func() Limiter { return unlimited{} },
	},
	{
		Name: "aws",
		Rule: "A pool of 500 tokens: a retry takes 14, or 5 after a throttled attempt; " +
			"it gets them back if it succeeds, and a first attempt that succeeds adds 1.",
		Source: "aws-sdk-go-v2 v1.48.0 (2026-11), aws/retry/standard.go",
		New:    func() Limiter { return newAWS(awsRules2026) },
	},
	{
		Name: "aws-legacy",
		Rule: "A pool of 500 tokens: a retry takes 5, or 10 after a timeout; " +
			"it gets them back if it succeeds, and any attempt that succeeds adds 1.",
		Source: "aws-sdk-go-v2 v1.36.3 (2025), aws/retry/standard.go",
		New:    func() Limiter { return newAWS(awsRulesLegacy) },
	},
	{
		Name: "dotnet",
		Rule: "Of the requests of the last 10 s, retries may be a tenth, and at least one; " +
			"with fewer than 10 requests there is no bound.",
		Source: ".NET 11, HttpRetryBudgetOptions, prerelease documentation (2026)",
		New:    func() Limiter { return newDotnet(0.1, 10, 10*time.Second) },
	},
	{
		Name: "envoy",
		Rule: "Retries in flight, those in back-off included, stay below a fifth of the " +
			"requests in flight, or below 3 where that is more.",
		Source: "Envoy, cluster.v3.CircuitBreakers.Thresholds.RetryBudget (2026)",
		New:    func() Limiter { return &envoy{fraction: 0.2, least: 3} },
	},
	{
		Name: "failsafe",
		Rule: "When the wait is over, a retry is refused if 3 are in flight and they are more " +
			"than a fifth of all executions, those that wait included.",
		Source: "failsafe-go v0.9.8, budget/budget.go and retrypolicy/retryexecutor.go",
		New:    func() Limiter { return &failsafe{rate: 0.2, least: 3} },
	},
	{
		Name: "finagle",
		Rule: "Each request banks a fifth of a retry for 10 s, beside a reserve of 10 retries " +
			"a second; one request may take at most a fifth of the balance.",
		Source: "Finagle, RetryBudget.scala and RequeueFilter.scala (2016)",
		New:    func() Limiter { return newFinagle() },
	},
	{
		Name: "grpc",
		Rule: "A counter of 10: each retryable failure takes 1, each call that succeeds adds " +
			"0.1, and there are retries only while it is above half.",
		Source: "gRFC A6 with the numbers of its example; grpc-go v1.85.0, clientconn.go",
		New:    func() Limiter { return newGRPC(10, 0.1) },
	},
	{
		Name: "linkerd",
		Rule: "tower's budget, where every outcome that is not to be retried banks a fifth " +
			"of a retry.",
		Source: "linkerd2-proxy, ServiceProfile retries (2026); tower 0.4.13, retry/budget.rs",
		New:    func() Limiter { return &linkerd{tower{budget: defaultTowerBudget()}} },
	},
	{
		Name: "octo",
		Rule: "Over the last 60 s, a retry is refused if there are more than 3 calls a second " +
			"and more than a tenth of them are retries, the refused ones included.",
		Source: "octo/retry, Budget{Rate: 3, Ratio: 0.1} (2026)",
		New:    func() Limiter { return newOcto(3, 0.1) },
	},
	{
		Name:   "stormbreak",
		Rule:   "A bucket of 100 retries that time alone refills, by 10 a second.",
		Source: "magnexis/stormbreak, README (2026)",
		New:    func() Limiter { return newStormbreak(100, 10) },
	},
	{
		Name: "tower",
		Rule: "Each success banks a fifth of a retry for 10 s, beside a reserve of 10 retries " +
			"a second.",
		Source: "tower 0.4.13, retry/budget.rs",
		New:    func() Limiter { return &tower{budget: defaultTowerBudget()} },
	},
}

// RivalNamed returns the rival of that name, and false if there is none.
func RivalNamed(name string) (Rival, bool) {
	for _, r := range rivals {
		if r.Name == name {
			return r, true
		}
	}
	return Rival{}, false
}
