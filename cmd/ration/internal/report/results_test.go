package report

import (
	"strings"
	"testing"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationsim"
)

// simulated runs a topology of two services and an entry without a name.
func simulated(t *testing.T, rate float64, seeds int) Report {
	t.Helper()
	work := rationsim.Latency{P50: 5 * time.Millisecond, P99: 9 * time.Millisecond}
	topology := func(b *ration.Budget) rationsim.Topology {
		p := ration.Policy{Budget: b}
		return rationsim.Topology{
			Name: "two", Duration: 6 * time.Second,
			Entries: []rationsim.Entry{{
				To: "front", Load: rationsim.Load{Rate: rate, Sheddable: 0.3}, Policy: p,
			}},
			Services: []rationsim.Service{
				{Name: "front", Latency: work, Calls: []rationsim.Edge{{To: "back", Times: 2, Policy: p}}},
				{Name: "back", Latency: work, Replicas: 2, Failures: []rationsim.Failing{
					{From: time.Second, For: 2 * time.Second, Rate: 0.5},
				}},
			},
		}
	}
	variants := []rationsim.Variant{
		{Name: "no budget", Topology: topology(ration.NoBudget)},
		{Name: "budget", Topology: topology(nil)},
	}
	bands, err := rationsim.CompareSeeds(t.Context(), variants, 1, seeds)
	if err != nil {
		t.Fatal(err)
	}
	return Report{Duration: 6 * time.Second, Bands: bands, Variants: variants}
}

// What the simulator reports finds its place: names, levels, troubles, nesting.
func TestSimulated(t *testing.T) {
	page := write(t, simulated(t, 100, 2))
	for _, want := range []string{
		"<bdi>to front</bdi>", "Load on back", "Critical<small>", "Sheddable<small>",
		"50% fail from 1s to 3s", "<bdi>front → back</bdi>", "Recovered after", "Afterwards",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// The dotted line is what arrives without retries: two calls at the back for each
// at the front.
func TestExpected(t *testing.T) {
	r := simulated(t, 100, 1)
	v, err := r.view()
	if err != nil {
		t.Fatal(err)
	}
	load, goodput := v.charts[0], v.charts[1]
	for i, b := range load.lines[1].sides[1] {
		if offered := goodput.lines[1].sides[1][i]; b.median != 2*offered.median {
			t.Errorf("second %d: %v expected for %v offered", i, b.median, offered.median)
		}
	}
}

// A run without calls has a page, of dashes instead of numbers.
func TestNothingArrived(t *testing.T) {
	r := simulated(t, 1e-9, 1)
	page := write(t, r)
	if !strings.Contains(page, "<b>"+noNumber+"</b>") || strings.Contains(page, "NaN") {
		t.Error("the page has numbers of nothing")
	}
	if strings.Contains(page, `<figure class="chart"`) {
		t.Error("the page has charts of nothing")
	}
	wellFormed(t, r)
}
