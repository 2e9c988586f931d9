package rationsim

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ration-go/ration"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// All presets give the same bytes on every machine, however many cores it has.
// A change here is a change of what users were told; CHANGELOG.md says why.
func TestReportsRepeatToTheByte(t *testing.T) {
	skipUnderRace(t)
	var got bytes.Buffer
	for _, name := range PresetNames() {
		s, configs, _ := Preset(name)
		for _, c := range configs {
			r, err := Run(s, c, 42)
			if err != nil {
				t.Fatal(err)
			}
			b, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			timeline, err := json.Marshal(r.Timeline)
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(timeline)
			got.WriteString(name + " " + string(b) + " " + hex.EncodeToString(sum[:8]) + "\n")
		}
	}
	golden := filepath.Join("testdata", "presets.golden")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the presets report\n%swant\n%s", got.Bytes(), want)
	}
}

func TestSeedsDoNotDependOnCores(t *testing.T) {
	s, c := small(), Config{Policy: ration.Policy{}}
	s.Dependency.FailureRate = 0.2
	var want []byte
	for _, cores := range []int{1, 2, 7} {
		before := runtime.GOMAXPROCS(cores)
		b, err := RunSeeds(s, c, 1, 5)
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%d cores report\n%s\nwant\n%s", cores, got, want)
		}
	}
}

