package ration

// samples is how many an estimator remembers.
func samples(e *estimator, now instant) int { return e.latency.Count(e.origin.since(now)) }
