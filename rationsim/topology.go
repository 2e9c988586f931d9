package rationsim

import (
	"slices"
	"time"

	"github.com/ration-go/ration"
)

// A Topology is what several policies are tried on together: the load on a
// system, the services in it, and who calls whom under which policy. It is a
// value, safe for concurrent use as long as nobody changes it, which
// [RunTopology] does not. The zero value is incomplete: a Duration, an entry and
// a service are needed.
//
// Every replica of every caller has an executor of its own on each of its edges,
// with its own budget, breaker and estimates: fifty pods make fifty decisions,
// and nothing is averaged. [Scenario] is the short form for one client of one
// dependency.
type Topology struct {
	// Name is for reports.
	Name string

	// Duration is how long calls arrive, a week at most. Those in flight at its
	// end run out.
	Duration time.Duration

	// Entries are where load comes in: at least one.
	Entries []Entry

	// Services are what is called: at least one. Each must be reachable from an
	// entry, and none may call itself, not even by way of others.
	Services []Service
}

// An Entry is where load comes in: users, another team's service, a batch job.
// It calls one service and is modelled no further than its policy. It is a value.
type Entry struct {
	// Name is for reports. "" = "to " and the name of the service it calls.
	Name string

	// To is the name of the service that is called.
	To string

	// Clients is how many processes share the load evenly at random, each with
	// an executor of its own; 0 = 1.
	Clients int

	// Load is how calls arrive.
	Load Load

	// Policy decides for each client; the zero Policy is the documented default.
	// What [Config] says of policies holds here: the Budget is a template, of
	// which each client gets a bucket of its own.
	Policy ration.Policy

	// Limiter bounds retries by another rule than the policy's budget, which
	// is then best NoBudget; each client gets its own. nil = the budget alone.
	Limiter func() Limiter

	// ObeyGiveUp is as in [Edge].
	ObeyGiveUp bool
}

// An Edge is one service's calls to another. It is a value.
type Edge struct {
	// To is the name of the service that is called.
	To string

	// Policy decides, in each replica of the caller for itself; the zero Policy
	// is the documented default. The Budget is a template, of which each replica
	// gets a bucket of its own. See also [Config].
	Policy ration.Policy

	// Limiter bounds retries by another rule than the policy's budget, which
	// is then best NoBudget; each replica gets its own. nil = the budget alone.
	Limiter func() Limiter

	// Times is how many calls each request makes here, 1000 at most; 0 = 1.
	Times int

	// ObeyGiveUp breaks a nested loop: a failure of a service whose own retries
	// were spent or refused, and which says so, is not retried. It is the
	// opt-in of rationhttp and rationgrpc. The word travels up as far as callers
	// obey it, and only to those whose retries nest.
	ObeyGiveUp bool

	// Optional says that the caller can do without: it answers well even if the
	// call has failed. It waits for it all the same.
	Optional bool
}

// A Variant is one side of a comparison: a topology under a name. It is a value.
type Variant struct {
	Name     string   // for reports
	Topology Topology // differs from that of the other variants in what is compared
}

// Clone returns a copy of t whose entries, services and calls can be changed
// without changing t.
func (t Topology) Clone() Topology {
	t.Entries = slices.Clone(t.Entries)
	t.Services = slices.Clone(t.Services)
	for i := range t.Services {
		t.Services[i].Calls = slices.Clone(t.Services[i].Calls)
	}
	return t
}

// WithPolicies returns a copy of t in which each policy is what change makes of
// it. from and to are the names of the entry or service that calls and of the
// service that is called.
func (t Topology) WithPolicies(
	change func(from, to string, p ration.Policy) ration.Policy,
) Topology {
	t = t.Clone()
	for i := range t.Entries {
		n := &t.Entries[i]
		n.Policy = change(n.name(), n.To, n.Policy)
	}
	for i := range t.Services {
		for j := range t.Services[i].Calls {
			d := &t.Services[i].Calls[j]
			d.Policy = change(t.Services[i].Name, d.To, d.Policy)
		}
	}
	return t
}

// WithLimiter returns a copy of t in which every caller has a limiter of this
// kind in place of its budget. nil leaves them with neither.
func (t Topology) WithLimiter(limiter func() Limiter) Topology {
	t = t.withBudget(ration.NoBudget)
	for i := range t.Entries {
		t.Entries[i].Limiter = limiter
	}
	for i := range t.Services {
		for j := range t.Services[i].Calls {
			t.Services[i].Calls[j].Limiter = limiter
		}
	}
	return t
}

// WithObedience returns a copy of t in which every caller obeys the word of a
// service that has given up, so that no loops nest.
func (t Topology) WithObedience() Topology {
	t = t.Clone()
	for i := range t.Entries {
		t.Entries[i].ObeyGiveUp = true
	}
	for i := range t.Services {
		for j := range t.Services[i].Calls {
			t.Services[i].Calls[j].ObeyGiveUp = true
		}
	}
	return t
}