// C39: reports of almost nothing are valid, and say so where they have nothing.
func TestReportsOfAlmostNothing(t *testing.T) {
	ms := time.Millisecond
	for _, tt := range []struct {
		name      string
		latencies []time.Duration
		stop      ration.StopReason
		want      string
	}{
		{
			name: "no calls",
			want: `{"name":"x","calls":0,"succeeded":0,"failed":0,"attempts":0,` +
				`"availability":null,"load_multiplier":null,"amplification":null,` +
				`"latency_s":null,"breaker_opens":0,"time_to_recover_s":null,` +
				`"stops":{"succeeded":0,"permanent":0,"attempts_exhausted":0,` +
				`"deadline_exceeded":0,"budget_exhausted":0,"unavailable":0}}`,
		},
		{
			name:      "one call",
			latencies: []time.Duration{7 * ms},
			want: `{"name":"x","calls":1,"succeeded":1,"failed":0,"attempts":1,` +
				`"availability":1,"load_multiplier":1,"amplification":1,` +
				`"latency_s":{"p50":0.007,"p90":0.007,"p99":0.007,"max":0.007},` +
				`"breaker_opens":0,"time_to_recover_s":null,` +
				`"stops":{"succeeded":1,"permanent":0,"attempts_exhausted":0,` +
				`"deadline_exceeded":0,"budget_exhausted":0,"unavailable":0}}`,
		},
		{
			name:      "two calls that fail",
			latencies: []time.Duration{3 * ms, 9 * ms},
			stop:      ration.StopUnavailable,
			want: `{"name":"x","calls":2,"succeeded":0,"failed":2,"attempts":2,` +
				`"availability":0,"load_multiplier":1,"amplification":1,` +
				`"latency_s":{"p50":0.003,"p90":0.009,"p99":0.009,"max":0.009},` +
				`"breaker_opens":0,"time_to_recover_s":null,` +
				`"stops":{"succeeded":0,"permanent":0,"attempts_exhausted":0,` +
				`"deadline_exceeded":0,"budget_exhausted":0,"unavailable":2}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var y edgeTally
			for _, l := range tt.latencies {
				y.offered(0)
				y.attempted(0)
				y.ended(0, l, tt.stop)
			}
			n := EntryReport{EdgeReport: y.report()}
			n.Amplification = n.LoadMultiplier
			r := newReport("x", n, y.used, 1)
			conserves(t, r)
			got, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("report is\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// A scenario that ends before its first arrival is a report too.
func TestNoArrivals(t *testing.T) {
	s := small()
	s.Duration, s.Rate = time.Nanosecond, 0.001
	if r := run(t, s, ration.Policy{}, 1); r.Calls != 0 || r.Latency != nil {
		t.Errorf("report is %+v", r)
	}
}

func TestBands(t *testing.T) {
	reports := []*Report{
		{Calls: 1, Availability: 0.9, Recovered: true, TimeToRecover: time.Second},
		{Calls: 1, Availability: 0.7},
		{Calls: 1, Availability: 0.8},
		{Calls: 0},
	}
	b := newBands("x", reports)
	if want := (Band{0.7, 0.8, 0.9}); b.Availability != want {
		t.Errorf("availability is %+v, want %+v", b.Availability, want)
	}
	if want := (Band{1, 1, 1}); b.TimeToRecover != want || b.Recovered != 1 {
		t.Errorf("recovery is %+v in %d runs", b.TimeToRecover, b.Recovered)
	}
	for _, tt := range []struct {
		a, b Band
		want bool
	}{
		{Band{1, 2, 3}, Band{4, 5, 6}, true},
		{Band{4, 5, 6}, Band{1, 2, 3}, true},
		{Band{1, 2, 3}, Band{3, 4, 5}, false},
		{Band{1, 5, 9}, Band{4, 5, 6}, false},
	} {
		if got := Separates(tt.a, tt.b); got != tt.want {
			t.Errorf("Separates(%v, %v) = %v", tt.a, tt.b, got)
		}
	}
}

func TestCheckNamesEveryProblem(t *testing.T) {
	s := Scenario{
		Rate: -1,
		Dependency: Dependency{
			Latency:     Latency{P50: 2, P99: 1},
			FailureRate: 1.5,
			Brownouts:   []Brownout{{From: -1, For: 0, Slower: 0.5}},
			Outages:     []Outage{{For: -1}},
			Concurrency: -1,
			Queue:       -1,
		},
	}
	err := s.Check()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"Duration 0s", "Rate -1", "P99 1ns is below P50 2ns", "FailureRate 1.5",
		"Brownouts[0].From -1ns", "Brownouts[0].For 0s", "Brownouts[0].Slower 0.5",
		"Outages[0].For -1ns", "Concurrency -1", "Queue -1",
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

func TestBadInput(t *testing.T) {
	if _, err := Run(Scenario{}, Config{}, 1); err == nil {
		t.Error("no error for an empty scenario")
	}
	if _, err := Run(small(), Config{Policy: ration.Policy{Attempts: -1}}, 1); err == nil {
		t.Error("no error for a bad policy")
	}
	if _, err := RunSeeds(small(), Config{}, 1, 0); err == nil {
		t.Error("no error for no seeds")
	}
}

// Running a configuration must not spend the bucket that it names.
func TestBudgetIsATemplate(t *testing.T) {
	b, err := ration.NewBudget(0.1, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := small()
	s.Dependency.FailureRate = 1
	p := ration.Policy{Budget: b}
	first := run(t, s, p, 1)
	if second := run(t, s, p, 1); first.Attempts != second.Attempts {
		t.Errorf("the second run made %d attempts, the first %d", second.Attempts, first.Attempts)
	}
	if u := b.UtilizationAt(epoch); u != 0 {
		t.Errorf("the template's utilization is %v", u)
	}
}

// The trade that the preset is named for, on more seeds than one.
func TestTradeSeparates(t *testing.T) {
	skipUnderRace(t)
	s, configs, _ := Preset("trade")
	without, err := RunSeeds(s, configs[0], 1, 5)
	if err != nil {
		t.Fatal(err)
	}
	with, err := RunSeeds(s, configs[1], 1, 5)
	if err != nil {
		t.Fatal(err)
	}
	if !Separates(with.LoadMultiplier, without.LoadMultiplier) ||
		!Separates(with.Amplification, without.Amplification) {
		t.Errorf("load %v and %v, amplification %v and %v: want no overlap", with.LoadMultiplier,
			without.LoadMultiplier, with.Amplification, without.Amplification)
	}
	if a := without.Amplification; a.Min < 1.95 || a.Max > 2.25 {
		t.Errorf("amplification without a budget is %v", a)
	}
	if a := with.Amplification; a.Min < 1.03 || a.Max > 1.15 {
		t.Errorf("amplification with a budget is %v", a)
	}
	for i := range without.Reports {
		cost := without.Reports[i].Availability - with.Reports[i].Availability
		if cost < 0.03 || cost > 0.09 {
			t.Errorf("seed %d: the budget costs %v of availability", without.Reports[i].Seed, cost)
		}
	}
}
