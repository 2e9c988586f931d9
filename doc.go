// Package ration keeps retries from turning a bad minute into an outage.
//
// Retries multiply. Four attempts at each of three layers are 64 attempts at the
// database, and no layer sees more than its own four. Lowering the number does
// not help: whatever it is, layers multiply it. What does compose is a fraction
// of traffic. A [Budget] is a token bucket that successful calls feed, a tenth of
// a token each, and that each retry draws on: while the dependency is well there
// is more than enough in it, and when the dependency fails, retries dwindle to a
// trickle instead of tripling the load.
//
// An [Executor] runs calls under a [Policy], whose zero value is complete:
//
//	var payments = ration.MustNew(ration.Policy{Name: "payments"})
//
//	receipt, err := ration.Do(ctx, payments, func(ctx context.Context) (Receipt, error) {
//		return client.Charge(ctx, order)
//	})
//
// Keep one executor for each dependency, for as long as the process lives. A
// budget that is made anew for each request or each client never sees enough
// traffic to bound anything.
//
// Retry in one layer, the one closest to the dependency that fails. A layer above
// it should pass the failure through: an executor that retries inside another's
// attempt reports [EventNestedRetry], and an [*Error] is never retried.
//
// # What happens to a call
//
// An attempt has a verdict, from the policy's [Classifier] or from the error
// itself ([Transient], [Throttled], [Refused], [Permanent]). A success deposits
// into the budget. A transient or throttled failure is retried if attempts are
// left, the breaker (if there is one) is closed, there is time for the wait, and
// the budget has a token, asked in that order. The wait is exponential with full
// jitter, unless the dependency gave a hint, which is obeyed. A refusal of this
// process itself costs no token and is evidence of nothing.
//
// The budget never refuses a first attempt. When it or the breaker refuses, the
// call pauses for 100 ms, so that no loop can spin on refusals, and returns an
// [*Error] that tells the reason, the last failure, and when to come back.
//
// # Time
//
// Nothing in this package that holds state reads a clock: methods take the time.
// Only [Do], [Try], [Executor.Run] and a few short forms read it, once for each
// decision. A [Call] can be driven by hand, by a queue worker or an event loop,
// and package rationsim drives it on a virtual clock. Tests of programs that use
// the package need no fake clock either: it works inside testing/synctest.
//
// # Limits
//
// A budget bounds what one process adds. Its floor is per process, so a fleet of
// n may send n times the floor into a total outage; below about 1.5 calls a
// second the floor pays for every retry and only Policy.Attempts protects; and
// while far more than the fraction of attempts fail, callers see those failures.
// See docs/retry-budget.md.
package ration
