package rationsim

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/ration-go/ration"
)

// down returns a topology whose one service is down all the time, and a budget of
// ten tokens and one a second for each client.
func down(t *testing.T, load Load, clients int) Topology {
	t.Helper()
	b, err := ration.NewBudget(0.1, 1)
	if err != nil {
		t.Fatal(err)
	}
	return Topology{
		Duration: 20 * time.Second,
		Entries: []Entry{{
			To: "down", Clients: clients, Load: load,
			Policy: ration.Policy{Name: "down", Budget: b, Ceiling: ration.NoCeiling},
		}},
		Services: []Service{{Name: "down", Latency: quick, Outages: []Outage{{For: time.Hour}}}},
	}
}

// Each client has a bucket of its own, also of a budget that the policy names, and
// a share of the load to spend it on.
func TestEachClientHasABudget(t *testing.T) {
	for name, load := range map[string]Load{
		"open loop":   {Rate: 200},
		"closed loop": {Users: 100, Think: 300 * ms},
	} {
		p := down(t, load, 5)
		e := ran(t, p, 1)
		r := e.report(1)
		retries := r.Entries[0].Attempts - r.Entries[0].Calls
		if most := 5 * (10 + 20 + 1); retries > most || retries < most-15 {
			t.Errorf("%s: %d retries, want about %d", name, retries, most)
		}
		if b := p.Entries[0].Policy.Budget; b.UtilizationAt(epoch.Add(p.Duration)) > 0 {
			t.Errorf("%s: the policy's own bucket was spent", name)
		}
		spent := r.Entries[0].Timeline[15].Budget
		if spent < 0.9 || spent > 1 {
			t.Errorf("%s: the budgets are spent to %v", name, spent)
		}
	}
	calm := down(t, Load{Rate: 10}, 1)
	calm.Services[0].Outages = nil
	if r := topologyRun(t, calm, 1); r.Entries[0].Timeline[15].Budget != 0 {
		t.Errorf("without a retry the budget is spent to %v", r.Entries[0].Timeline[15].Budget)
	}
}

// Simulated executors are no business of the process's telemetry.
func TestExecutorsAreUnlisted(t *testing.T) {
	e, err := newEngine(down(t, Load{Rate: 1}, 2), 1)
	if err != nil {
		t.Fatal(err)
	}
	listed := slices.ContainsFunc(ration.Executors(), func(x *ration.Executor) bool {
		return x.Policy().Name == "down"
	})
	if listed || len(e.edges[0].clients) != 2 {
		t.Error("an executor of the simulation is listed")
	}
}

// The level of criticality travels to the third hop, whose budget keeps half of
// its tokens from sheddable work.
func TestCriticalityTravels(t *testing.T) {
	retries := func(sheddable float64) int {
		p := down(t, Load{Rate: 200, Sheddable: sheddable}, 1)
		p.Duration = 2 * time.Second
		edge := Edge{To: "down", Policy: p.Entries[0].Policy}
		once := ration.Policy{Attempts: 1}
		p.Entries[0].To, p.Entries[0].Policy = "top", once
		p.Services = append(p.Services,
			Service{Name: "top", Latency: quick, Calls: []Edge{{To: "middle", Policy: once}}},
			Service{Name: "middle", Latency: quick, Calls: []Edge{edge}})
		d := topologyRun(t, p, 1).Edges[1]
		if d.Nested || d.NestedCalls > 0 {
			t.Errorf("%d calls nest, though nobody above retries", d.NestedCalls)
		}
		return d.Attempts - d.Calls
	}
	if all, half := retries(0), retries(1); all < 10 || all > 13 || half < 5 || half > 8 {
		t.Errorf("%d retries of critical and %d of sheddable work, want 10 to 12 and 5 to 7", all, half)
	}
}

// A queue that stands is in every second of the timeline, not only in the one in
// which it grew; and work is in each second for as long as it lasts.
func TestTimelineOfWhatLasts(t *testing.T) {
	s := Service{Name: "slow", Latency: constant(3500 * ms), Concurrency: 1, Queue: 5}
	r := topologyRun(t, calls(patient(), []time.Duration{500 * ms, 500 * ms, 600 * ms}, s), 1)
	timeline := r.Services[0].Timeline
	for i, want := range []ServiceSecond{
		{Received: 3, Queue: 2, Busy: 0.5}, {Queue: 2, Busy: 1}, {Queue: 2, Busy: 1},
		{Queue: 2, Busy: 1}, {Queue: 2, Busy: 1, Succeeded: 1}, {Queue: 1, Busy: 1},
	} {
		want.Utilization = want.Busy
		got := timeline[i]
		if math.Abs(got.Busy-want.Busy) < 1e-9 {
			got.Busy, got.Utilization = want.Busy, want.Utilization
		}
		if got != want {
			t.Errorf("second %d: %+v, want %+v", i, timeline[i], want)
		}
	}
	if last := timeline[len(timeline)-1]; last.Queue != 0 || last.Succeeded != 1 || len(timeline) != 12 {
		t.Errorf("the last of %d seconds is %+v", len(timeline), last)
	}
	edge := r.Entries[0].Timeline
	if edge[4].P50 != 3500*ms || edge[4].P99 != 3500*ms || edge[5].P50 != 0 {
		t.Errorf("quantiles of the calls that ended are %+v", edge[4])
	}
}

// The last entry of a timeline stands for an hour and more, and its averages are
// over all of that.
func TestLastSecondIsLong(t *testing.T) {
	p := calls(patient(), []time.Duration{0}, Service{
		Name: "slow", Latency: constant(3 * time.Hour), Concurrency: 1,
	})
	p.Duration = time.Second
	timeline := topologyRun(t, p, 1).Services[0].Timeline
	if last := timeline[len(timeline)-1]; len(timeline) != 3602 || math.Abs(last.Busy-1) > 1e-9 {
		t.Errorf("the last of %d entries is %+v", len(timeline), last)
	}
}
