package rationsim

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/ration-go/ration"
)

// Bounds that keep a mistyped scenario from filling the memory, and its times
// within what a time.Duration holds.
const (
	longest     = 7 * 24 * time.Hour
	maxCalls    = 50_000_000
	maxServers  = 10_000_000
	maxReplicas = 10_000
	maxTimes    = 1000
	maxSlower   = 1e6
)

// A checker gathers every problem, so that the user mends them in one round.
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
	c.from(field, from)
	c.span(field+".For", length)
}

func (c *checker) from(field string, from time.Duration) {
	if from < 0 || from > longest {
		c.add("%s.From %v is outside [0, %v]", field, from, longest)
	}
}

func (c *checker) count(field string, n, least, most int) {
	if n < least || n > most {
		c.add("%s %d is outside [%d, %d]", field, n, least, most)
	}
}

func (c *checker) share(field string, x float64) {
	if !(x >= 0 && x <= 1) {
		c.add("%s %v is outside [0, 1]", field, x)
	}
}

func (c *checker) slower(field string, x float64) {
	if !(x >= 1 && x <= maxSlower) {
		c.add("%s %v is outside [1, %v]", field, x, maxSlower)
	}
}

// policy reports what is wrong with a policy, which only ration can say.
func (c *checker) policy(field string, p ration.Policy) {
	p.Unlisted = true
	if _, err := ration.New(p); err != nil {
		c.add("%s.Policy: %w", field, err)
	}
}

// Check returns every problem of t, each naming the field, and nil when there is
// none.
func (t Topology) Check() error {
	var c checker
	c.span("Duration", t.Duration)
	if len(t.Entries) == 0 {
		c.add("Entries is empty")
	}
	if len(t.Services) == 0 {
		c.add("Services is empty")
	}
	names := t.checkNames(&c)
	for i, n := range t.Entries {
		n.check(&c, fmt.Sprintf("Entries[%d]", i), names)
	}
	for i, s := range t.Services {
		field := fmt.Sprintf("Services[%d]", i)
		s.check(&c, field+".")
		for j, d := range s.Calls {
			d.check(&c, fmt.Sprintf("%s.Calls[%d]", field, j), names)
		}
	}
	if len(c.problems) == 0 {
		t.checkPaths(&c)
	}
	return errors.Join(c.problems...)
}

func (t Topology) checkNames(c *checker) map[string]bool {
	names := make(map[string]bool)
	for i, s := range t.Services {
		switch {
		case s.Name == "":
			c.add("Services[%d].Name is empty", i)
		case names[s.Name]:
			c.add("Services[%d].Name %q is that of an earlier service", i, s.Name)
		}
		names[s.Name] = true
	}
	entries := make(map[string]bool)
	for i, n := range t.Entries {
		if name := n.name(); entries[name] {
			c.add("Entries[%d].Name %q is that of an earlier entry", i, name)
		} else if names[name] {
			c.add("Entries[%d].Name %q is that of a service", i, name)
		} else {
			entries[name] = true
		}
	}
	return names
}

func (c *checker) target(field, to string, names map[string]bool) {
	if !names[to] {
		c.add("%s.To %q is no service", field, to)
	}
}

func (n Entry) name() string {
	if n.Name != "" {
		return n.Name
	}
	return "to " + n.To
}

func (n Entry) check(c *checker, field string, names map[string]bool) {
	c.target(field, n.To, names)
	c.count(field+".Clients", n.Clients, 0, maxReplicas)
	n.Load.check(c, field+".Load")
	c.policy(field, n.Policy)
}

func (d Edge) check(c *checker, field string, names map[string]bool) {
	c.target(field, d.To, names)
	c.count(field+".Times", d.Times, 0, maxTimes)
	c.policy(field, d.Policy)
}

