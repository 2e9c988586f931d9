package rationsim

import (
	"strings"
	"testing"
	"time"

	"github.com/ration-go/ration"
)

// topologyConserves checks what holds of every report: each call and each request
// ended once, what was sent was received, and the timelines hold all there was.
func topologyConserves(t *testing.T, r *TopologyReport) {
	t.Helper()
	sent := make(map[string]int)
	edges := r.Edges
	for _, n := range r.Entries {
		edges = append(edges, n.EdgeReport)
		sum := 0
		for _, c := range n.ByCriticality {
			sum += c.Calls
		}
		same(t, n.From+" calls by criticality", sum, n.Calls)
	}
	for _, d := range edges {
		edgeConserves(t, &d)
		sent[d.To] += d.Attempts
	}
	for _, s := range r.Services {
		same(t, s.Name+" received of what was sent", s.Received, sent[s.Name])
		refused := s.Down + s.Throttled + s.Shed + s.Expired
		same(t, s.Name+" ended", s.Succeeded+s.Failed+refused+s.Canceled, s.Received)
		var sum ServiceSecond
		for _, x := range s.Timeline {
			sum.Received += x.Received
			sum.Succeeded += x.Succeeded
			sum.Failed += x.Failed
			sum.Refused += x.Refused
			sum.Wasted += x.Wasted
		}
		want := ServiceSecond{
			Received: s.Received, Succeeded: s.Succeeded, Failed: s.Failed,
			Refused: refused, Wasted: s.Wasted,
		}
		if sum != want {
			t.Errorf("%s over time %+v, want %+v", s.Name, sum, want)
		}
	}
}

func edgeConserves(t *testing.T, d *EdgeReport) {
	t.Helper()
	name := d.From + " to " + d.To
	var sum EdgeSecond
	for _, x := range d.Timeline {
		sum.Offered += x.Offered
		sum.Attempts += x.Attempts
		sum.Succeeded += x.Succeeded
		sum.Failed += x.Failed
		sum.Canceled += x.Canceled
		sum.RefusedByBudget += x.RefusedByBudget
		sum.RefusedByBreaker += x.RefusedByBreaker
	}
	want := EdgeSecond{
		Offered: d.Calls, Attempts: d.Attempts, Succeeded: d.Succeeded, Failed: d.Failed,
		Canceled:         d.Canceled,
		RefusedByBudget:  d.Stops[ration.StopBudgetExhausted],
		RefusedByBreaker: d.Stops[ration.StopUnavailable],
	}
	if sum != want {
		t.Errorf("%s over time %+v, want %+v", name, sum, want)
	}
	stopped := 0
	for _, n := range d.Stops {
		stopped += n
	}
	same(t, name+" stopped", stopped, d.Calls)
	same(t, name+" ended", d.Succeeded+d.Failed+d.Canceled, d.Calls)
}

func same(t *testing.T, name string, got, want int) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %d, want %d", name, got, want)
	}
}

