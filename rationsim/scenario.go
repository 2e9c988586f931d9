package rationsim

import (
	"context"
	"errors"
	"time"

	"github.com/ration-go/ration"
)

// A Scenario is what a policy is tried on: a load and a dependency with its
// troubles. It is a value, and is not changed by running it. It is the short form
// of a [Topology] of one client and one service.
type Scenario struct {
	// Name is for reports.
	Name string

	// Duration is how long calls arrive, a week at most. Those in flight at its
	// end run out.
	Duration time.Duration

	// Rate is the average number of calls per second, above 0. They arrive at
	// random, independently of each other and of how they fare.
	Rate float64

	// Dependency is what the calls need.
	Dependency Dependency
}

// A Dependency is what attempts reach. It is a value.
type Dependency struct {
	Latency Latency // of a healthy attempt

	// FailureRate, in [0, 1], is the share of attempts that fail. They fail
	// independently of each other, when they would have succeeded.
	FailureRate float64

	Brownouts []Brownout // where several overlap, their factors multiply
	Outages   []Outage

	// Concurrency is how many attempts are worked on at once; 0 = any number.
	// Queue is how many more may wait, first come, first served; one more is
	// shed at once, which is a transient failure like any other. An attempt that
	// its caller has given up is not cancelled: it keeps its place and is worked
	// on to its end, as in most servers.
	Concurrency int
	Queue       int
}

// A Config is one side of a comparison: a policy under a name. It is a value.
//
// The policy's Budget is a template: each run gets a fresh, full bucket of the
// same parameters. Its BeforeAttempt, Admit and Classify are not run, for there
// is neither a request nor an answer to show them. Its OnEvent is, and with
// [RunSeeds] by several runs at once; a Backoff.Custom likewise.
type Config struct {
	Name   string        // for reports
	Policy ration.Policy // a value; each run builds an executor from it
}

// Check returns every problem of s, each naming the field, and nil when there is
// none.
func (s Scenario) Check() error {
	var c checker
	c.span("Duration", s.Duration)
	c.rate("Rate", s.Rate)
	if s.Rate > 0 && s.Duration > 0 && s.Rate*s.Duration.Seconds() > maxCalls {
		c.add("Rate %v for %v is more than %d calls", s.Rate, s.Duration, maxCalls)
	}
	s.Dependency.service().check(&c, "Dependency.")
	return errors.Join(c.problems...)
}

// Run runs one simulation. The error tells every problem of the scenario or of
// the policy. It is safe for concurrent use: runs share nothing.
func Run(s Scenario, c Config, seed uint64) (*Report, error) {
	return s.run(context.Background(), c, seed)
}

func (s Scenario) run(ctx context.Context, c Config, seed uint64) (*Report, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	c.Policy.Unlisted = true
	if _, err := ration.New(c.Policy); err != nil {
		return nil, err // which the check of a topology would say of a field that s has not
	}
	e, err := newEngine(s.topology(c.Policy), seed)
	if err != nil {
		return nil, err
	}
	if err := e.run(ctx); err != nil {
		return nil, err
	}
	used := e.edges[0].tally.used
	return newReport(c.Name, e.report(seed).Entries[0], used, seed), nil
}

// topology returns s as one client of one service.
func (s Scenario) topology(p ration.Policy) Topology {
	x := s.Dependency.service()
	return Topology{
		Name:     s.Name,
		Duration: s.Duration,
		Entries:  []Entry{{Name: "client", To: x.Name, Policy: p, Load: Load{Rate: s.Rate}}},
		Services: []Service{x},
	}
}

func (d Dependency) service() Service {
	return Service{
		Name:        "dependency",
		Latency:     d.Latency,
		FailureRate: d.FailureRate,
		Brownouts:   d.Brownouts,
		Outages:     d.Outages,
		Concurrency: d.Concurrency,
		Queue:       d.Queue,
	}
}
