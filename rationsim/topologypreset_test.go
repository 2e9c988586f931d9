package rationsim

import (
	"slices"
	"testing"
	"time"

	"github.com/ration-go/ration"
)

// compare runs a preset over seeds, without those of its variants that are not
// named.
func compare(t *testing.T, preset string, seeds int, names ...string) []*TopologyBands {
	t.Helper()
	skipUnderRace(t)
	_, all, ok := TopologyPreset(preset)
	if !ok {
		t.Fatalf("no preset %q", preset)
	}
	var variants []Variant
	for _, name := range names {
		i := slices.IndexFunc(all, func(v Variant) bool { return v.Name == name })
		if i < 0 {
			t.Fatalf("preset %q has no variant %q", preset, name)
		}
		variants = append(variants, all[i])
	}
	bands, err := CompareSeeds(t.Context(), variants, 1, seeds)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bands {
		for _, r := range b.Reports {
			topologyConserves(t, r)
		}
	}
	return bands
}

func TestTopologyPresetsAreValid(t *testing.T) {
	for _, name := range TopologyPresetNames() {
		first, variants, ok := TopologyPreset(name)
		if !ok || len(variants) < 2 || first.Name != name {
			t.Errorf("preset %q: %v, %d variants of %q", name, ok, len(variants), first.Name)
		}
		for _, v := range variants {
			if err := v.Topology.Check(); err != nil {
				t.Errorf("preset %q, variant %q: %v", name, v.Name, err)
			}
		}
	}
	if _, _, ok := TopologyPreset("no such"); ok {
		t.Error("there is a preset of a name that nobody gave")
	}
}

// A trigger that ends, after which the system without a budget stays down: in
// every ten seconds of the rest of the run, goodput is below half of what is
// offered. The one with a budget recovers.
func TestMetastable(t *testing.T) {
	bands := compare(t, "metastable", 3, "no budget", "budget")
	_, variants, _ := TopologyPreset("metastable")
	over, _ := variants[0].Topology.Services[1].troubledUntil()
	from := int(over/time.Second) + 1
	to := int(variants[0].Topology.Duration / time.Second)
	for i, r := range bands[0].Reports {
		for at := from; at+10 <= to; at += 10 {
			if share := goodput(r.Entries[0].Timeline[at : at+10]); share >= 0.5 {
				t.Errorf("seed %d: without a budget goodput is %v after %d s", r.Seed, share, at)
			}
		}
		with := bands[1].Reports[i].Entries[0]
		if share := goodput(with.Timeline[to-60 : to]); share < 0.99 || !with.Recovered {
			t.Errorf("seed %d: with a budget goodput is %v, recovered: %v", r.Seed, share, with.Recovered)
		}
	}
	calm := goodput(bands[0].Reports[0].Entries[0].Timeline[:40])
	if calm < 0.99 {
		t.Errorf("goodput before the trigger is %v", calm)
	}
}

// goodput returns what succeeded as a share of what was offered.
func goodput(seconds []EdgeSecond) float64 {
	offered, succeeded := 0, 0
	for _, s := range seconds {
		offered += s.Offered
		succeeded += s.Succeeded
	}
	return float64(succeeded) / float64(offered)
}

// The floor's weak point: n processes send n times the floor into a total outage,
// and bring n full buckets. Divided by their number it is one floor at most: each
// bucket then needs minutes to accrue its next token.
func TestFleetFloor(t *testing.T) {
	bands := compare(t, "fleet", 2, "budget", "budget, floor divided")
	extra := func(r *TopologyReport) float64 { // retries a second, once the buckets are empty
		sum := 0
		for _, s := range r.Entries[0].Timeline[60:90] {
			sum += s.Attempts - s.Offered
		}
		return float64(sum) / 30
	}
	for _, r := range bands[0].Reports {
		if got, want := extra(r), 3.0*fleetPods; got < 0.9*want || got > 1.1*want {
			t.Errorf("%v retries a second, want about %v", got, want)
		}
	}
	for _, r := range bands[1].Reports {
		if got := extra(r); got > 4 {
			t.Errorf("%v retries a second with divided floors, want 3 at most", got)
		}
	}
	if !Separates(bands[0].Services[0].Amplification, bands[1].Services[0].Amplification) {
		t.Error("dividing the floor makes no difference to the worst second")
	}
}

