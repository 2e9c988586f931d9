package main

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ration-go/ration/rationsim"
)

// A topologyContract is what --json promises of several services, in its order.
type topologyContract struct {
	Scenario  string            `json:"scenario"`
	Question  string            `json:"question"`
	Seed      int               `json:"seed"`
	Seeds     int               `json:"seeds"`
	Duration  float64           `json:"duration_s"`
	Focus     string            `json:"focus"`
	Variants  []contractVariant `json:"variants"`
	Separates []struct {
		Variants      []string `json:"variants"`
		Availability  bool     `json:"availability"`
		Amplification bool     `json:"amplification"`
	} `json:"separates"`
	Verdict string `json:"verdict"`
}

type contractVariant struct {
	Name     string            `json:"name"`
	Changes  string            `json:"changes"`
	Entries  []contractEntry   `json:"entries"`
	Edges    []contractEdge    `json:"edges"`
	Services []contractService `json:"services"`
}

type contractBand struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

type contractEdge struct {
	From           string   `json:"from"`
	To             string   `json:"to"`
	Calls          int      `json:"calls"`
	Succeeded      int      `json:"succeeded"`
	Failed         int      `json:"failed"`
	Canceled       int      `json:"canceled"`
	Attempts       int      `json:"attempts"`
	TimedOut       int      `json:"timed_out"`
	Throttled      int      `json:"throttled"`
	Availability   *float64 `json:"availability"`
	LoadMultiplier *float64 `json:"load_multiplier"`
	Amplification  *float64 `json:"amplification"`
	Latency        *struct {
		P50 float64 `json:"p50"`
		P90 float64 `json:"p90"`
		P99 float64 `json:"p99"`
		Max float64 `json:"max"`
	} `json:"latency_s"`
	BreakerOpens int  `json:"breaker_opens"`
	Nested       bool `json:"nested"`
	NestedCalls  int  `json:"nested_calls"`
	Stops        struct {
		Succeeded         int `json:"succeeded"`
		Permanent         int `json:"permanent"`
		AttemptsExhausted int `json:"attempts_exhausted"`
		DeadlineExceeded  int `json:"deadline_exceeded"`
		BudgetExhausted   int `json:"budget_exhausted"`
		Unavailable       int `json:"unavailable"`
		Canceled          int `json:"canceled"`
	} `json:"stops"`
	Bands struct {
		Availability   contractBand `json:"availability"`
		LoadMultiplier contractBand `json:"load_multiplier"`
		Amplification  contractBand `json:"amplification"`
		P99            contractBand `json:"p99_s"`
	} `json:"bands"`
}

type contractEntry struct {
	contractEdge
	ByCriticality []struct {
		Criticality  string   `json:"criticality"`
		Calls        int      `json:"calls"`
		Succeeded    int      `json:"succeeded"`
		Availability *float64 `json:"availability"`
	} `json:"by_criticality"`
	TimeToRecover     *float64      `json:"time_to_recover_s"`
	Recovered         int           `json:"recovered"`
	TimeToRecoverBand *contractBand `json:"time_to_recover_band_s"`
}

type contractService struct {
	Name           string  `json:"name"`
	Received       int     `json:"received"`
	Succeeded      int     `json:"succeeded"`
	Failed         int     `json:"failed"`
	Down           int     `json:"down"`
	Throttled      int     `json:"throttled"`
	Shed           int     `json:"shed"`
	Expired        int     `json:"expired"`
	Canceled       int     `json:"canceled"`
	Wasted         int     `json:"wasted"`
	LoadMultiplier float64 `json:"load_multiplier"`
	Amplification  float64 `json:"amplification"`
	QueueMax       int     `json:"queue_max"`
	UtilizationMax float64 `json:"utilization_max"`
	Bands          struct {
		LoadMultiplier contractBand `json:"load_multiplier"`
		Amplification  contractBand `json:"amplification"`
	} `json:"bands"`
}

// readBack decodes an object and writes it again: no key is missing, none is unknown,
// and the order holds.
func readBack(t *testing.T, text string, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	var back bytes.Buffer
	e := json.NewEncoder(&back)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(into); err != nil {
		t.Fatal(err)
	}
	if back.String() != text {
		t.Errorf("%s", firstDifference(strings.Split(back.String(), "\n"), strings.Split(text, "\n")))
	}
}

const everyKey = "testdata/topology.yaml"

