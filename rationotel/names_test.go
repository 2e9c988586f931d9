package rationotel_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationotel"
)

const page = "../docs/telemetry.md"

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// everything returns each metric that there is, with a series at least.
func everything(t *testing.T) []metricdata.Metrics {
	t.Helper()
	m := attach(t)
	report, err := rationotel.Reloads(m.provider, "policies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	report(errors.New("bad"))
	e := ration.MustNew(ration.Policy{
		Name:    "everything",
		Backoff: ration.Backoff{Measured: &ration.MeasuredBase{}},
		Breaker: &ration.BreakerSettings{},
	}).For("key")
	ctx := ration.WithNestedRetry(context.Background())
	for i := range 30 {
		play(ctx, e, epoch.Add(time.Duration(i)*time.Second), succeeded)
	}
	play(ctx, e, epoch.Add(time.Minute), transient, succeeded)
	return m.metrics(t)
}

// promName is what the exporter for Prometheus calls a metric.
func promName(m metricdata.Metrics) string {
	name := strings.ReplaceAll(m.Name, ".", "_")
	switch m.Data.(type) {
	case metricdata.Sum[int64]:
		name += "_total"
	default:
		name += map[string]string{"s": "_seconds", "1": "_ratio"}[m.Unit]
	}
	return name
}

// The page has a row for each metric, with its kind, unit and names, and no other.
func TestPageHasEveryMetric(t *testing.T) {
	text := read(t, page)
	rows := regexp.MustCompile("(?m)^\\| `(nresilience|ration)[.\\w]+` \\| .*`nresilience_|(?m)^\\| `ration[.\\w]+` \\| .*`ration_").
		FindAllString(text, -1)
	all := everything(t)
	if len(rows) != len(all) {
		t.Errorf("%d rows for %d metrics", len(rows), len(all))
	}
	for _, m := range all {
		kind := "gauge"
		switch m.Data.(type) {
		case metricdata.Sum[int64]:
			kind = "counter"
		case metricdata.Histogram[float64]:
			kind = "histogram"
		}
		row := fmt.Sprintf("| `%s` | %s, `%s` | `%s` |", m.Name, kind, m.Unit, promName(m))
		if !strings.Contains(text, row) {
			t.Errorf("no row %s", row)
		}
		if m.Description == "" {
			t.Errorf("%s has no description", m.Name)
		}
	}
}

// The package's own comment lists them too, with their units.
func TestPackageCommentHasEveryMetric(t *testing.T) {
	text := read(t, "doc.go")
	for _, m := range everything(t) {
		if strings.HasPrefix(m.Name, "ration.") { // see Reloads
			continue
		}
		if !regexp.MustCompile(`(?m)^//\t` + regexp.QuoteMeta(m.Name) + ` +` + regexp.QuoteMeta(m.Unit) + ` `).MatchString(text) {
			t.Errorf("no line on %s in %s", m.Name, m.Unit)
		}
	}
}

// Rules, dashboard and page name nothing that is not reported.
func TestNamesExist(t *testing.T) {
	known := map[string]bool{}
	for _, m := range everything(t) {
		name := promName(m)
		known[name] = true
		if _, ok := m.Data.(metricdata.Histogram[float64]); ok {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				known[name+suffix] = true
			}
		}
		for _, x := range points(t, m) {
			for _, kv := range x.attrs.ToSlice() {
				known[strings.ReplaceAll(string(kv.Key), ".", "_")] = true
			}
		}
	}
	for _, file := range []string{
		page, "README.md", "prometheus/ration.rules.yaml", "prometheus/ration.rules.test.yaml", "grafana/ration.json",
	} {
		for _, name := range regexp.MustCompile(`\b(nresilience|ration)_\w+`).FindAllString(read(t, file), -1) {
			if !known[name] {
				t.Errorf("%s: there is no %s", file, name)
			}
		}
	}
}

// The page explains every value, and every event of a span.
func TestPageHasEveryValue(t *testing.T) {
	text := read(t, page)
	for _, m := range everything(t) {
		for _, x := range points(t, m) {
			for _, kv := range x.attrs.ToSlice() {
				switch kv.Key {
				case "nresilience.policy", "nresilience.key", "ration.config":
				default:
					if !strings.Contains(text, "`"+kv.Value.AsString()+"`") {
						t.Errorf("%s: no word on %s", kv.Key, kv.Value.AsString())
					}
				}
				if !strings.Contains(text, "| `"+string(kv.Key)+"` |") {
					t.Errorf("no row for %s", kv.Key)
				}
			}
		}
	}
	for kind := ration.EventKind(1); !strings.HasPrefix(kind.String(), "EventKind("); kind++ {
		for _, name := range []string{"`nresilience." + kind.String() + "`", "`ration: " + kind.String() + "`"} {
			if !strings.Contains(text, name) {
				t.Errorf("no word on %s", name)
			}
		}
	}
}

// Each alert has a section of its own to run by, and the other way round.
func TestRunbooks(t *testing.T) {
	text, rules := read(t, page), read(t, "prometheus/ration.rules.yaml")
	alerts := map[string]bool{}
	for _, m := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(rules, -1) {
		alerts[m[1]] = true
		if !strings.Contains(rules, "docs/telemetry.md#"+strings.ToLower(m[1])+"\n") {
			t.Errorf("%s: no link to its section", m[1])
		}
	}
	sections := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^### (Ration\w+)$`).FindAllStringSubmatch(text, -1) {
		sections[m[1]] = true
	}
	if !maps.Equal(alerts, sections) {
		t.Errorf("alerts %v, sections %v", slices.Sorted(maps.Keys(alerts)), slices.Sorted(maps.Keys(sections)))
	}
}

// The README lists what the module requires.
func TestReadmeHasTheGraph(t *testing.T) {
	text := read(t, "README.md")
	_, list, _ := strings.Cut(text, "```\ngithub.com/ration-go/ration\n")
	list, _, _ = strings.Cut(list, "```")
	listed := strings.Fields("github.com/ration-go/ration " + list)
	var required []string
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v`).FindAllStringSubmatch(read(t, "go.mod"), -1) {
		required = append(required, m[1])
	}
	slices.Sort(listed)
	slices.Sort(required)
	if !slices.Equal(listed, required) {
		t.Errorf("listed %v, required %v", listed, required)
	}
}
