package drill

import (
	"math"
	"slices"
	"time"
)

// A Result is what a phase came to, as programs read it.
type Result struct {
	Name      string  `json:"name"`
	Budgets   Budgets `json:"budget"`
	Actions   int     `json:"actions"`
	Succeeded int     `json:"succeeded"`
	Client    Client  `json:"client"`
	Tiers     []Tier  `json:"tiers"`

	// BurstRetries are those that only the tokens can have funded with which the
	// buckets began.
	BurstRetries int `json:"burst_retries"`

	// Amplification is attempts at the database for each user action, the burst
	// left out. Each retry, of whichever hop, adds one attempt at the database,
	// and so leaving out a retry leaves out one attempt.
	Amplification float64 `json:"amplification"`

	// WorstSecond is the same for the worst second, with the burst, which is often
	// what makes it the worst.
	WorstSecond float64 `json:"amplification_worst_second"`

	// Simulated is what the simulator says of the phase.
	Simulated Model `json:"simulated"`

	Latency  Latency `json:"latency_s"`
	Duration float64 `json:"duration_s"` // until the last action had ended
}

// Client is where user actions begin. Nobody calls it, so it is no tier.
type Client struct {
	Retries  int `json:"retries"`
	Refusals int `json:"refusals"` // calls whose retry the budget refused
}

// A Tier is a server: the attempts that reached it, and what its own calls reported.
type Tier struct {
	Name          string `json:"name"`
	Attempts      int    `json:"attempts"`
	NestedRetries int    `json:"nested_retries"` // calls that could retry for a caller that could
	Refusals      int    `json:"refusals"`       // calls whose retry the budget refused
	Retries       int    `json:"retries"`
}

// Latency is that of user actions, failed ones too, in seconds.
type Latency struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// SuccessRate is the share of user actions that succeeded.
func (r *Result) SuccessRate() float64 { return float64(r.Succeeded) / float64(r.Actions) }

// result adds up a phase that has run to its end.
func (d *Drill) result(p Phase, n *counts, actions []action, elapsed time.Duration) *Result {
	r := &Result{
		Name:     p.Name(),
		Budgets:  p.Budgets,
		Actions:  len(actions),
		Duration: elapsed.Seconds(),
		Latency:  latencyOf(actions),
	}
	for _, a := range actions {
		if a.err == nil {
			r.Succeeded++
		}
	}
	first := &n.hops[hopClient]
	r.Client = Client{int(first.retries.Load()), int(first.refused.Load())}
	for i, name := range tierNames {
		t := Tier{Name: name, Attempts: n.tiers[i].count()}
		if out := i + 1; out < hops {
			h := &n.hops[out]
			t.NestedRetries = int(h.nested.Load())
			t.Refusals = int(h.refused.Load())
			t.Retries = int(h.retries.Load())
		}
		r.Tiers = append(r.Tiers, t)
	}
	if p.Budgets != Off {
		for i := range n.hops {
			r.BurstRetries += n.hops[i].burst(elapsed, d.Allowance())
		}
	}
	bottom := &n.tiers[tierDatabase]
	r.Amplification = float64(bottom.count()-r.BurstRetries) / float64(r.Actions)
	r.WorstSecond = d.worstSecond(bottom)
	return r
}

// worstSecond returns the most attempts in one second for each action that begins
// in one. Actions begin evenly, so that it makes no difference in which. What comes
// of less than a second of load is taken as that of one second.
func (d *Drill) worstSecond(attempts *tally) float64 {
	if d.Each < time.Second {
		return float64(attempts.count()) / float64(d.Actions())
	}
	return float64(attempts.most()) / float64(d.Rate)
}

func latencyOf(actions []action) Latency {
	var took []time.Duration
	for _, a := range actions {
		took = append(took, a.took)
	}
	slices.Sort(took)
	at := func(q float64) float64 {
		return took[int(math.Ceil(q*float64(len(took))))-1].Seconds()
	}
	return Latency{P50: at(0.50), P99: at(0.99)}
}
