package drill

import (
	"context"
	"time"

	"github.com/ration-go/ration/rationsim"
)

// A Model is what the simulator says of a phase. It is told the chain, the policies
// and the trouble, and nothing of what the drill has seen.
type Model struct {
	Succeeded     float64 `json:"success_rate"`
	Amplification float64 `json:"amplification"` // as that of a [Result]
}

// hopTime is what the simulator takes for an answer over loopback. What comes of a
// phase hardly depends on it: it is short beside what the trouble and backoffs take.
const hopTime = time.Millisecond

// modelSeed is any seed: a phase has enough actions for one run to tell.
const modelSeed = 1

// Model simulates a phase with a seed.
func (d *Drill) Model(ctx context.Context, p Phase, seed uint64) (Model, error) {
	report, err := rationsim.RunTopology(ctx, d.topology(p), seed)
	if err != nil {
		return Model{}, err
	}
	users := report.Entries[0]
	m := Model{Succeeded: users.Availability}
	bottom := report.Services[len(report.Services)-1].Received
	if p.Budgets != Off {
		elapsed := time.Duration(len(users.Timeline)) * time.Second
		for _, e := range append([]rationsim.EdgeReport{users.EdgeReport}, report.Edges...) {
			var h hop
			h.retries.Store(int64(e.Attempts - e.Calls))
			h.succeeded.Store(int64(e.Succeeded))
			bottom -= h.burst(elapsed, d.Allowance())
		}
	}
	m.Amplification = float64(bottom) / float64(users.Calls)
	return m, nil
}

// topology is the chain of a phase as the simulator has it.
func (d *Drill) topology(p Phase) rationsim.Topology {
	obey := p.Budgets == LoopBroken
	arrivals := make([]time.Duration, d.Actions())
	for i := range arrivals {
		arrivals[i] = time.Duration(i) * time.Second / time.Duration(d.Rate)
	}
	quick := rationsim.Latency{P50: hopTime, P99: hopTime}
	late := quick
	if p.Trouble.Late > 0 {
		late = rationsim.Latency{P50: p.Trouble.Late, P99: p.Trouble.Late}
	}
	return rationsim.Topology{
		Name:     p.Name(),
		Duration: arrivals[len(arrivals)-1] + time.Second/time.Duration(d.Rate),
		Entries: []rationsim.Entry{{
			Name:       hopNames[hopClient],
			To:         tierNames[tierFrontend],
			Load:       rationsim.Load{Trace: arrivals},
			Policy:     d.policy(p, hopClient),
			ObeyGiveUp: obey,
		}},
		Services: []rationsim.Service{{
			Name:        tierNames[tierFrontend],
			Latency:     quick,
			CancelsWork: true,
			Calls: []rationsim.Edge{{
				To:         tierNames[tierBackend],
				Policy:     d.policy(p, hopFrontend),
				ObeyGiveUp: obey,
			}},
		}, {
			Name:        tierNames[tierBackend],
			Latency:     quick,
			CancelsWork: true,
			Calls: []rationsim.Edge{{
				To:         tierNames[tierDatabase],
				Policy:     d.policy(p, hopBackend),
				ObeyGiveUp: obey,
			}},
		}, {
			Name:        tierNames[tierDatabase],
			Latency:     late,
			FailureRate: p.Trouble.Failing,
			CancelsWork: true,
		}},
	}
}