// check adds the problems of s, its calls aside. prefix is what its fields are
// part of.
func (s Service) check(c *checker, prefix string) {
	s.Latency.check(c, prefix+"Latency")
	c.count(prefix+"Replicas", s.Replicas, 0, maxReplicas)
	c.share(prefix+"FailureRate", s.FailureRate)
	s.checkTroubles(c, prefix)
	c.count(prefix+"Concurrency", s.Concurrency, 0, maxServers)
	c.count(prefix+"Queue", s.Queue, 0, maxServers)
	if s.Queue > 0 && s.Concurrency == 0 {
		c.add("%sQueue %d has no effect without a Concurrency", prefix, s.Queue)
	}
	if s.Order != FIFO && s.Order != LIFO {
		c.add("%sOrder %d is neither FIFO nor LIFO", prefix, int(s.Order))
	}
	if s.Cold != nil {
		c.slower(prefix+"Cold.Slower", s.Cold.Slower)
		c.count(prefix+"Cold.HalfLife", s.Cold.HalfLife, 1, maxCalls)
		if len(s.Outages) == 0 {
			c.add("%sCold has no effect without Outages", prefix)
		}
	}
	if l := s.RateLimit; l != nil {
		if !(l.PerSecond > 0 && l.PerSecond < math.Inf(1)) {
			c.add("%sRateLimit.PerSecond %v is not a finite number above 0", prefix, l.PerSecond)
		}
		c.count(prefix+"RateLimit.Burst", l.Burst, 1, maxCalls)
		if l.RetryAfter < 0 || l.RetryAfter > longest {
			c.add("%sRateLimit.RetryAfter %v is outside [0, %v]", prefix, l.RetryAfter, longest)
		}
	}
}

func (s Service) checkTroubles(c *checker, prefix string) {
	for i, b := range s.Brownouts {
		field := fmt.Sprintf("%sBrownouts[%d]", prefix, i)
		c.trouble(field, b.From, b.For)
		c.slower(field+".Slower", b.Slower)
	}
	for i, o := range s.Outages {
		c.trouble(fmt.Sprintf("%sOutages[%d]", prefix, i), o.From, o.For)
	}
	for i, f := range s.Failures {
		field := fmt.Sprintf("%sFailures[%d]", prefix, i)
		c.trouble(field, f.From, f.For)
		c.share(field+".Rate", f.Rate)
	}
	for i, b := range s.Bad {
		field := fmt.Sprintf("%sBad[%d]", prefix, i)
		c.count(field+".Replica", b.Replica, 0, max(s.Replicas, 1)-1)
		c.from(field, b.From)
		if b.For != 0 {
			c.span(field+".For", b.For)
		}
		if b.Slower != 0 {
			c.slower(field+".Slower", b.Slower)
		}
		c.share(field+".FailureRate", b.FailureRate)
	}
}

// checkPaths looks at what can be said only of a topology that is otherwise
// right: who reaches whom, and how many calls that comes to.
func (t Topology) checkPaths(c *checker) {
	order, cycle := t.order()
	if len(cycle) > 0 {
		c.add("Services call themselves: %s", strings.Join(cycle, " -> "))
		return
	}
	calls := make(map[string]float64)
	for _, n := range t.Entries {
		calls[n.To] += n.Load.most(t.Duration)
	}
	sum := 0.0
	for _, i := range order {
		s := t.Services[i]
		if _, ok := calls[s.Name]; !ok {
			c.add("Services[%d] %q is called by nobody", i, s.Name)
			continue
		}
		sum += calls[s.Name]
		for _, d := range s.Calls {
			calls[d.To] += float64(calls[s.Name] * float64(max(d.Times, 1)))
		}
	}
	if sum > maxCalls {
		c.add("Duration %v of this load is %.0f calls in all, more than %d",
			t.Duration, sum, maxCalls)
	}
}

// order returns the indices of the services, callers before those they call. If
// there is no such order it returns the names along a cycle.
func (t Topology) order() (order []int, cycle []string) {
	index := make(map[string]int, len(t.Services))
	for i, s := range t.Services {
		index[s.Name] = i
	}
	const open, closed = 1, 2
	state := make([]int, len(t.Services))
	var path []string
	var visit func(i int) bool
	visit = func(i int) bool {
		name := t.Services[i].Name
		path = append(path, name)
		if state[i] == open {
			return false
		}
		if state[i] == 0 {
			state[i] = open
			for _, d := range t.Services[i].Calls {
				if !visit(index[d.To]) {
					return false
				}
			}
			state[i] = closed
			order = append(order, i)
		}
		path = path[:len(path)-1]
		return true
	}
	for i := range t.Services {
		if !visit(i) {
			first := path[len(path)-1]
			for path[0] != first {
				path = path[1:]
			}
			return nil, path
		}
	}
	for i, j := 0, len(order)-1; i < j; i, j = i+1, j-1 {
		order[i], order[j] = order[j], order[i]
	}
	return order, nil
}
