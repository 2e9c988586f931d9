package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationsim"
)

const trafficSamples = "internal/traffic/testdata"

// TestCalibrateGolden writes a scenario of each sample, and checks that it can be used.
func TestCalibrateGolden(t *testing.T) {
	tests := []struct {
		golden string
		args   []string
	}{
		{"nginx", []string{"nginx-timed.log"}},
		{"nginx-full", []string{"--format", `$msec $host "$request" $status $request_time ` +
			`[$upstream_addr] [$upstream_status] [$upstream_response_time]`, "nginx-full.log"}},
		{"json", []string{"nginx-json.log"}},
		{"apache", []string{"apache-timed.log"}},
		{"spans", []string{"otlp-spans.json.gz"}},
		{"prometheus", []string{"--interval", "5m", "prometheus-1.txt", "prometheus-2.txt"}},
	}
	wd, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.golden, func(t *testing.T) {
			t.Chdir(trafficSamples)
			stdout, stderr, code := console(t, "", append([]string{"calibrate"}, tt.args...)...)
			if code != 0 {
				t.Fatal(stderr)
			}
			if _, err := readScenario("calibrated.yaml", strings.NewReader(stdout)); err != nil {
				t.Errorf("the scenario cannot be used: %v", err)
			}
			t.Chdir(wd)
			golden(t, "calibrate/"+tt.golden+".golden", []byte(stdout+"\n"+stderr))
		})
	}
}

// TestCalibrateUnusable refuses what it cannot use, on one line, with the status of
// unusable input.
func TestCalibrateUnusable(t *testing.T) {
	tests := []struct {
		args  string
		stdin string
		want  string
	}{
		{"nowhere.log", "", "nowhere.log: does not exist"},
		{"testdata", "", "testdata: is a directory"},
		{"", "", "there is nothing in stdin"},
		{"", "hello\n", "in no format that is known"},
		{"--input nginz", "", `--input "nginz" cannot be read`},
		{"--input json", "a\nb\n", "2 of 2 lines cannot be read as json; the first of them, stdin:1, is not"},
		{"--format $status", "x", "--format has no time that can be read"},
		{"--format $time_local$status", "x", "--format has nothing before $status"},
		{"--format %{", "x", "--format"},
		{"--unit weeks", "", "it is not one of s, ms, us, ns"},
		{"--points 0", "", "it is not a whole number from 1 to 1000"},
		{"--interval -1s", "", "--interval -1s is negative"},
		{"- -", "", "reads standard input once"},
		{"--metric none", "# HELP x\nx 1\n", "none of 1 series is a call"},
	}
	for _, tt := range tests {
		stdout, stderr, code := console(t, tt.stdin, append([]string{"calibrate"}, strings.Fields(tt.args)...)...)
		if code != statusUnusable || !strings.Contains(stderr, tt.want) || stdout != "" ||
			strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: status %d, %s%s", tt.args, code, stdout, stderr)
		}
	}
}

