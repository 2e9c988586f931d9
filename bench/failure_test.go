package bench

import "net"

// errReset is an error that every peer may retry: AWS knows it as one of the
// connection, Ration as transient, and the others retry whatever fails.
var errReset error = &net.OpError{Op: "read", Net: "tcp", Err: errOursIn}

// Calls that meet failures, retried at once: what is measured is the machinery and
// not the wait.
var failureGroup = group{"Failure", []row{
	{name: "retry,first-fails", peers: peersFor(
		plan{eager: true}, true, 0, failing(1, errReset), clockPair)},
	{name: "retry,all-fail", peers: peersFor(
		plan{eager: true}, true, 0, failing(attempts, errReset), clockPair)},
	{name: "retry+budget,first-fails", peers: peersFor(
		plan{eager: true, budget: true}, true, 0, failing(1, errReset), clockPair)},
	{name: "retry+budget,all-fail", peers: peersFor(
		plan{eager: true, budget: true}, true, 0, failing(attempts, errReset), clockPair)},
	{name: "retry+budget+breaker,first-fails", peers: peersFor(
		plan{eager: true, budget: true, breaker: true}, false, 0, failing(1, errReset), clockPair)},
	{name: "retry+budget+breaker+timeout,first-fails", peers: peersFor(
		plan{eager: true, budget: true, breaker: true, timeout: true}, false, 2,
		failing(1, errReset), clockPair)},
}}
