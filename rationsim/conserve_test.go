package rationsim

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ration-go/ration"
)

// randomTopology returns a topology with a bit of everything in it. Services call
// only later ones, so that there is no cycle, and the first is an entry's.
func randomTopology(seed uint64) Topology {
	x := rand.New(rand.NewPCG(seed, 1))
	t := Topology{Name: "random", Duration: time.Duration(1+x.IntN(6)) * time.Second}
	n := 1 + x.IntN(5)
	for i := range n {
		t.Services = append(t.Services, randomService(x, i, n))
	}
	for i := 1; i < n; i++ { // each is called by one before it
		j := x.IntN(i)
		t.Services[j].Calls = append(t.Services[j].Calls, randomEdge(x, i))
	}
	for i := range 1 + x.IntN(3) {
		to := 0
		if i > 0 {
			to = x.IntN(n)
		}
		t.Entries = append(t.Entries, Entry{
			Name: fmt.Sprint("entry ", i), To: name(to), Policy: randomPolicy(x),
			Clients: x.IntN(4), Load: randomLoad(x), ObeyGiveUp: x.IntN(2) == 0,
			Limiter: randomLimiter(x),
		})
	}
	return t
}

func name(i int) string { return fmt.Sprint("service ", i) }

func randomService(x *rand.Rand, i, n int) Service {
	s := Service{
		Name:          name(i),
		Replicas:      x.IntN(4),
		FailureRate:   0.3 * x.Float64() * float64(x.IntN(2)),
		DropExpired:   x.IntN(2) == 0,
		CancelsWork:   x.IntN(2) == 0,
		KeepsDeadline: x.IntN(2) == 0,
		Order:         Order(x.IntN(2)),
		Parallel:      x.IntN(2) == 0,
	}
	ms := time.Millisecond
	switch p50 := time.Duration(1+x.IntN(30)) * ms; x.IntN(3) {
	case 0:
		s.Latency = Latency{P50: p50, P99: p50 * time.Duration(1+x.IntN(9))}
	case 1:
		s.Latency = Latency{Exponential: p50}
	default:
		s.Latency = Latency{Quantiles: []Quantile{{0.1, ms}, {0.5, p50}, {0.5, p50}, {1, 10 * p50}}}
	}
	if x.IntN(2) == 0 {
		s.Concurrency, s.Queue = 1+x.IntN(6), x.IntN(20)
	}
	at := func() time.Duration { return time.Duration(x.IntN(3000)) * ms }
	if x.IntN(3) == 0 {
		s.Brownouts = []Brownout{{at(), at() + 1, 1 + 9*x.Float64()}}
	}
	if x.IntN(3) == 0 {
		s.Outages = []Outage{{at(), at() + 1}}
		s.Cold = &Cold{Slower: 5, HalfLife: 10}
	}
	if x.IntN(3) == 0 {
		s.Failures = []Failing{{at(), at() + 1, x.Float64()}}
	}
	if x.IntN(3) == 0 {
		s.Bad = []BadReplica{{From: at(), Slower: 3, FailureRate: 0.5}}
	}
	if x.IntN(4) == 0 {
		s.RateLimit = &RateLimit{PerSecond: 20 + 100*x.Float64(), Burst: 5, RetryAfter: at()}
	}
	return s
}

func randomEdge(x *rand.Rand, to int) Edge {
	return Edge{
		To: name(to), Policy: randomPolicy(x), Times: x.IntN(3), Limiter: randomLimiter(x),
		ObeyGiveUp: x.IntN(2) == 0, Optional: x.IntN(3) == 0,
	}
}

func randomLimiter(x *rand.Rand) func() Limiter {
	all := Rivals()
	if x.IntN(2) == 0 {
		return nil
	}
	return all[x.IntN(len(all))].New
}

func randomPolicy(x *rand.Rand) ration.Policy {
	p := ration.Policy{
		Attempts:       x.IntN(4),
		AttemptTimeout: time.Duration(20+x.IntN(300)) * time.Millisecond,
		Deadline:       time.Duration(x.IntN(2)) * time.Duration(100+x.IntN(2000)) * time.Millisecond,
	}
	if x.IntN(2) == 0 {
		p.Budget = ration.NoBudget
	}
	if x.IntN(2) == 0 {
		p.Backoff = ration.NoBackoff
	}
	if x.IntN(3) == 0 {
		p.Breaker = &ration.BreakerSettings{Break: 500 * time.Millisecond}
	}
	return p
}

func randomLoad(x *rand.Rand) (l Load) {
	s := time.Second
	switch x.IntN(5) {
	case 0:
		l.Rate = 1 + 100*x.Float64()
	case 1:
		l.Shape = Spike(20, 4, s, s)
	case 2:
		l.Rate, l.Burst = 50, Burst{Factor: 3, Share: 0.2, Length: 100 * time.Millisecond}
	case 3:
		l.Users, l.Think = 1+x.IntN(20), 100*time.Millisecond
	default:
		for i := range 100 {
			l.Trace = append(l.Trace, time.Duration(i*i)*time.Millisecond)
		}
	}
	l.Sheddable, l.CriticalPlus = x.Float64()/2, x.Float64()/2
	return l
}

// Whatever the topology, nothing is lost and nothing is counted twice, and no
// call or request is left over.
func TestEveryTopologyConserves(t *testing.T) {
	for seed := range uint64(200) {
		conservesAll(t, seed)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzTopology(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(conservesAll)
}

func conservesAll(t *testing.T, seed uint64) {
	e := ran(t, randomTopology(seed), seed)
	topologyConserves(t, e.report(seed))
	for _, s := range e.servers {
		same(t, s.Name+" still holds", s.tally.holding, 0)
		same(t, s.Name+" still queues", s.tally.waiting, 0)
		for _, r := range s.replicas {
			same(t, s.Name+" replica still holds", r.busy+r.queue.len, 0)
		}
	}
}