func TestCheckOfATopologyNamesEveryProblem(t *testing.T) {
	p := Topology{
		Entries: []Entry{
			{To: "nowhere", Clients: -1, Load: Load{Rate: -1, Users: 3}},
			{
				Name: "a", To: "a", Policy: ration.Policy{Attempts: -1},
				Load: Load{Shape: []Point{{time.Second, -1}, {0, 1}}, Sheddable: 0.7, CriticalPlus: 0.7},
			},
			{To: "a", Load: Load{Trace: []time.Duration{2, 1}, Burst: Burst{Factor: 9, Share: 0.5}}},
			{To: "a", Load: Load{}},
		},
		Services: []Service{
			{
				Name: "a", Replicas: -1, Order: 7, Queue: 3,
				Latency:   Latency{P50: 1, P99: 1, Exponential: 1},
				Failures:  []Failing{{For: 1, Rate: 2}},
				Bad:       []BadReplica{{Replica: 1, Slower: 0.5, FailureRate: -1}},
				Cold:      &Cold{},
				RateLimit: &RateLimit{RetryAfter: -1},
				Calls:     []Edge{{To: "b", Times: 5000, Policy: ration.Policy{Deadline: -5}}},
			},
			{Name: "a", Latency: Latency{Quantiles: []Quantile{{0.5, 2}, {0.4, 1}, {2, -1}}}},
			{},
		},
	}
	err := p.Check()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"Duration 0s",
		`Entries[0].To "nowhere" is no service`, "Entries[0].Clients -1",
		"Entries[0].Load has 2 of", "Entries[0].Load.Rate -1", "Entries[0].Load.Think 0s",
		`Entries[1].Name "a" is that of a service`, "Entries[1].Policy: ration: invalid policy",
		"Entries[1].Load.Shape[0].Rate -1", "Entries[1].Load.Shape[1].At 0s is out of order",
		"Entries[1].Load.Sheddable 0.7 and CriticalPlus 0.7",
		"Entries[2].Load.Trace[1] 1ns is out of order", "Entries[2].Load.Burst has no effect",
		"Entries[2].Load.Burst.Factor 9", "Entries[2].Load.Burst.Length 0s",
		`Entries[3].Name "to a" is that of an earlier`, "Entries[3].Load has 0 of",
		"Services[0].Latency has more than one", "Services[0].Replicas -1", "Services[0].Order 7",
		"Services[0].Queue 3 has no effect", "Services[0].Failures[0].Rate 2",
		"Services[0].Bad[0].Replica 1", "Services[0].Bad[0].Slower 0.5",
		"Services[0].Bad[0].FailureRate -1", "Services[0].Cold.Slower 0",
		"Services[0].Cold.HalfLife 0", "Services[0].Cold has no effect without Outages",
		"Services[0].RateLimit.PerSecond 0", "Services[0].RateLimit.Burst 0",
		"Services[0].RateLimit.RetryAfter -1ns",
		`Services[0].Calls[0].To "b" is no service`, "Services[0].Calls[0].Times 5000",
		"Services[0].Calls[0].Policy: ration: invalid policy",
		`Services[1].Name "a" is that of an earlier`, "Services[1].Latency.Quantiles[1] is below",
		"Services[1].Latency.Quantiles[2].Q 2", "Services[2].Name is empty",
		"Services[2].Latency.P50 0s",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		if !strings.HasPrefix(line, "rationsim: ") {
			t.Errorf("a problem without the package's name: %s", line)
		}
	}
}

func TestCheckOfPaths(t *testing.T) {
	service := func(name string, to ...string) Service {
		s := Service{Name: name, Latency: quick}
		for _, n := range to {
			s.Calls = append(s.Calls, Edge{To: n})
		}
		return s
	}
	for _, tt := range []struct {
		name     string
		services []Service
		rate     float64
		want     string // "" = nothing is wrong
	}{
		{"a diamond", []Service{
			service("a", "b", "c"), service("b", "d"), service("c", "d"), service("d"),
		}, 1, ""},
		{"itself", []Service{service("a", "a")}, 1, "a -> a"},
		{"a cycle", []Service{
			service("a", "b"), service("b", "c"), service("c", "d"), service("d", "b"),
		}, 1, "b -> c -> d -> b"},
		{"out of reach", []Service{service("a"), service("b", "c"), service("c")}, 1,
			`Services[1] "b" is called by nobody`},
		{"too much", []Service{service("a", "b", "b"), service("b")}, 300_000,
			"54000000 calls in all"},
	} {
		p := Topology{
			Duration: time.Minute,
			Entries:  []Entry{{To: "a", Load: Load{Rate: tt.rate}}},
			Services: tt.services,
		}
		err := p.Check()
		if tt.want == "" && err != nil || tt.want != "" &&
			(err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: error is %v, want %q", tt.name, err, tt.want)
		}
	}
	if err := (Topology{}).Check(); err == nil || !strings.Contains(err.Error(), "Entries is empty") {
		t.Errorf("the error of the zero topology is %v", err)
	}
}

// Weights follow all paths, and paths that meet add up.
func TestWeights(t *testing.T) {
	p := Topology{
		Duration: 10 * time.Second,
		Entries:  []Entry{{To: "a", Load: Load{Rate: 50}}, {To: "c", Load: Load{Rate: 20}}},
		Services: []Service{
			{Name: "d", Latency: quick},
			{Name: "a", Latency: quick, Calls: []Edge{{To: "b", Times: 3}, {To: "c"}}},
			{Name: "b", Latency: quick, Calls: []Edge{{To: "d"}}},
			{Name: "c", Latency: quick, Calls: []Edge{{To: "d", Times: 2}}},
		},
	}
	r := topologyRun(t, p, 1)
	for _, s := range r.Services {
		if s.LoadMultiplier != 1 || s.Amplification > 1.3 {
			t.Errorf("%s: nothing is retried, but the multipliers are %v and %v",
				s.Name, s.LoadMultiplier, s.Amplification)
		}
	}
	if got, want := r.Services[0].Received, 5*r.Entries[0].Calls+2*r.Entries[1].Calls; got != want {
		t.Errorf("the bottom received %d, want %d", got, want)
	}
}
