package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationotel"
)

const (
	rulesFile     = "../../rationotel/prometheus/ration.rules.yaml"
	rulesTests    = "../../rationotel/prometheus/ration.rules.test.yaml"
	dashboardFile = "../../rationotel/grafana/ration.json"
)

// TestPrometheus has a real Prometheus scrape a drill, and a service with what a
// drill does not have. Every expression of the alerts and of the dashboard must find
// series with the labels it names, every alert must see what it is for, and the
// amplification that Prometheus computes must be the one that the drill counted.
func TestPrometheus(t *testing.T) {
	if os.Getenv("RATION_PROMETHEUS") != "full" {
		t.Skip("takes half a minute and needs prometheus and promtool; RATION_PROMETHEUS=full runs it")
	}
	promtool(t, "check", "rules", rulesFile)
	promtool(t, "test", "rules", rulesTests)

	service := startService(t)
	address := freeAddress(t)
	p := startPrometheus(t, map[string]string{"drill": address, "service": service})
	begin := time.Now()
	out := drillMetered(t, os.Stderr, "--rate 100 --attempts 3 --for 18s --metrics "+address)
	end := time.Now()
	p.until(t, func() bool { return p.value(t, `up{job="drill"}`) == 0 }) // the last scrape is stored

	t.Run("amplification", func(t *testing.T) { p.checkAmplification(t, &out) })
	t.Run("alerts", func(t *testing.T) { p.checkAlerts(t, begin, end) })
	t.Run("dashboard", func(t *testing.T) { p.checkDashboard(t, begin, end) })
}

// checkAmplification compares what Prometheus computes with what the drill counted.
// The counters are exact, so that they agree to the last attempt.
func (p *promServer) checkAmplification(t *testing.T, out *drillOutput) {
	last := func(metric, policy string) string {
		return fmt.Sprintf(`sum(last_over_time(%s{job="drill",nresilience_policy="%s"}[5m]))`,
			metric, policy)
	}
	for policy, want := range out.conservation() {
		for metric, n := range map[string]int{
			"nresilience_calls_total":          want.calls,
			"nresilience_attempts_total":       want.attempts,
			"nresilience_rejections_total":     want.refusals,
			"nresilience_nested_retries_total": want.nested,
		} {
			if got := p.value(t, last(metric, policy)); got != float64(n) {
				t.Errorf("%s of %s: %v, and the drill counted %d", metric, policy, got, n)
			}
		}
	}
	fleet := last("nresilience_attempts_total", "backend") + " / " + last("nresilience_calls_total", "client")
	got, want := p.value(t, fleet), out.amplification()
	if got != want {
		t.Errorf("%s = %v, and the drill counted %v", fleet, got, want)
	}
	arrived, actions := 0, 0
	for _, phase := range out.Phases {
		arrived += phase.Tiers[2].Attempts
		actions += phase.Actions
	}
	t.Logf("%.4f attempts at the database for each user action; %d of %d arrived there",
		got, arrived, out.conservation()["backend"].attempts-len(out.Phases))
	// What was sent and has not arrived was given up on the way, in the brownouts.
	if sent := out.conservation()["backend"].attempts - len(out.Phases); arrived > sent {
		t.Errorf("%d attempts arrived of %d", arrived, sent)
	}
}

var exprOfRule = regexp.MustCompile(`(?m)- alert: (\w+)\n\s+expr: (?:>-\n((?:\s{10,}.*\n)+)|(.*)\n)`)

// checkAlerts: each alert has seen its trouble, and would have fired had it lasted.
func (p *promServer) checkAlerts(t *testing.T, begin, end time.Time) {
	text, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	rules := exprOfRule.FindAllStringSubmatch(string(text), -1)
	if n := strings.Count(string(text), "- alert:"); len(rules) != n {
		t.Fatalf("found the expressions of %d alerts of %d", len(rules), n)
	}
	for _, r := range rules {
		name, expr := r[1], r[2]+r[3]
		if len(p.series(t, expr, begin, end)) == 0 {
			t.Errorf("%s: no series of %s", name, expr)
		}
		pending := fmt.Sprintf(`ALERTS{alertname=%q,alertstate="pending"}`, name)
		if len(p.series(t, pending, begin, end)) == 0 {
			t.Errorf("%s was never pending", name)
		}
	}
}

