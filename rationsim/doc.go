// Package rationsim prices a [ration.Policy] before it ships: it runs the policy
// against services that slow down, fail or fill up, and reports what the callers
// and the services would have seen.
//
// What decides is the real thing. Every call is a [ration.Call] of an executor
// from [ration.New], with its budget, breaker and estimates; the simulator obeys
// the decisions as ration.Do does and holds no rule of its own about when to
// stop, how long to wait or what to charge. Only three things are made up: the
// clock, which jumps from event to event, the random numbers, and the services.
//
//	scenario, configs, _ := rationsim.Preset("trade")
//	report, err := rationsim.Run(scenario, configs[0], 42)
//
// A [Scenario] is one client of one dependency. A [Topology] is a system: loads,
// services with replicas, and who calls whom, where each replica of each caller
// decides for itself.
//
//	_, variants, _ := rationsim.TopologyPreset("metastable")
//	bands, err := rationsim.CompareSeeds(ctx, variants, 42, 5)
//
// One seed is one sample. [RunSeeds] and [CompareSeeds] give the range over
// several, and [Separates] says whether two ranges overlap. In place of a budget
// an edge can have a [Limiter]: see [Rivals].
//
// # What is modelled
//
// Calls arrive as a [Load] says. Attempts and answers travel in no time; what
// takes time is a service's work, as its [Latency] says, its queue, and the calls
// that it makes in turn. An attempt that reaches its bound is given up by the
// caller; the service works on all the same, unless it cancels. A failed, shed or
// unreachable attempt is a transient failure, and one beyond a rate limit is
// throttled. A service that fails since a call of its own has failed answers with
// a transient failure, as a 503 would be.
//
// What travels with a request is what travels in production: the level of
// criticality, the mark that a sender would retry, the deadline where a service
// keeps it, and the word of having given up where a caller obeys it. The code
// that reads them is that of package ration.
//
// # What repeats
//
// The same topology, policies and seed give the same report, to the byte, on
// every machine, as long as the policies' own functions do. On one seed every
// policy meets the same arrivals, and the same attempt of the same call goes to
// the same replica and takes the same work, so that what differs between two
// reports is the policies' doing and not the dice's.
package rationsim
