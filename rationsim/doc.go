// Package rationsim prices a [ration.Policy] before it ships: it runs the policy
// against a dependency that slows down, fails or fills up, and reports what the
// caller and the dependency would have seen.
//
// What decides is the real thing. Every call is a [ration.Call] of an executor
// from [ration.New], with its budget, breaker and estimates; the simulator obeys
// the decisions as ration.Do does and holds no rule of its own about when to
// stop, how long to wait or what to charge. Only three things are made up: the
// clock, which jumps from event to event, the random numbers, and the
// dependency.
//
//	scenario, configs, _ := rationsim.Preset("trade")
//	report, err := rationsim.Run(scenario, configs[0], 42)
//
// One seed is one sample. [RunSeeds] gives the range over several, and
// [Separates] says whether two ranges overlap.
//
// # What is modelled
//
// One process makes calls, with one executor. They arrive at random at a
// constant rate, whatever becomes of them. Attempts travel in no time; what
// takes time is the dependency's work, which is log-normal. An attempt that
// reaches its bound is given up by the caller; if the dependency has a
// Concurrency, it works on all the same. A failed, shed or unreachable attempt
// is a transient failure. There are no other clients: amplification is that of
// this process alone, and a dependency with a Concurrency is all its own.
//
// # What repeats
//
// The same scenario, policy and seed give the same report, to the byte, on
// every machine, as long as the policy's own functions do. On one seed every
// policy meets the same arrivals, and the same attempt of the same call takes
// the same work, so that what differs between two reports is the policies'
// doing and not the dice's.
package rationsim
