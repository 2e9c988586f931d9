// Package rationotel reports what Ration does to OpenTelemetry. It needs the API
// alone; the SDK and its exporters are the program's choice.
//
// One call attaches it, to every executor of the process, whoever made them:
//
//	stop, err := rationotel.Attach(rationotel.Options{})
//
// # Metrics
//
// The first number to look at is attempts divided by calls: how much load the
// retries of this process make of its traffic. Both counters are exact. Each
// call that has ended counts once, also when its caller cancelled it or it
// panicked, and each attempt that went out counts once, also when it was cut
// short. An attempt that this process refused by itself ([ration.Refused]) has
// burdened nobody and counts apart.
//
//	nresilience.calls              {call}       policy, key, outcome
//	nresilience.attempts           {attempt}    policy, key, verdict
//	nresilience.rejections         {rejection}  policy, key, reason
//	nresilience.call.duration      s            policy, key, outcome
//	nresilience.attempt.duration   s            policy, key, verdict
//	nresilience.attempt.ceiling    s            policy, key
//	nresilience.backoff.base       s            policy, key
//	nresilience.local_refusals     {attempt}    policy, key
//	nresilience.nested_retries     {call}       policy, key
//	nresilience.budget.utilization 1            policy, key
//	nresilience.budget.tokens      {token}      policy, key
//	nresilience.breaker.state      {state}      policy, key
//
// Each attribute begins with nresilience. too. docs/telemetry.md of the project
// says what every value means, what to alert on, and what to do then. The names
// of the metrics are shared with a library for .NET, and so are dashboards.
//
// The last three are observed: whenever metrics are collected, the executors
// that are alive are asked. One that has been dropped, or the executor of a key
// that was forgotten, has no such series any more.
//
// # Cardinality
//
// The key is what was given to [ration.Executor.For], such as a host. The first
// [Options.MaxKeys] keys of a policy are reported by name, for as long as the
// process lives, and all others together as "other". Nothing else that comes
// from a request becomes an attribute.
//
// # Spans
//
// Decisions become events of the span that the caller's context carries:
// nresilience.attempt, nresilience.retrying, nresilience.breaker_opened and so
// on, after [ration.EventKind.String]. A call that succeeds on its first attempt
// adds none. The package makes no span of its own, unless asked with [Do].
package rationotel
