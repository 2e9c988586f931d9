package rationsim

import (
	"testing"

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