// checkDashboard: each panel and each variable finds series, and each legend its
// labels.
func (p *promServer) checkDashboard(t *testing.T, begin, end time.Time) {
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
		Templating struct {
			List []struct{ Name, Type, Query string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, v := range dashboard.Templating.List {
		if v.Type != "query" {
			continue
		}
		m := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`).FindStringSubmatch(v.Query)
		if m == nil {
			t.Fatalf("variable %s: cannot read %s", v.Name, v.Query)
		}
		if !labelled(p.series(t, fill(m[1]), begin, end), m[2]) {
			t.Errorf("variable %s: nothing has the label %s", v.Name, m[2])
		}
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			found := p.series(t, fill(target.Expr), begin, end)
			if len(found) == 0 {
				t.Errorf("%s: no series of %s", panel.Title, target.Expr)
			}
			for _, m := range regexp.MustCompile(`{{(\w+)}}`).FindAllStringSubmatch(target.LegendFormat, -1) {
				if !labelled(found, m[1]) {
					t.Errorf("%s: nothing has the label %s", panel.Title, m[1])
				}
			}
		}
	}
}

// fill puts values in place of the variables of a dashboard, as Grafana does.
func fill(expr string) string {
	return strings.NewReplacer("$__rate_interval", "4s", "$job", ".*", "$policy", ".*",
		"$first", "client", "$last", "backend").Replace(expr)
}

func labelled(found []promSeries, label string) bool {
	return slices.ContainsFunc(found, func(s promSeries) bool { return s.Metric[label] != "" })
}

// startService serves the metrics of executors that are in all the trouble which a
// drill leaves out, and returns the address.
func startService(t *testing.T) (address string) {
	t.Helper()
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		t.Fatal(err)
	}
	provider := metric.NewMeterProvider(metric.WithReader(exporter))
	stop, err := rationotel.Attach(rationotel.Options{MeterProvider: provider})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	report, err := rationotel.Reloads(provider, "policies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	report(errors.New("policies.yaml:3: attempts: must be positive"))

	e := ration.MustNew(ration.Policy{
		Name:    "orders",
		Breaker: &ration.BreakerSettings{Break: time.Hour, MaxBreak: time.Hour},
		Backoff: ration.Backoff{Measured: &ration.MeasuredBase{}},
	})
	learn(e.For("a.example:443"))
	trip(e.For("b.example:443"))
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	t.Cleanup(func() {
		server.Close()
		_ = e.Key() // alive until here, or it would not be observed
	})
	return strings.TrimPrefix(server.URL, "http://")
}

// learn makes calls in the recent past: enough for the measured terms, one that is
// retried, so that they come into force, and one that a limiter refuses.
func learn(e *ration.Executor) {
	now := time.Now().Add(-20 * time.Second)
	play := func(outcomes ...ration.Outcome) {
		call := e.Begin(context.Background(), now)
		for _, o := range outcomes {
			if call.Decision().Action == ration.ActWait {
				now = now.Add(call.Decision().Delay)
				call.Next(now, ration.Outcome{}, 0.5)
			}
			now = now.Add(50 * time.Millisecond)
			call.Next(now, o, 0.5)
		}
		call.Abandon(now)
	}
	for range 100 {
		play(ration.Outcome{})
	}
	play(failure(ration.VerdictTransient), ration.Outcome{})
	limited := failure(ration.VerdictThrottled)
	limited.Verdict.SelfImposed = true
	play(limited)
}

// trip opens the breaker.
func trip(e *ration.Executor) {
	for now := time.Now(); e.Breaker(now).State != ration.BreakerOpen; {
		call := e.Begin(context.Background(), now)
		call.Next(now, failure(ration.VerdictTransient), 0)
		call.Abandon(now)
	}
}

func failure(kind ration.VerdictKind) ration.Outcome {
	return ration.Outcome{Verdict: ration.Verdict{Kind: kind}, Err: errors.New("down")}
}

// A promServer is a Prometheus that runs.
type promServer struct {
	url   string
	ended <-chan struct{}
}

// startPrometheus starts one that scrapes each of the targets every second, by the
// name of its job, and waits until it answers.
func startPrometheus(t *testing.T, targets map[string]string) *promServer {
	t.Helper()
	rules, err := filepath.Abs(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	var config strings.Builder
	fmt.Fprintf(&config, "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"+
		"rule_files: [%q]\nscrape_configs:\n", rules)
	for _, job := range slices.Sorted(maps.Keys(targets)) {
		fmt.Fprintf(&config, "  - job_name: %s\n    static_configs: [{targets: [%q]}]\n", job, targets[job])
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yaml")
	if err := os.WriteFile(file, []byte(config.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "prometheus", "--config.file="+file,
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address,
		"--log.level=warn")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		if t.Failed() {
			t.Logf("prometheus: %s", &log)
		}
	})
	p := &promServer{url: "http://" + address, ended: ended}
	p.until(t, p.ready)
	return p
}

func (p *promServer) ready() bool {
	resp, err := http.Get(p.url + "/-/ready")
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// until returns once a condition holds.
func (p *promServer) until(t *testing.T, holds func() bool) {
	t.Helper()
	retry := time.NewTicker(100 * time.Millisecond)
	defer retry.Stop()
	for !holds() {
		select {
		case <-retry.C:
		case <-p.ended:
			t.Fatal("prometheus does not run")
		}
	}
}

// A promSeries is one series of an answer.
type promSeries struct {
	Metric map[string]string
	Value  [2]any // of an instant: when, and what
}

// query asks the API. An expression that it cannot read is an error.
func (p *promServer) query(t *testing.T, path string, form url.Values) []promSeries {
	t.Helper()
	resp, err := http.PostForm(p.url+path, form)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct{ Result []promSeries }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	if answer.Status != "success" {
		t.Errorf("%s: %s", form.Get("query"), answer.Error)
	}
	return answer.Data.Result
}

// series returns what an expression finds at any time of a range.
func (p *promServer) series(t *testing.T, expr string, begin, end time.Time) []promSeries {
	t.Helper()
	return p.query(t, "/api/v1/query_range", url.Values{
		"query": {expr},
		"start": {begin.Format(time.RFC3339)}, "end": {end.Add(time.Second).Format(time.RFC3339)},
		"step": {"1"},
	})
}

// value returns what an expression with one result comes to now.
func (p *promServer) value(t *testing.T, expr string) float64 {
	t.Helper()
	found := p.query(t, "/api/v1/query", url.Values{"query": {expr}})
	if len(found) != 1 {
		t.Errorf("%s finds %d series", expr, len(found))
		return 0
	}
	text, _ := found[0].Value[1].(string)
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Error(err)
	}
	return x
}

func promtool(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("promtool", args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// freeAddress returns an address that nobody listens at.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
