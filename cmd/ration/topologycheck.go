package main

import (
	"slices"
	"strings"
	"time"

	"github.com/ration-go/ration/rationconfig/strict"
	"github.com/ration-go/ration/rationsim"
)

// A topologyChecker reports what keys say together.
type topologyChecker struct {
	*strict.Document
	duration time.Duration
	builder  *topologyBuilder
	taken    map[string]string // names of entries, services and variants
}

func (c *topologyChecker) check(f *topologySection) {
	if f.Question != nil && strings.ContainsFunc(*f.Question, unprintable) {
		c.Problem("question", "holds what cannot be printed")
	}
	c.names(f)
	for i := range f.Entries {
		e, at := &f.Entries[i], strict.At("entries", i)
		c.target(f, at+".to", *e.To)
		c.load(at+".load", e.Load)
		c.edge(at, &e.edgeSettings)
	}
	for i := range f.Services {
		s, at := &f.Services[i], strict.At("services", i)
		c.service(at, &s.serviceSettings, s.serviceSettings)
		for j := range s.Calls {
			at := strict.At(at+".calls", j)
			c.target(f, at+".to", *s.Calls[j].To)
			c.edge(at, &s.Calls[j].edgeSettings)
		}
	}
	c.shape(f)
	if c.Err() == nil {
		c.core("", f)
	}
	if c.Err() == nil { // what a variant changes is then in order
		c.variants(f)
	}
}

// names sees to it that each name says which is meant, in a file and in a table.
func (c *topologyChecker) names(f *topologySection) {
	c.taken = make(map[string]string)
	for i := range f.Services {
		c.name(strict.At("services", i), *f.Services[i].Name)
	}
	for i := range f.Entries {
		if f.Entries[i].Name != nil {
			c.name(strict.At("entries", i), *f.Entries[i].Name)
			continue
		}
		name, at := f.Entries[i].name(), strict.At("entries", i)
		if first, twice := c.taken[name]; twice {
			c.Problem(at+".name", "is missing, and %s has none either; give them names", first)
			continue
		}
		c.taken[name] = at
	}
}

func (c *topologyChecker) name(at, name string) {
	checkName(c.Document, at+".name", name)
	if strings.Contains(name, "->") || name == "*" {
		c.Problem(at+".name", "%q would not stand out in the name of an edge; choose another", name)
	}
	if first, twice := c.taken[name]; twice {
		c.Problem(at+".name", "%q is also that of %s; change one", name, first)
		return
	}
	c.taken[name] = at
}

func (c *topologyChecker) target(f *topologySection, at, name string) {
	if f.service(name) == nil {
		c.Problem(at, "%q is no service; %s", name, strict.Meant(name, f.serviceNames()))
	}
}

func (f *topologySection) service(name string) *serviceSection {
	for i := range f.Services {
		if *f.Services[i].Name == name {
			return &f.Services[i]
		}
	}
	return nil
}

func (f *topologySection) serviceNames() (names []string) {
	for i := range f.Services {
		names = append(names, *f.Services[i].Name)
	}
	return names
}

// shape refuses cycles, and services that no load can reach.
func (c *topologyChecker) shape(f *topologySection) {
	reached := make(map[string]bool)
	cyclic := false
	var visit func(name string, above []string)
	visit = func(name string, above []string) {
		s := f.service(name)
		if s == nil || reached[name] || cyclic {
			return
		}
		above = append(above, name)
		for j := range s.Calls {
			to := *s.Calls[j].To
			if i := slices.Index(above, to); i >= 0 {
				at := strings.TrimSuffix(c.taken[name], ".name")
				c.Problem(strict.At(at+".calls", j)+".to", "makes a cycle: %s -> %s",
					strings.Join(above[i:], " -> "), to)
				cyclic = true
				return
			}
			visit(to, above)
		}
		reached[name] = true
	}
	for i := range f.Entries {
		visit(*f.Entries[i].To, nil)
	}
	entered := len(reached)
	for i := range f.Services {
		name := *f.Services[i].Name
		if entered > 0 && !cyclic && !reached[name] {
			c.Problem(strict.At("services", i), "%q is not called, directly or by others, by any entry; "+
				"call it or remove it", name)
		}
	}
}

func (c *topologyChecker) edge(at string, s *edgeSettings) {
	if s.Limiter != nil {
		c.limiter(at, s)
	}
	switch {
	case s.PolicyFile != nil && s.Policy != nil:
		c.Problem(at+".policyFile", "stands beside a policy; remove one of them")
	case s.PolicyFile != nil:
		if _, err := c.builder.policy(*s.PolicyFile); err != nil {
			c.Problem(at+".policyFile", "%s", asPart(err))
		}
	case s.Policy != nil:
		s.Policy.Check(c.Document, at+".policy")
	}
}

func (c *topologyChecker) limiter(at string, s *edgeSettings) {
	_, known := rationsim.RivalNamed(*s.Limiter)
	if !known && *s.Limiter != rationLimiter {
		c.Problem(at+".limiter", "%q is no limiter; %s", *s.Limiter,
			strict.Meant(*s.Limiter, append(rivalNames(), rationLimiter)))
	}
	if s.Policy != nil && s.Policy.Budget != nil && *s.Limiter != rationLimiter {
		c.Problem(at+".policy.budget", "has no effect beside a limiter, which takes its place; "+
			"remove one of them")
	}
}

