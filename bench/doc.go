// Package bench measures Ration beside its peers, in one run and doing one job.
//
// Each peer is configured as its documentation recommends for the job of the
// row: a retry of at most three attempts, a budget or the nearest thing to one,
// a circuit breaker that trips on five failures in a row, a timeout for each
// attempt. Where a peer has no such thing its row is absent, not approximated.
// The floors that no library can go below are rows too: two readings of the
// monotonic clock, an atomic load, a timer, context.WithTimeout.
//
// Absolute times depend on the machine, ratios within one run hardly do, so
// docs/performance.md is made of ratios:
//
//	go run ./bench/cmd/performance
package bench