// What each of the other presets is there to show.
func TestPresetsShowWhatTheySay(t *testing.T) {
	t.Run("brownout", func(t *testing.T) {
		b := compare(t, "brownout", 2, "no budget", "budget", "budget, loop broken")
		worst := func(i int) Band { return b[i].Services[1].Amplification }
		if !Separates(worst(0), worst(1)) || worst(0).Min < 2 || worst(1).Max > 2 {
			t.Errorf("worst seconds are %v and %v", worst(0), worst(1))
		}
		if m := b[2].Services[0].LoadMultiplier; m.Max > 1.001 {
			t.Errorf("with the loop broken the gateway multiplies by %v", m)
		}
	})
	t.Run("chain", func(t *testing.T) {
		b := compare(t, "chain", 2, "no budget", "budget", "budget, loop broken")
		worst := func(i int) Band { return b[i].Services[2].Amplification }
		if worst(0).Min < 1.8 || worst(1).Max > 1.6 || worst(2).Max > 1.2 {
			t.Errorf("worst seconds are %v, %v and %v", worst(0), worst(1), worst(2))
		}
		if d := b[0].Reports[0].Edges[0]; !d.Nested || d.NestedCalls != d.Calls {
			t.Errorf("%d of %d calls nest", d.NestedCalls, d.Calls)
		}
	})
	t.Run("throttled", func(t *testing.T) {
		b := compare(t, "throttled", 3, "no budget", "budget")
		if !Separates(b[0].Services[0].Amplification, b[1].Services[0].Amplification) {
			t.Error("a budget makes no difference to a service that throttles")
		}
		if b[0].Reports[0].Entries[0].Throttled == 0 {
			t.Error("nothing was throttled")
		}
	})
	t.Run("bad-replica", func(t *testing.T) {
		b := compare(t, "bad-replica", 2, "no budget", "budget", "no retries")
		with, none := b[1].Entries[0].Availability, b[2].Entries[0].Availability
		if with.Min < 0.999 || none.Max > 0.96 {
			t.Errorf("availability is %v with a budget and %v without retries", with, none)
		}
	})
	t.Run("backfill", func(t *testing.T) {
		b := compare(t, "backfill", 3, "budget", "budget, unlabelled")
		for i, r := range b[0].Reports {
			rows := r.Entries[0].ByCriticality
			blind := b[1].Reports[i].Entries[0].Availability
			if rows[0].Availability > blind || rows[1].Availability < blind+0.02 {
				t.Errorf("availability by level is %+v, unlabelled %v", rows, blind)
			}
		}
	})
	t.Run("cold-restart", func(t *testing.T) {
		b := compare(t, "cold-restart", 2, "no budget", "budget")
		without, with := b[0].Entries[0].TimeToRecover, b[1].Entries[0].TimeToRecover
		if b[1].Entries[0].Recovered != 2 || without.Min < 2*with.Max {
			t.Errorf("recovery takes %v without and %v with a budget", without, with)
		}
	})
}

// The mean-field bound for a chain: about 1 + depth × fraction with budgets, and
// 1 + fraction at any depth where the word of having given up is obeyed. Without
// budgets it is the attempts to the power of the depth.
func TestChainTable(t *testing.T) {
	skipUnderRace(t)
	const deepest = 3 // CI shows all eight: see docs/simulator.md
	rows, err := ChainTable(t.Context(), deepest, 1)
	if err != nil {
		t.Fatal(err)
	}
	power := 1.0
	for i, row := range rows {
		power *= 3
		bound := 1 + 0.1*float64(row.Depth)
		if row.Depth != i+1 || row.NoBudget != power {
			t.Errorf("row %d: %+v, want depth %d and %v without a budget", i, row, i+1, power)
		}
		if row.Budget > bound+0.02 || row.Budget < 1+0.85*(bound-1) {
			t.Errorf("depth %d: %v, want about %v", row.Depth, row.Budget, bound)
		}
		if row.Broken > 1.12 || row.Broken < 1.08 {
			t.Errorf("depth %d: %v with the loop broken, want about 1.1", row.Depth, row.Broken)
		}
	}
}

// A caller whose measured ceiling is shorter than the waits of the service below
// gives up before it hears that the service has: nobody obeys a word that comes
// too late. With a floor above those waits the loop is broken as without a
// ceiling.
func TestCeilingsAboveLoops(t *testing.T) {
	skipUnderRace(t)
	base := Chain(3, 0.25)
	base.Duration = 20 * time.Second
	load := func(c *ration.Ceiling, obey bool) float64 {
		p := base.WithPolicies(func(_, _ string, p ration.Policy) ration.Policy {
			p.Ceiling = c
			return p
		})
		if obey {
			p = p.WithObedience()
		}
		return topologyRun(t, p, 1).Services[2].LoadMultiplier
	}
	for _, tt := range []struct {
		name    string
		ceiling *ration.Ceiling
	}{
		{"no ceiling", ration.NoCeiling},
		{"floor of 500 ms", &ration.Ceiling{Floor: 500 * time.Millisecond}},
		{"default ceiling", nil},
	} {
		nested, broken := load(tt.ceiling, false), load(tt.ceiling, true)
		t.Logf("%s: %.2f attempts at the bottom, %.2f with the loop broken", tt.name, nested, broken)
		if tt.ceiling != nil && (broken > 1.12 || nested < 1.25) {
			t.Errorf("%s: %v attempts, and %v with the loop broken", tt.name, nested, broken)
		}
	}
}
