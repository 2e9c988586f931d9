package report

import (
	"fmt"
	"math"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationsim"
)

// Synthetic results look as those of a simulation do. What the page makes of them
// does not depend on how a run went, and they are there in no time.

// quiet is a random number of its own for every second of every run, in [0, 1).
func quiet(seed, side, second int) float64 {
	x := uint64(seed)*0x9e3779b97f4a7c15 + uint64(side)*0xbf58476d1ce4e5b9
	x += uint64(second) * 0x94d049bb133111eb
	x ^= x >> 31
	x *= 0x7fb5d329728ea185
	x ^= x >> 27
	return float64(x>>11) / (1 << 53)
}

// synthetic returns the report of a topology that is in trouble from 30 s to
// 90 s, on sides that amplify by these factors.
func synthetic(t rationsim.Topology, names []string, factors []float64, seeds int) Report {
	r := Report{
		Name:     t.Name,
		Question: "Fifty pods behind a gateway that retries: what happens in the bad minute?",
		Verdict: "A budget on every edge keeps the worst second on the database at 1.31 times its " +
			"load instead of 8.62 times, and costs 0.4 points of availability.",
		Duration: t.Duration,
		Assumptions: []Assumption{
			{"arrivals", "500 calls a second on average, at random (Poisson), for 5m"},
			{"latency", "log-normal through p50 20ms and p99 200ms, drawn anew for each attempt"},
			{"failures", "none at random; a timeout, an outage or a full queue is a failure"},
		},
		Command: "ration simulate --preset chain --seeds 5 --html report.html",
		Seeds:   "Seeds 1 to 5", Version: "ration (devel) go1.26.8 linux/amd64",
	}
	for i, name := range names {
		b := &rationsim.TopologyBands{Name: name}
		for seed := range seeds {
			b.Reports = append(b.Reports, syntheticRun(t, i, seed, factors[i]))
		}
		syntheticBands(b)
		r.Bands = append(r.Bands, b)
		r.Variants = append(r.Variants, rationsim.Variant{Name: name, Topology: t})
	}
	return r
}

func syntheticBands(b *rationsim.TopologyBands) {
	of := func(number func(*rationsim.TopologyReport) float64) rationsim.Band {
		return rationsim.BandOf(b.Reports, func(r *rationsim.TopologyReport) (float64, bool) {
			return number(r), true
		})
	}
	for i, e := range b.Reports[0].Entries {
		b.Entries = append(b.Entries, rationsim.EntryBands{EdgeBands: rationsim.EdgeBands{
			From: e.From, To: e.To,
			Amplification: of(func(r *rationsim.TopologyReport) float64 {
				return r.Entries[i].Amplification
			}),
			Availability: of(func(r *rationsim.TopologyReport) float64 {
				return r.Entries[i].Availability
			}),
		}})
	}
	for i, e := range b.Reports[0].Edges {
		b.Edges = append(b.Edges, rationsim.EdgeBands{
			From: e.From, To: e.To,
			Amplification: of(func(r *rationsim.TopologyReport) float64 {
				return r.Edges[i].Amplification
			}),
			Availability: of(func(r *rationsim.TopologyReport) float64 {
				return r.Edges[i].Availability
			}),
		})
	}
	for i, s := range b.Reports[0].Services {
		b.Services = append(b.Services, rationsim.ServiceBands{
			Name: s.Name,
			Amplification: of(func(r *rationsim.TopologyReport) float64 {
				return r.Services[i].Amplification
			}),
		})
	}
}

