package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/ration-go/ration/rationsim"
)

// tower is a file with so many services, each of which calls the next, under a name
// that is made of its number.
func tower(services int, name func(i int) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "duration: 2s\nentries:\n- {name: %q, to: %q, load: {rate: 50}}\nservices:\n",
		name(0), name(1))
	for i := 1; i <= services; i++ {
		fmt.Fprintf(&b, "- name: %q\n  latency: {p50: 1ms, p99: 2ms}\n", name(i))
		if i < services {
			fmt.Fprintf(&b, "  calls: [{to: %q}]\n", name(i+1))
		} else {
			b.WriteString("  brownouts: [{from: 500ms, for: 500ms, slower: 500}]\n")
		}
	}
	return b.String()
}

// TestTopologyWidth: ten services fit a terminal, whatever they are called.
func TestTopologyWidth(t *testing.T) {
	skipUnderRace(t)
	for what, name := range map[string]func(int) string{
		"long": func(i int) string { return fmt.Sprintf("orders-%d-%s", i, strings.Repeat("x", 30)) },
		"wide": func(i int) string { return strings.Repeat("服", 30) + fmt.Sprint(i) },
	} {
		for _, flags := range []string{"--seeds 3", "--seeds 1", "--seeds 3 --rivals=aws,envoy"} {
			out, stderr, code := console(t, tower(10, name), strings.Fields("simulate "+flags+" -")...)
			if code != 0 {
				t.Fatal(stderr)
			}
			for line := range strings.Lines(out) {
				// Prose that has nowhere to break is as wide as a name.
				if w := width(strings.TrimSuffix(line, "\n")); w > lineWidth && len(strings.Fields(line)) > 2 {
					t.Errorf("%s %s: wider than %d columns: %q", what, flags, lineWidth, line)
				}
			}
		}
	}
}

func TestShortName(t *testing.T) {
	tests := []struct {
		name    string
		columns int
		want    string
	}{
		{"api", 5, "api"},
		{"catalogue", 9, "catalogue"},
		{"catalogue", 8, "cata…gue"},
		{"catalogue", 7, "cat…gue"},
		{"服务服务服务", 9, "服务…服务"},
		{"服务服务服务", 8, "服务…务"},
	}
	for _, tt := range tests {
		if got := shortName(tt.name, tt.columns); got != tt.want || width(got) > tt.columns {
			t.Errorf("%q in %d columns: %q", tt.name, tt.columns, got)
		}
	}
}

// TestNoCalls: where nothing arrives there is no number, and no NaN.
func TestNoCalls(t *testing.T) {
	skipUnderRace(t)
	text := strings.Replace(twoTiers, "rate: 5", "rate: 0.00001", 1)
	for _, flags := range []string{"", "--json", "--rivals=aws", "--rivals=aws --json"} {
		out, stderr, code := console(t, text, strings.Fields("simulate - "+flags)...)
		if code != 0 || stderr != "" {
			t.Fatalf("%s: %d, %s", flags, code, stderr)
		}
		for _, bad := range []string{"NaN", "Inf", "%!"} {
			if strings.Contains(out, bad) {
				t.Errorf("%s: %s in\n%s", flags, bad, out)
			}
		}
		if !strings.Contains(out, "No call arrived") {
			t.Errorf("%s: no word of it in\n%s", flags, out)
		}
	}
}

// TestTopologyInterrupted: Ctrl-C ends a simulation that would take hours.
func TestTopologyInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range []string{"--preset fleet --seeds 10000", "--chain", "--preset trade --rivals"} {
		var out, stderr strings.Builder
		code := run(ctx, strings.Fields("simulate "+args), strings.NewReader(""), &out, &stderr)
		if code != statusInterrupted || out.String() != "" || stderr.String() != "ration simulate: interrupted\n" {
			t.Errorf("%s: %d, %q, %q", args, code, out.String(), stderr.String())
		}
	}
}

// TestFloors: the row that tells of floors that add up is there when they do, and
// gone when they are divided.
func TestFloors(t *testing.T) {
	skipUnderRace(t)
	for floor, want := range map[string]bool{"3": true, "0.05": false} {
		text := strings.Replace(twoTiers, "to: a,", "to: a, clients: 50, policy: {budget: {minimumPerSecond: "+
			floor+"}},", 1)
		out, _, _ := console(t, text, "simulate", "--seeds", "1", "-")
		const row = "users -> a: 50 processes with a floor of 3/s each send up to 150 retries"
		if got := strings.Contains(strings.Join(strings.Fields(out), " "), row); got != want {
			t.Errorf("with a floor of %s: %t", floor, got)
		}
	}
}

