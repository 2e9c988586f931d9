package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/ration-go/ration/rationsim"
)

// seen is a variant that served and sent so much, with each seed: shares of 1000 calls,
// and the worst second of the only service.
func seen(name string, served []int, worst ...float64) *rationsim.TopologyBands {
	b := &rationsim.TopologyBands{Name: name}
	for i, n := range served {
		e := rationsim.EntryReport{ByCriticality: []rationsim.CriticalityReport{{
			Calls: 1000, Succeeded: n,
		}}}
		b.Reports = append(b.Reports, &rationsim.TopologyReport{
			Entries:  []rationsim.EntryReport{e},
			Services: []rationsim.ServiceReport{{Name: "db", Amplification: worst[i]}},
		})
	}
	return b
}

// compared is a result of variants on a topology of one service.
func compared(bands ...*rationsim.TopologyBands) *topologyResult {
	return &topologyResult{
		topologyComparison: &topologyComparison{base: rationsim.Topology{
			Entries:  []rationsim.Entry{{Name: "users", To: "db"}},
			Services: []rationsim.Service{{Name: "db"}},
		}},
		bands: bands,
	}
}

// TestRivalsVerdict: the sentence puts every rival where its bands put it.
func TestRivalsVerdict(t *testing.T) {
	r := &rivalsResult{compared(
		seen("ration", []int{900, 910}, 1.2, 1.3),
		seen("ahead", []int{950, 960}, 1.2, 1.3),   // more calls, as much load
		seen("generous", []int{950, 960}, 2, 2.1),  // more calls, more load
		seen("stingy", []int{850, 860}, 1.0, 1.1),  // fewer calls, less load
		seen("behind", []int{850, 860}, 1.25, 1.4), // fewer calls, as much load
		seen("hopeless", []int{850, 860}, 2, 2.1),  // fewer calls, more load
		seen("alike", []int{905, 911}, 1.25, 1.3),  // no difference
	)}
	const want = "Ration has 90.50% of availability and a worst second of 1.25x at db. " +
		"It loses to \"ahead\" (95.50%, 1.25x) in one number and wins in none. " +
		"It loses availability, at a better worst second, to \"generous\" (95.50%, 2.05x). " +
		"It loses on the worst second, at a better availability, to \"stingy\" (85.50%, 1.05x). " +
		"It wins against \"behind\", \"hopeless\" in one number at least and loses in none."
	if got := r.verdict(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	r.bands = r.bands[:1]
	r.bands = append(r.bands, seen("hopeless", []int{850, 860}, 2, 2.1))
	if got := r.verdict(); !strings.HasSuffix(got, "Here it loses to none of the rivals.") {
		t.Errorf("got %s", got)
	}
}

// TestRivalsOrder: who serves more comes first, and of equals who sends less.
func TestRivalsOrder(t *testing.T) {
	r := &rivalsResult{compared(
		seen("ration", []int{900}, 1.2), seen("a", []int{800}, 1), seen("b", []int{900}, 1.1),
		seen("c", []int{950}, 3),
	)}
	var names []string
	for _, b := range r.sorted() {
		names = append(names, b.Name)
	}
	if want := []string{"c", "b", "ration", "a"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	if r.bands[0].Name != "ration" {
		t.Error("sorting moved the result's own")
	}
}

// TestTopologyVerdict: what is compared, and whether the seeds agree.
func TestTopologyVerdict(t *testing.T) {
	tests := []struct {
		name  string
		bands []*rationsim.TopologyBands
		want  string
	}{
		{"one", []*rationsim.TopologyBands{seen("a", []int{900}, 1)},
			"There is only one variant, so there is nothing to compare it with."},
		{"one seed", []*rationsim.TopologyBands{seen("a", []int{900}, 2), seen("b", []int{800}, 1)},
			`Compared with "a", "b" cuts the worst second at db from 2.00x to 1.00x and costs 10.00 points ` +
				`of availability (90.00% to 80.00%).`},
		{"apart", []*rationsim.TopologyBands{seen("a", []int{900, 910}, 1, 1.1), seen("b", []int{950, 960}, 2, 3)},
			`By medians over 2 seeds, and compared with "a", "b" raises the worst second at db from 1.05x to ` +
				`2.50x and gains 5.00 points of availability (90.50% to 95.50%), both bands apart.`},
		{"chance", []*rationsim.TopologyBands{seen("a", []int{900, 910}, 1, 1.1), seen("b", []int{905, 909}, 1.05, 1.05)},
			`By medians over 2 seeds, and compared with "a", "b" leaves the worst second at db at 1.05x and gains ` +
				`0.20 points of availability (90.50% to 90.70%), but both bands overlap, so it may be chance.`},
	}
	for _, tt := range tests {
		if got := compared(tt.bands...).verdict(); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// TestRivalsFlag: all of them, or those that are named.
func TestRivalsFlag(t *testing.T) {
	for args, want := range map[string][]string{
		"":                        nil,
		"--rivals":                rivalNames(),
		"--rivals=envoy,aws a":    {"envoy", "aws"},
		"--rivals --preset=x":     rivalNames(),
		"--preset=x --rivals=aws": {"aws"},
	} {
		o, err := simulateFlags(strings.Fields(args))
		if err != nil || !slices.Equal(o.rivals, want) {
			t.Errorf("%s: %q, %v", args, o.rivals, err)
		}
	}
	_, err := simulateFlags([]string{"--rivals=envoi"})
	if err == nil || err.Error() != `there is no rival "envoi"; did you mean envoy?` {
		t.Errorf("got %v", err)
	}
}

// TestAgainst: rivals take the place of every budget, and Ration that of every rival.
func TestAgainst(t *testing.T) {
	c, err := openScenario(everyKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := c.asTopology().against([]string{"aws"})
	for _, e := range edgesOf(r.variants[0].Topology) {
		if p := resolved(e.policy); e.limiter || p.Budget == nil {
			t.Errorf("ration: %s has a limiter, or no budget", e.name())
		}
	}
	for _, e := range edgesOf(r.variants[1].Topology) {
		if p := resolved(e.policy); !e.limiter || p.Budget != nil {
			t.Errorf("aws: %s has no limiter, or a budget", e.name())
		}
	}
	if got := r.variants[0].Topology.Services[0].Calls[1].Policy.Budget.Fraction(); got != 0.2 {
		t.Errorf("ration lost the numbers of a budget: fraction %v", got)
	}
	if c.topology.base.Entries[2].Limiter == nil {
		t.Error("the scenario changed")
	}
}