func TestTopologyJSON(t *testing.T) {
	skipUnderRace(t)
	out, stderr, code := console(t, "", "simulate", "--json", "--seeds", "2", everyKey)
	if code != 0 || stderr != "" {
		t.Fatalf("%d, %q", code, stderr)
	}
	var c topologyContract
	readBack(t, out, &c)
	if c.Seed != 3 || c.Seeds != 2 || c.Duration != 40 || c.Focus != "orders" ||
		len(c.Variants) != 3 || len(c.Separates) != 3 {
		t.Errorf("seed %d, %d seeds, %v s, focus %q, %d variants, %d pairs",
			c.Seed, c.Seeds, c.Duration, c.Focus, len(c.Variants), len(c.Separates))
	}
	for _, v := range c.Variants {
		sent := make(map[string]int)
		for _, e := range v.Entries {
			sent[e.To] += e.Attempts
		}
		for _, e := range v.Edges {
			sent[e.To] += e.Attempts
		}
		for _, s := range v.Services {
			ends := s.Succeeded + s.Failed + s.Down + s.Throttled + s.Shed + s.Expired + s.Canceled
			if s.Received != sent[s.Name] || ends != s.Received {
				t.Errorf("%s: %s received %d of %d and ended %d", v.Name, s.Name, s.Received,
					sent[s.Name], ends)
			}
		}
	}
}

// TestCSV: the timelines add up to the totals that JSON has, for a topology and for
// policies on one dependency.
func TestCSV(t *testing.T) {
	skipUnderRace(t)
	file := filepath.Join(t.TempDir(), "out.csv")
	out, stderr, code := console(t, "", "simulate", "--json", "--seeds", "2", "--csv", file, everyKey)
	if code != 0 || stderr != "" {
		t.Fatalf("%d, %q", code, stderr)
	}
	var c topologyContract
	readBack(t, out, &c)
	sums := sumCSV(t, file)
	for _, v := range c.Variants {
		for kind, edges := range map[string][]contractEdge{"edge": v.Edges, "entry": edgesOfEntries(v)} {
			for _, e := range edges {
				key := strings.Join([]string{v.Name, "3", kind, e.From, e.To}, "|")
				got := []int{sums[key]["offered"], sums[key]["attempts"], sums[key]["succeeded"],
					sums[key]["failed"], sums[key]["canceled"]}
				if want := []int{e.Calls, e.Attempts, e.Succeeded, e.Failed, e.Canceled}; !slices.Equal(got, want) {
					t.Errorf("%s: %v, want %v", key, got, want)
				}
			}
		}
		for _, s := range v.Services {
			key := strings.Join([]string{v.Name, "3", "service", "", s.Name}, "|")
			refused := s.Down + s.Throttled + s.Shed + s.Expired
			got := []int{sums[key]["received"], sums[key]["succeeded"], sums[key]["refused"], sums[key]["wasted"]}
			if want := []int{s.Received, s.Succeeded, refused, s.Wasted}; !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", key, got, want)
			}
		}
	}

	out, _, _ = console(t, "", "simulate", "--json", "--csv", file, "testdata/everything.yaml")
	sums = sumCSV(t, file)
	for _, r := range decodeContract(t, out).Runs {
		key := r.Name + "|11|entry|client|dependency"
		if sums[key]["offered"] != r.Calls || sums[key]["attempts"] != r.Attempts ||
			sums[key]["succeeded"] != r.Succeeded {
			t.Errorf("%s: %v, want those of %+v", key, sums[key], r)
		}
	}
}

func edgesOfEntries(v contractVariant) (edges []contractEdge) {
	for _, e := range v.Entries {
		edges = append(edges, e.contractEdge)
	}
	return edges
}

// sumCSV adds the whole numbers of a file up, by variant, seed, kind, from and name.
func sumCSV(t *testing.T, file string) map[string]map[string]int {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(rows[0], csvHeads) {
		t.Errorf("heads %q", rows[0])
	}
	sums := make(map[string]map[string]int)
	for _, row := range rows[1:] {
		key := strings.Join(row[:5], "|")
		if sums[key] == nil {
			sums[key] = make(map[string]int)
		}
		for i, cell := range row[6:] {
			if n, err := strconv.Atoi(cell); err == nil {
				sums[key][csvHeads[6+i]] += n
			}
		}
	}
	return sums
}

// TestUnwritableCSV: a place where no file can be is the user's mistake.
func TestUnwritableCSV(t *testing.T) {
	skipUnderRace(t)
	file := filepath.Join(t.TempDir(), "nowhere", "x.csv")
	out, stderr, code := console(t, "", "simulate", "--seeds", "1", "--csv", file, "--preset", "throttled")
	if out != "" || stderr != "ration simulate: "+file+": no such file or directory\n" || code != statusUnusable {
		t.Errorf("%d, %q, %q", code, out, stderr)
	}
}

