package rationsim

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/ration-go/ration"
)

// A Scenario is what a policy is tried on: a load and a dependency with its
// troubles. It is a value, and is not changed by running it.
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

// Bounds that keep a mistyped scenario from filling the memory, and its times
// within what a time.Duration holds.
const (
	longest    = 7 * 24 * time.Hour
	maxCalls   = 50_000_000
	maxServers = 10_000_000
	maxSlower  = 1e6
)

// Check returns every problem of s, each naming the field, and nil when there is
// none.
func (s Scenario) Check() error {
	var c checker
	c.span("Duration", s.Duration)
	if !(s.Rate > 0 && s.Rate < math.Inf(1)) {
		c.add("Rate %v is not a finite number of calls per second above 0", s.Rate)
	} else if s.Duration > 0 && s.Rate*s.Duration.Seconds() > maxCalls {
		c.add("Rate %v for %v is more than %d calls", s.Rate, s.Duration, maxCalls)
	}
	s.Dependency.check(&c)
	return errors.Join(c.problems...)
}

func (d Dependency) check(c *checker) {
	c.span("Dependency.Latency.P50", d.Latency.P50)
	c.span("Dependency.Latency.P99", d.Latency.P99)
	if d.Latency.P99 < d.Latency.P50 {
		c.add("Dependency.Latency.P99 %v is below P50 %v", d.Latency.P99, d.Latency.P50)
	}
	if !(d.FailureRate >= 0 && d.FailureRate <= 1) {
		c.add("Dependency.FailureRate %v is outside [0, 1]", d.FailureRate)
	}
	for i, b := range d.Brownouts {
		field := fmt.Sprintf("Dependency.Brownouts[%d]", i)
		c.trouble(field, b.From, b.For)
		if !(b.Slower >= 1 && b.Slower <= maxSlower) {
			c.add("%s.Slower %v is outside [1, %v]", field, b.Slower, maxSlower)
		}
	}
	for i, o := range d.Outages {
		c.trouble(fmt.Sprintf("Dependency.Outages[%d]", i), o.From, o.For)
	}
	c.servers("Dependency.Concurrency", d.Concurrency)
	c.servers("Dependency.Queue", d.Queue)
	if d.Queue > 0 && d.Concurrency == 0 {
		c.add("Dependency.Queue %d has no effect without a Concurrency", d.Queue)
	}
}

type checker struct{ problems []error }

func (c *checker) add(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf("rationsim: "+format, args...))
}

func (c *checker) span(field string, d time.Duration) {
	if d <= 0 {
		c.add("%s %v is not above 0", field, d)
	} else if d > longest {
		c.add("%s %v is above %v", field, d, longest)
	}
}

func (c *checker) trouble(field string, from, length time.Duration) {
	if from < 0 || from > longest {
		c.add("%s.From %v is outside [0, %v]", field, from, longest)
	}
	c.span(field+".For", length)
}

func (c *checker) servers(field string, n int) {
	if n < 0 || n > maxServers {
		c.add("%s %d is outside [0, %d]", field, n, maxServers)
	}
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