func (c *topologyChecker) load(at string, l *loadSection) {
	ways := c.ways(at, l)
	switch {
	case len(ways) == 0:
		c.Problem(at, "says not how calls arrive; give one of rate, shape, ramp, spike, daily, "+
			"users and trace")
		return
	case len(ways) > 1:
		c.Problem(at+"."+ways[1], "stands beside %s, and only one of them can say how calls arrive",
			ways[0])
	}
	if l.Think != nil && l.Users == nil {
		c.Problem(at+".think", "has no effect without users; remove it")
	}
	if l.Burst != nil && (l.Users != nil || l.Trace != nil) {
		c.Problem(at+".burst", "has no effect beside %s; remove it", ways[0])
	}
	c.burst(at+".burst", l.Burst)
	if orZero(l.Sheddable)+orZero(l.CriticalPlus) > 1 {
		c.Problem(at+".criticalPlus", "and sheddable are more than 1 together")
	}
	c.rates(at, l)
	if l.Trace != nil {
		if _, err := c.builder.load(l); err != nil {
			c.Problem(at+".trace", "%s", asPart(err))
		}
	}
}

func (c *topologyChecker) burst(at string, b *burstSection) {
	switch {
	case b == nil:
	case b.Dispersion != nil && (b.Factor != nil || b.Share != nil):
		c.Problem(at+".dispersion", "stands beside factor or share, and says the same as "+
			"both; remove it or them")
	case b.Factor != nil && b.Share != nil && *b.Factor*float64(*b.Share) > 1:
		c.Problem(at+".factor", "%v for %v of the time is more than the average allows; "+
			"factor times share is 1 at most", *b.Factor, *b.Share)
	}
}

// rates checks what says how the rate changes.
func (c *topologyChecker) rates(at string, l *loadSection) {
	for i := 1; i < len(l.Shape); i++ {
		if *l.Shape[i].At < *l.Shape[i-1].At {
			c.Problem(strict.At(at+".shape", i)+".at", "is before the point above it; sort them")
		}
	}
	if d := l.Daily; d != nil && *d.High < *d.Low {
		c.Problem(at+".daily.high", "%v is below low %v", *d.High, *d.Low)
	}
}

// ways returns the keys that say how calls arrive.
func (c *topologyChecker) ways(at string, l *loadSection) (ways []string) {
	if l.Shape != nil && len(l.Shape) == 0 {
		c.Problem(at+".shape", "is an empty list; give it a point such as {at: 0s, rate: 500}")
	}
	for _, key := range settingsIn(*l) {
		switch key {
		case "rate", "shape", "ramp", "spike", "daily", "users", "trace":
			ways = append(ways, key)
		}
	}
	return ways
}

// service checks settings as they are written, and as they are with those that they
// change.
func (c *topologyChecker) service(at string, written *serviceSettings, whole serviceSettings) {
	if written.Latency != nil {
		c.latency(at+".latency", written.Latency)
	}
	if orZero(whole.Concurrency) == 0 {
		c.idle(at, written)
	}
	late := func(list string, i int, from *strict.Duration) {
		if from != nil && time.Duration(*from) >= c.duration {
			c.Problem(strict.At(at+"."+list, i)+".from", "%v is not before the end of the run at %v",
				short(time.Duration(*from)), short(c.duration))
		}
	}
	for i, b := range written.Brownouts {
		late("brownouts", i, b.From)
	}
	for i, o := range written.Outages {
		late("outages", i, o.From)
	}
	for i, f := range written.Failures {
		late("failures", i, f.From)
	}
	for i, b := range written.Bad {
		late("bad", i, b.From)
		if n := max(orZero(whole.Replicas), 1); *b.Replica >= n {
			c.Problem(strict.At(at+".bad", i)+".replica", "%d is none of the %d, which count from 0",
				*b.Replica, n)
		}
		if orZero(b.Slower) <= 1 && orZero(b.FailureRate) == 0 {
			c.Problem(strict.At(at+".bad", i), "is no worse than the others; say how much slower it is, "+
				"or its failureRate")
		}
	}
}

// idle reports what belongs to a queue where there is none.
func (c *topologyChecker) idle(at string, s *serviceSettings) {
	const text = "has no effect without a concurrency; add one or remove it"
	if orZero(s.Queue) > 0 {
		c.Problem(at+".queue", text)
	}
	if s.Order != nil {
		c.Problem(at+".order", text)
	}
	if orZero(s.DropExpired) {
		c.Problem(at+".dropExpired", text)
	}
}

func (c *topologyChecker) latency(at string, l *serviceLatency) {
	percentiles := l.P50 != nil || l.P99 != nil
	switch {
	case l.Exponential != nil && (l.Quantiles != nil || percentiles):
		c.Problem(at+".exponential", "stands beside another form; keep one")
	case l.Quantiles != nil && percentiles:
		c.Problem(at+".quantiles", "stand beside p50 or p99; keep one form")
	case l.Quantiles != nil:
		c.quantiles(at+".quantiles", l.Quantiles)
	case percentiles && *l.P99 < *l.P50:
		c.Problem(at+".p99", "%v is below p50 %v", short(time.Duration(*l.P99)),
			short(time.Duration(*l.P50)))
	}
}

func (c *topologyChecker) quantiles(at string, points []quantileSection) {
	if len(points) == 0 {
		c.Problem(at, "is an empty list; give it a point such as {q: 50%%, value: 20ms}")
	}
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		if *b.Q < *a.Q || *b.Value < *a.Value {
			c.Problem(strict.At(at, i), "is below the point before it; both numbers must rise")
		}
	}
}

// core asks the simulator, whose word counts.
func (c *topologyChecker) core(at string, f *topologySection) {
	t, err := c.builder.build(f)
	if err == nil {
		err = t.Check()
	}
	if err == nil {
		return
	}
	for _, problem := range problemsOf(err) {
		c.FieldProblem(at, strings.TrimPrefix(problem.Error(), "rationsim: "))
	}
}