// TestTroubleSeconds: from the first whole second of any trouble up to the end of the
// last, if it ends.
func TestTroubleSeconds(t *testing.T) {
	c, err := readScenario("f.yaml", strings.NewReader(twoTiers+
		"  brownouts: [{from: 10500ms, for: 5s, slower: 2}]\n  failures: [{from: 20s, for: 4500ms, rate: 1}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if from, to := troubleSeconds(c.topology.base); from != 11 || to != 24 {
		t.Errorf("from %d to %d", from, to)
	}
	c.topology.base.Services[1].Failures[0].For = 40e9
	if from, to := troubleSeconds(c.topology.base); from != 0 || to != 0 {
		t.Errorf("of a trouble that lasts: from %d to %d", from, to)
	}
}

// TestListening: the bar hears of every call at an entry, and of no other.
func TestListening(t *testing.T) {
	c, err := readScenario("f.yaml", strings.NewReader(twoTiers))
	if err != nil {
		t.Fatal(err)
	}
	bar := startProgress(t.Context(), io.Discard, false, 1)
	r, err := runTopology(t.Context(), c.topology, 1, 2, bar.count)
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, b := range r.bands {
		for _, report := range b.Reports {
			calls += report.Entries[0].Calls
		}
	}
	if n := int(bar.ended.Load()); n != calls || calls == 0 {
		t.Errorf("heard of %d calls of %d", n, calls)
	}
	if want := c.topology.calls(2); math.Abs(float64(want-int64(calls))) > 0.2*float64(want) {
		t.Errorf("%d calls, where about %d were expected", calls, want)
	}
	if c.topology.variants[0].Topology.Entries[0].Policy.OnEvent != nil {
		t.Error("the scenario has changed")
	}
}

// TestRecoveryCells: a run that does not recover is the worst of all, and the seeds tell
// a variant that always recovers from one that never does.
func TestRecoveryCells(t *testing.T) {
	runs := func(took ...time.Duration) *rationsim.TopologyBands {
		b := &rationsim.TopologyBands{Name: "x"}
		for _, d := range took {
			b.Reports = append(b.Reports, &rationsim.TopologyReport{Entries: []rationsim.EntryReport{
				{Recovered: d > 0, TimeToRecover: d},
			}})
		}
		return b
	}
	never, always := runs(0, 0), runs(time.Second, 3*time.Second)
	r := compared(never, always, runs(time.Second, 0), never)
	m := recovery(0)
	for i, want := range []string{"never never never", "1s 2s 3s", "1s 1s never", "never never never"} {
		if got := strings.Join(r.bandCells(r.bands[i], m), " "); got != want {
			t.Errorf("%d: %s, want %s", i, got, want)
		}
	}
	for i, want := range []string{"", "apart", "1 of 2, not 0", "-"} {
		if got := strings.Join(r.against(i, m), " "); got != want {
			t.Errorf("%d: %q, want %q", i, got, want)
		}
	}
}

// TestFocus: the service that is in trouble; of several the one that gets most, and of
// equals the last.
func TestFocus(t *testing.T) {
	service := func(outages int) rationsim.Service {
		return rationsim.Service{Outages: make([]rationsim.Outage, outages)}
	}
	tests := []struct {
		troubles []int
		worst    []float64
		want     int
	}{
		{[]int{0, 1, 0}, []float64{3, 1, 2}, 1},
		{[]int{0, 0, 0}, []float64{1, 3, 2}, 1},
		{[]int{0, 0, 0}, []float64{2, 2, 1}, 1},
		{[]int{1, 1, 0}, []float64{2, 1, 9}, 0},
	}
	for _, tt := range tests {
		r := compared(&rationsim.TopologyBands{})
		r.base.Services = nil
		for i := range tt.troubles {
			r.base.Services = append(r.base.Services, service(tt.troubles[i]))
			r.bands[0].Services = append(r.bands[0].Services, rationsim.ServiceBands{
				Amplification: rationsim.Band{Median: tt.worst[i]},
			})
		}
		if got := r.mostStrained(); got != tt.want {
			t.Errorf("%v, %v: %d, want %d", tt.troubles, tt.worst, got, tt.want)
		}
	}
}

// TestManyPaths: a file of a few kilobytes with more paths through it than anyone could
// walk is refused at once.
func TestManyPaths(t *testing.T) {
	var b strings.Builder
	b.WriteString("duration: 2s\nentries:\n- {to: s0, load: {rate: 1}}\nservices:\n")
	for i := range 60 {
		fmt.Fprintf(&b, "- {name: s%d, latency: {p50: 1ms, p99: 2ms}, calls: [{to: s%d}, {to: s%[2]d}]}\n", i, i+1)
	}
	b.WriteString("- {name: s60, latency: {p50: 1ms, p99: 2ms}}\n")
	_, err := readScenario("f.yaml", strings.NewReader(b.String()))
	if err == nil || !strings.Contains(err.Error(), "calls in all, more than") {
		t.Errorf("got %v", err)
	}
}