// TestVariantFlag: only the variants that are named, in the order of the scenario.
func TestVariantFlag(t *testing.T) {
	skipUnderRace(t)
	out, _, code := console(t, "", "simulate", "--json", "--seeds", "1", "--variant", "changed",
		"--variant", "no budget", everyKey)
	var c topologyContract
	readBack(t, out, &c)
	if code != 0 || len(c.Variants) != 2 || c.Variants[0].Name != "no budget" || c.Variants[1].Name != "changed" {
		t.Errorf("%d, %d variants", code, len(c.Variants))
	}
	_, stderr, code := console(t, "", "simulate", "--variant", "chanced", everyKey)
	if stderr != "ration simulate: there is no variant \"chanced\"; did you mean changed?\n" || code != statusUnusable {
		t.Errorf("%d, %q", code, stderr)
	}
	out, _, _ = console(t, "", "simulate", "--json", "--variant", "budget", "--preset", "partial")
	if runs := decodeContract(t, out).Runs; len(runs) != 1 || runs[0].Name != "budget" {
		t.Errorf("%d runs", len(runs))
	}
}

func TestReadTrace(t *testing.T) {
	ms := time.Millisecond
	tests := []struct {
		text string
		want []time.Duration
		err  string
	}{
		{"0\n0.5\n# more\n\n 1e0 \r\n2", []time.Duration{0, 500 * ms, 1000 * ms, 2000 * ms}, ""},
		{"1\n1", []time.Duration{1000 * ms, 1000 * ms}, ""},
		{"", nil, "t.txt:1: has no arrival"},
		{"# nothing\n", nil, "t.txt:1: has no arrival"},
		{"1\n0.999", nil, "t.txt:2: is earlier than the line before; sort the arrivals"},
		{"1\n-1", nil, "t.txt:2: \"-1\" is not an arrival in seconds since the start, such as 12.345"},
		{"12:30", nil, "t.txt:1: \"12:30\" is not an arrival in seconds since the start, such as 12.345"},
		{"NaN", nil, "t.txt:1: \"NaN\" is not an arrival in seconds since the start, such as 12.345"},
		{"1e300", nil, "t.txt:1: \"1e300\" is not an arrival in seconds since the start, such as 12.345"},
	}
	for _, tt := range tests {
		got, err := readTrace("t.txt", strings.NewReader(tt.text))
		text := ""
		if err != nil {
			text = err.Error()
		}
		if !slices.Equal(got, tt.want) || text != tt.err {
			t.Errorf("%q: got %v, %q", tt.text, got, text)
		}
	}
}

// TestTraceFlag: recorded arrivals take the place of a load, packed or not, and in a
// scenario with one dependency too.
func TestTraceFlag(t *testing.T) {
	file := filepath.Join(t.TempDir(), "arrivals.gz")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	for i := range 50 {
		if _, err := z.Write([]byte(strconv.Itoa(i/10) + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, packed.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"--trace " + file + " --preset fleet", "--trace " + file + " --preset trade",
		"--trace users=" + file + " --variant changed " + everyKey} {
		out, stderr, code := console(t, "", strings.Fields("simulate --json --seeds 1 "+args)...)
		if code != 0 {
			t.Fatalf("%s: %s", args, stderr)
		}
		var c topologyContract
		readBack(t, out, &c)
		for _, v := range c.Variants {
			if n := v.Entries[0].Calls; n != 50 {
				t.Errorf("%s: %s has %d calls", args, v.Name, n)
			}
		}
	}
	for args, want := range map[string]string{
		"--trace " + file + " " + everyKey: "--trace " + file + ": there are several entries; say which, as in users=" +
			file,
		"--trace user=" + file + " " + everyKey: "--trace user=" + file + ": there is no entry \"user\"; did you mean users?",
	} {
		_, stderr, code := console(t, "", strings.Fields("simulate "+args)...)
		if stderr != "ration simulate: "+want+"\n" || code != statusUnusable {
			t.Errorf("%d, %q", code, stderr)
		}
	}
}

// TestAverageRate holds the integral of a shape to sums done by hand.
func TestAverageRate(t *testing.T) {
	s := time.Second
	tests := []struct {
		name     string
		shape    []rationsim.Point
		duration time.Duration
		want     float64
	}{
		{"one point", []rationsim.Point{{At: 5 * s, Rate: 7}}, 10 * s, 7},
		{"ramp in the middle", rationsim.Ramp(0, 10, 2*s, 6*s), 10 * s, (30 + 20) / 10.0},
		{"ramp past the end", rationsim.Ramp(0, 10, 5*s, 10*s), 10 * s, 12.5 / 10},
		{"spike", rationsim.Spike(10, 3, 2*s, 1*s), 10 * s, 12},
		{"step at the start", []rationsim.Point{{At: 0, Rate: 1}, {At: 0, Rate: 5}}, 10 * s, 5},
		{"after the end", []rationsim.Point{{At: 0, Rate: 4}, {At: 20 * s, Rate: 8}}, 10 * s, 5},
	}
	for _, tt := range tests {
		if got := averageRate(rationsim.Load{Shape: tt.shape}, tt.duration); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
