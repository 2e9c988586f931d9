package main

import (
	"path/filepath"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationconfig"
	"github.com/ration-go/ration/rationconfig/strict"
	"github.com/ration-go/ration/rationsim"
)

// A topologyBuilder makes topologies of what files say. Files that they name are
// read once, relative to where the scenario is.
type topologyBuilder struct {
	name     string
	duration time.Duration
	dir      string
	policies map[string]map[string]ration.Policy // by the file
	traces   map[string][]time.Duration
}

func newTopologyBuilder(name string, duration time.Duration, file string) *topologyBuilder {
	return &topologyBuilder{
		name:     name,
		duration: duration,
		dir:      filepath.Dir(file),
		policies: make(map[string]map[string]ration.Policy),
		traces:   make(map[string][]time.Duration),
	}
}

func (b *topologyBuilder) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(b.dir, name)
}

// build expects that nothing is wrong with the topology.
func (b *topologyBuilder) build(f *topologySection) (rationsim.Topology, error) {
	t := rationsim.Topology{Name: b.name, Duration: b.duration}
	for i := range f.Entries {
		e := &f.Entries[i]
		policy, limiter, err := b.edge(&e.edgeSettings)
		if err != nil {
			return t, err
		}
		load, err := b.load(e.Load)
		if err != nil {
			return t, err
		}
		t.Entries = append(t.Entries, rationsim.Entry{
			Name:       e.name(),
			To:         *e.To,
			Clients:    orZero(e.Clients),
			Load:       load,
			Policy:     policy,
			Limiter:    limiter,
			ObeyGiveUp: orZero(e.ObeyGiveUp),
		})
	}
	for i := range f.Services {
		s := f.Services[i].service()
		for j := range f.Services[i].Calls {
			c := &f.Services[i].Calls[j]
			policy, limiter, err := b.edge(&c.edgeSettings)
			if err != nil {
				return t, err
			}
			s.Calls = append(s.Calls, rationsim.Edge{
				To:         *c.To,
				Policy:     policy,
				Limiter:    limiter,
				Times:      orZero(c.Times),
				ObeyGiveUp: orZero(c.ObeyGiveUp),
				Optional:   orZero(c.Optional),
			})
		}
		t.Services = append(t.Services, s)
	}
	return t, nil
}

// edge returns what decides about retries on an edge. A limiter takes the place of
// the policy's budget.
func (b *topologyBuilder) edge(s *edgeSettings) (
	p ration.Policy, limiter func() rationsim.Limiter, err error,
) {
	switch {
	case s.PolicyFile != nil:
		if p, err = b.policy(*s.PolicyFile); err != nil {
			return p, nil, err
		}
		if s.Policy != nil { // which then says no more than this, see setEdge
			p.Budget = ration.NoBudget
		}
	case s.Policy != nil:
		if p, err = s.Policy.Build(); err != nil {
			return p, nil, err
		}
	}
	if s.Limiter != nil && *s.Limiter != rationLimiter {
		rival, _ := rationsim.RivalNamed(*s.Limiter)
		limiter = rival.New
		p.Budget = ration.NoBudget
	}
	return p, limiter, nil
}

// rationLimiter stands for the policy's own budget where a limiter is named.
const rationLimiter = "ration"

// policy returns the policy that FILE#NAME stands for.
func (b *topologyBuilder) policy(reference string) (ration.Policy, error) {
	file, name := cutRef(reference)
	if file == "" || name == "" {
		return ration.Policy{}, usage("%q is not FILE#NAME, a file of policies and the name of one",
			shortened(reference))
	}
	file = b.path(file)
	if b.policies[file] == nil {
		read, err := rationconfig.Policies(file)
		if err != nil {
			return ration.Policy{}, err
		}
		b.policies[file] = read
	}
	p, ok := b.policies[file][name]
	if !ok {
		return p, usage("%s has no policy %q; %s", file, name,
			strict.Meant(name, sortedKeys(b.policies[file])))
	}
	return p, nil
}

func (s *serviceSection) service() rationsim.Service {
	x := rationsim.Service{
		Name:          *s.Name,
		Replicas:      orZero(s.Replicas),
		Latency:       s.Latency.latency(),
		FailureRate:   float64(orZero(s.FailureRate)),
		Concurrency:   orZero(s.Concurrency),
		Queue:         orZero(s.Queue),
		DropExpired:   orZero(s.DropExpired),
		CancelsWork:   orZero(s.CancelsWork),
		KeepsDeadline: orZero(s.KeepsDeadline),
		Brownouts:     brownouts(s.Brownouts),
		Outages:       outages(s.Outages),
		Parallel:      orZero(s.Parallel),
	}
	if orZero(s.Order) == "lifo" {
		x.Order = rationsim.LIFO
	}
	for _, f := range s.Failures {
		x.Failures = append(x.Failures, rationsim.Failing{
			From: time.Duration(*f.From), For: time.Duration(*f.For), Rate: float64(*f.Rate),
		})
	}
	for _, b := range s.Bad {
		x.Bad = append(x.Bad, rationsim.BadReplica{
			Replica: *b.Replica,
			From:    time.Duration(orZero(b.From)), For: time.Duration(orZero(b.For)),
			Slower: orZero(b.Slower), FailureRate: float64(orZero(b.FailureRate)),
		})
	}
	if c := s.Cold; c != nil {
		x.Cold = &rationsim.Cold{Slower: *c.Slower, HalfLife: *c.HalfLife}
	}
	if r := s.RateLimit; r != nil {
		x.RateLimit = &rationsim.RateLimit{
			PerSecond: *r.PerSecond, Burst: *r.Burst,
			RetryAfter: time.Duration(orZero(r.RetryAfter)),
		}
	}
	return x
}

func (l *serviceLatency) latency() rationsim.Latency {
	x := rationsim.Latency{
		P50:         time.Duration(orZero(l.P50)),
		P99:         time.Duration(orZero(l.P99)),
		Exponential: time.Duration(orZero(l.Exponential)),
	}
	for _, q := range l.Quantiles {
		x.Quantiles = append(x.Quantiles, rationsim.Quantile{
			Q: float64(*q.Q), Value: time.Duration(*q.Value),
		})
	}
	return x
}

func brownouts(sections []brownoutSection) (list []rationsim.Brownout) {
	for _, b := range sections {
		list = append(list, rationsim.Brownout{
			From: time.Duration(*b.From), For: time.Duration(*b.For), Slower: *b.Slower,
		})
	}
	return list
}

func outages(sections []outageSection) (list []rationsim.Outage) {
	for _, o := range sections {
		list = append(list, rationsim.Outage{
			From: time.Duration(*o.From), For: time.Duration(*o.For),
		})
	}
	return list
}