func syntheticRun(t rationsim.Topology, side, seed int, factor float64) *rationsim.TopologyReport {
	r := &rationsim.TopologyReport{Name: t.Name, Seed: uint64(seed)}
	luck := 1 + 0.08*(quiet(seed, side, 9999)-0.5)
	n := int(t.Duration.Seconds()) + 8
	edge := func(from, to string, depth int) rationsim.EdgeReport {
		a := 1 + (factor-1)*luck/float64(depth+1)
		e := rationsim.EdgeReport{
			From: from, To: to,
			Calls: 500 * n, Succeeded: int(float64(500*n) * (0.97 - 0.01*factor*luck)),
			Amplification: a, LoadMultiplier: 1 + (a-1)/4, Nested: depth > 0,
			Latency: &rationsim.Latencies{P99: time.Duration(300*factor*luck) * time.Millisecond},
		}
		e.Availability = float64(e.Succeeded) / float64(e.Calls)
		for s := range n {
			e.Timeline = append(e.Timeline, syntheticSecond(seed, side, s, n, factor))
		}
		return e
	}
	for _, e := range t.Entries {
		er := rationsim.EntryReport{
			EdgeReport: edge(entryName(e), e.To, 0), Recovered: seed > 0 || side > 0,
			TimeToRecover: time.Duration(factor*luck*2000) * time.Millisecond,
		}
		for i, c := range []ration.Criticality{ration.Sheddable, ration.Critical} {
			er.ByCriticality = append(er.ByCriticality, rationsim.CriticalityReport{
				Criticality: c, Calls: 1000, Succeeded: 950 + 40*i - int(factor*luck)})
		}
		r.Entries = append(r.Entries, er)
	}
	for i, s := range t.Services {
		for _, c := range s.Calls {
			r.Edges = append(r.Edges, edge(s.Name, c.To, 1+i%3))
		}
		sr := rationsim.ServiceReport{
			Name: s.Name, Amplification: factor * luck, LoadMultiplier: 1 + (factor-1)*luck/5,
		}
		for sec := range n {
			e := syntheticSecond(seed, side, sec, n, factor)
			sr.Timeline = append(sr.Timeline, rationsim.ServiceSecond{
				Received: e.Attempts, Refused: e.Attempts / 9, Queue: max(0, e.Attempts-520), Busy: float64(e.Attempts) / 10})
		}
		r.Services = append(r.Services, sr)
	}
	return r
}

func syntheticSecond(seed, side, s, n int, factor float64) rationsim.EdgeSecond {
	offered := 480 + 40*quiet(seed, side, s)
	if s >= n-8 {
		offered = 0
	}
	bad := 0.0
	from, to := (n-8)/10, (n-8)*3/10
	if s >= from && s < to {
		bad = 1 - math.Exp(-float64(s-from+1)/4)
	} else if s >= to {
		bad = math.Exp(-float64(s-to) / (2 + 2*factor))
	}
	attempts := offered * (1 + bad*(factor-1)*(0.92+0.16*quiet(seed, side, s+1e6)))
	good := offered * (1 - bad*(0.3+0.05*factor))
	return rationsim.EdgeSecond{
		Offered: int(offered), Attempts: int(attempts), Succeeded: max(0, int(good)),
		Failed:          max(0, int(offered-good)),
		RefusedByBudget: int(bad * 200 / factor), Budget: min(1, bad*2/factor),
		P50: time.Duration(20+100*bad*factor) * time.Millisecond,
		P99: time.Duration((200+3000*bad)*(0.8+0.4*quiet(seed, side, s+2e6))) * time.Millisecond,
	}
}

func chainTopology(length time.Duration) rationsim.Topology {
	return rationsim.Topology{
		Name: "chain", Duration: length,
		Entries: []rationsim.Entry{
			{Name: "users", To: "gateway", Clients: 50, Load: rationsim.Load{Rate: 500}},
		},
		Services: []rationsim.Service{
			{Name: "gateway", Replicas: 50, Calls: []rationsim.Edge{{To: "orders"}}},
			{Name: "orders", Replicas: 12, Concurrency: 40, Calls: []rationsim.Edge{{To: "database"}}},
			{Name: "database", Replicas: 1, Concurrency: 400, Brownouts: []rationsim.Brownout{
				{From: length / 10, For: length / 5, Slower: 8}}},
		},
	}
}

// bigTopology has thirty services in six tiers, some of them shared.
func bigTopology() rationsim.Topology {
	t := rationsim.Topology{Name: "thirty services", Duration: 5 * time.Minute}
	name := func(i int) string {
		return []string{"gateway", "checkout", "search", "account", "inventory", "pricing",
			"recommendation", "notification-dispatcher", "ledger", "fraud"}[i%10] +
			map[bool]string{true: fmt.Sprintf("-%d", i/10), false: ""}[i >= 10]
	}
	for i := range 3 {
		t.Entries = append(t.Entries, rationsim.Entry{Name: []string{"web", "mobile", "partners"}[i],
			To: name(i), Clients: 20, Load: rationsim.Load{Rate: 500}})
	}
	for i := range 30 {
		s := rationsim.Service{Name: name(i), Replicas: 1 + i}
		for _, to := range []int{2*i + 3, 2*i + 4} {
			if to < 29 {
				s.Calls = append(s.Calls, rationsim.Edge{To: name(to)})
			}
		}
		if i%4 == 0 && i < 28 {
			s.Calls = append(s.Calls, rationsim.Edge{To: name(29)})
		}
		t.Services = append(t.Services, s)
	}
	t.Services[29].Outages = []rationsim.Outage{{From: 30 * time.Second, For: time.Minute}}
	return t
}