// TestCalibrateJSON prints what was read as one object.
func TestCalibrateJSON(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.yaml")
	stdout, stderr, code := console(t, "", "calibrate", "--json", "--o", file,
		trafficSamples+"/nginx-timed.log")
	var got struct {
		Counts   struct{ Read, Used, Local int }
		Services []struct{ Attempts, Failed int }
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 || stderr != "" {
		t.Fatal(err, code, stderr)
	}
	if got.Counts.Used != 210 || got.Services[0].Failed != 26 {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

// TestCalibrateArrivals replays what it has read: as many calls, at the same times.
func TestCalibrateArrivals(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace.txt")
	_, stderr, code := console(t, "", "calibrate", "--arrivals", file, trafficSamples+"/apache-own.log",
		"--format", `%v:%p %h %{sec}t.%{msec_frac}t %{ms}T \"%r\" %>s`)
	if code != 0 {
		t.Fatal(stderr)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	if len(lines) != 122 || lines[1] != "0.273000" || !strings.HasPrefix(lines[0], "#") {
		t.Errorf("%d lines: %s", len(lines), lines[:2])
	}
}

// TestCalibrateRoundTrip simulates traffic, writes the log that a server would, reads
// it, and simulates what was read. The second traffic has the rate of the first within
// 2 %, its quantiles within 6 %, its failures within 10 %, and its dispersion within
// 40 %: the length of bursts is known from a hundred of them, and not well.
func TestCalibrateRoundTrip(t *testing.T) {
	const seconds = 600
	burst := rationsim.BurstOf(200, 5, 3*time.Second)
	shape := rationsim.Ramp(120, 280, 2*time.Minute, 6*time.Minute)
	latency := rationsim.Latency{P50: 20 * time.Millisecond, P99: 250 * time.Millisecond}
	first := simulatedTraffic(t, rationsim.Load{Shape: shape, Burst: burst}, latency, 0.04, seconds, 1)
	for _, form := range []string{"nginx", "json"} {
		t.Run(form, func(t *testing.T) {
			scenario, stderr, code := console(t, first.log(form), "calibrate")
			if code != 0 {
				t.Fatal(stderr)
			}
			c, err := readScenario("stdin", strings.NewReader(scenario))
			if err != nil {
				t.Fatalf("%v\n%s", err, scenario)
			}
			x := c.topology.base
			service := x.Services[0]
			var second *trafficLog
			dispersion := 0.0 // of ten minutes it scatters by a third from seed to seed
			const seeds = 6
			for seed := range uint64(seeds) {
				second = simulatedTraffic(t, x.Entries[0].Load, service.Latency, service.FailureRate,
					x.Duration.Seconds(), seed)
				dispersion += second.dispersion() / seeds
			}
			first.compare(t, second, dispersion)
		})
	}
}

// A trafficLog is what a server has seen: one attempt for each call.
type trafficLog struct {
	at, took []time.Duration
	failed   []bool
}

// simulatedTraffic returns the calls of a simulation, of one attempt each.
func simulatedTraffic(t *testing.T, load rationsim.Load, latency rationsim.Latency, failing float64,
	seconds float64, seed uint64) *trafficLog {
	t.Helper()
	return replayedCalls(t, seed, rationsim.Topology{
		Duration: time.Duration(seconds * 1e9),
		Entries:  []rationsim.Entry{{To: "x", Load: load}},
		Services: []rationsim.Service{{Name: "x", Latency: latency, FailureRate: failing}},
	})
}

// replayedCalls runs a topology of one service and listens as a limiter does, which is
// told when a call begins and ends.
func replayedCalls(t *testing.T, seed uint64, topology rationsim.Topology) *trafficLog {
	t.Helper()
	r := &recording{begun: make(map[*rationsim.Held]time.Duration)}
	topology.Entries[0].Policy = ration.Policy{
		Attempts: 1, Deadline: time.Hour, AttemptTimeout: time.Hour, Ceiling: ration.NoCeiling,
		Budget: ration.NoBudget,
	}
	topology.Entries[0].Limiter = func() rationsim.Limiter { return r }
	if _, err := rationsim.RunTopology(t.Context(), topology, seed); err != nil {
		t.Fatal(err)
	}
	return &r.log
}

// A recording is a limiter that allows everything.
type recording struct {
	log   trafficLog
	begun map[*rationsim.Held]time.Duration
}

func (r *recording) Begin(now time.Duration, h *rationsim.Held)                    { r.begun[h] = now }
func (*recording) Done(time.Duration, *rationsim.Held, rationsim.AttemptEnd)       {}
func (*recording) Resume(time.Duration, *rationsim.Held) bool                      { return true }
func (*recording) Retry(time.Duration, *rationsim.Held, rationsim.AttemptEnd) bool { return true }

func (r *recording) End(now time.Duration, h *rationsim.Held, ok bool) {
	r.log.at = append(r.log.at, r.begun[h])
	r.log.took = append(r.log.took, now-r.begun[h])
	r.log.failed = append(r.log.failed, !ok)
}

// log writes the calls as a server logs them, when they end.
func (l *trafficLog) log(form string) string {
	order := make([]int, len(l.at))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return int(l.at[a] + l.took[a] - l.at[b] - l.took[b]) })
	from := time.Date(2026, 12, 2, 10, 0, 0, 0, time.UTC)
	var b bytes.Buffer
	for _, i := range order {
		status := 200
		if l.failed[i] {
			status = 503
		}
		end := from.Add(l.at[i] + l.took[i])
		if form == "json" {
			fmt.Fprintf(&b, "{\"ts\":%.6f,\"duration_ms\":%.3f,\"status\":%d}\n",
				float64(end.UnixNano())/1e9, l.took[i].Seconds()*1000, status)
			continue
		}
		s := l.took[i].Seconds()
		fmt.Fprintf(&b, "::1 - - [%s] \"GET / HTTP/1.1\" %d 5 \"-\" \"x\" %.3f %.3f\n",
			end.Format("02/Jan/2006:15:04:05 -0700"), status, s, s)
	}
	return b.String()
}

// compare checks that another log is of the same traffic.
func (l *trafficLog) compare(t *testing.T, other *trafficLog, dispersion float64) {
	t.Helper()
	within := func(what string, a, b, share float64) {
		t.Logf("%-11s %10.4f and %10.4f", what, a, b)
		if math.Abs(a-b) > share*a {
			t.Errorf("%s was %v and comes back as %v", what, a, b)
		}
	}
	within("calls", float64(len(l.at)), float64(len(other.at)), 0.02)
	within("failing", l.failing(), other.failing(), 0.1)
	for _, q := range []float64{0.1, 0.5, 0.9, 0.99} {
		within(fmt.Sprintf("quantile %v", q), l.quantile(q), other.quantile(q), 0.06)
	}
	within("dispersion", l.dispersion(), dispersion, 0.4)
	for _, from := range []time.Duration{0, 9 * time.Minute} {
		within(fmt.Sprintf("at %v", from), l.between(from), other.between(from), 0.1)
	}
}

func (l *trafficLog) failing() float64 {
	n := 0
	for _, failed := range l.failed {
		if failed {
			n++
		}
	}
	return float64(n) / float64(len(l.failed))
}

func (l *trafficLog) quantile(q float64) float64 {
	var took []time.Duration
	for i, d := range l.took {
		if !l.failed[i] {
			took = append(took, d)
		}
	}
	slices.Sort(took)
	return took[int(q*float64(len(took)))].Seconds()
}

// between returns how many calls arrive in the minute that begins there.
func (l *trafficLog) between(from time.Duration) float64 {
	n := 0.0
	for _, at := range l.at {
		if at >= from && at < from+time.Minute {
			n++
		}
	}
	return n
}

// dispersion is that of the calls in a second, each beside the next, which leaves the
// trend out.
func (l *trafficLog) dispersion() float64 {
	counts := make([]float64, 601)
	for _, at := range l.at {
		counts[min(int(at.Seconds()), 600)]++
	}
	sum, squares := 0.0, 0.0
	const apart = 8 // seconds, longer than bursts are
	for i := apart; i < 600; i++ {
		sum += counts[i]
		squares += (counts[i] - counts[i-apart]) * (counts[i] - counts[i-apart]) / 2
	}
	return squares / sum
}
