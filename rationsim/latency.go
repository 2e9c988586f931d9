package rationsim

import "time"

// Latency is the distribution of how long healthy work takes. Exactly one of
// the three forms is set: P50 and P99, or Quantiles, or Exponential. It is a
// value.
type Latency struct {
	// P50 and P99 make it log-normal, through both exactly. Equal ones mean a
	// constant. Above 0, P99 no less than P50.
	P50, P99 time.Duration

	// Quantiles make it what was measured: a list of quantiles, or a cumulative
	// histogram. Between two of them it is linear; below the first it is linear
	// from 0, unless that is the quantile 0; above the last it does not go. Both
	// numbers must rise, or stay, from one to the next.
	Quantiles []Quantile

	// Exponential makes it exponential with this mean, as queueing theory has it.
	Exponential time.Duration
}

// A Quantile is one point of a distribution: the share Q of all work takes
// Value or less.
type Quantile struct {
	Q     float64       // in [0, 1]
	Value time.Duration // 0 or more
}
