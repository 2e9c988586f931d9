package main

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/ration-go/ration/cmd/ration/internal/traffic"
)

// calibratedName makes a name for the scenario of that of a file.
func calibratedName(file string) string {
	name := filepath.Base(file)
	for {
		ext := filepath.Ext(name)
		if ext == "" || ext == name {
			break
		}
		name = strings.TrimSuffix(name, ext)
	}
	if name = plainName(name); name == "-" || name == "" {
		return "traffic"
	}
	return name
}

// plainName makes a name that a scenario may have: what a log says of a host is
// anybody's choice.
func plainName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, name)
	if runes := []rune(name); len(runes) > 40 {
		name = string(runes[:40])
	}
	return strings.TrimSpace(name)
}

// A scenarioWriter writes a scenario file, with what was read in its comments.
type scenarioWriter struct{ bytes.Buffer }

// comment writes lines that begin with #, wrapped.
func (w *scenarioWriter) comment(indent int, format string, args ...any) {
	lead := strings.Repeat(" ", indent) + "# "
	text := wrap(commentText(fmt.Sprintf(format, args...)), 80-len(lead), 0)
	for _, line := range strings.Split(text, "\n") {
		w.line("%s%s", lead, line)
	}
}

// commentText keeps what comes from a log on the line of its comment.
func commentText(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}

func (w *scenarioWriter) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// calibratedScenario writes what was read as a scenario file.
func calibratedScenario(s *traffic.Summary, name string) []byte {
	w := &scenarioWriter{}
	w.comment(0, "Written by ration calibrate from %s.", strings.Join(s.Files, ", "))
	w.comment(0, "%s.", countsText(s))
	if !s.From.IsZero() {
		w.comment(0, "From %s, for %s.", s.From.Format(time.RFC3339), short(s.Duration))
	}
	w.line("#")
	for _, a := range s.Assumptions {
		w.comment(0, "assumption: %s: %s", a.Name, a.Text)
	}
	w.comment(0, "assumption: policy: the records do not tell the policy of the callers; the "+
		"default is compared with itself without a budget")
	w.comment(0, "assumption: capacity: there is no limit to what a service works on at once; "+
		"to see congestion, set its concurrency and queue")
	w.line("name: %s", quotedYAML(name))
	w.line("duration: %s", short(max(s.Duration, time.Second)))
	w.line("entries:")
	for i := range s.Entries {
		w.entry(&s.Entries[i])
	}
	w.line("services:")
	for i := range s.Services {
		w.service(s, &s.Services[i])
	}
	return w.Bytes()
}

func (w *scenarioWriter) entry(e *traffic.Entry) {
	w.line("  - name: %s", quotedYAML(plainName(e.Name)))
	w.line("    to: %s", quotedYAML(plainName(e.To)))
	w.line("    load:")
	a := e.Arrivals
	seen := fmt.Sprintf("%s calls", count(int(e.Calls)))
	if e.Retries > 0 {
		seen += fmt.Sprintf(" and %s retries", count(int(e.Retries)))
	}
	w.comment(6, "%s, %s calls a second on average", seen, digits(a.Rate))
	if len(a.Points) == 1 {
		w.line("      rate: %s", digits(a.Points[0].Rate))
	} else {
		w.line("      shape:")
		for _, p := range a.Points {
			w.line("        - {at: %s, rate: %s}", short(p.At), digits(p.Rate))
		}
	}
	if a.Burst > 0 {
		w.comment(6, "Independent calls would have a dispersion of 1.")
		w.line("      burst: {dispersion: %s, length: %s}", digits(a.Dispersion), short(a.Burst))
	}
}

// digits shows a measured number.
func digits(x float64) string {
	text := strconv.FormatFloat(x, 'g', 4, 64)
	if strings.ContainsRune(text, 'e') {
		n, _ := strconv.ParseFloat(text, 64)
		text = strconv.FormatFloat(n, 'f', -1, 64)
	}
	return text
}

func (w *scenarioWriter) service(s *traffic.Summary, x *traffic.Service) {
	w.line("  - name: %s", quotedYAML(plainName(x.Name)))
	w.comment(4, "%s attempts, %s of them failed", count(int(x.Requests)), count(int(x.Failed)))
	w.statuses(x)
	w.hosts(x)
	if x.Replicas > 1 {
		w.line("    replicas: %d", min(x.Replicas, 10_000))
	}
	if rate := x.FailureRate(); rate > 0 {
		w.line("    failureRate: %s", shareText(rate))
	}
	w.latency(x)
	for i := range s.Entries {
		if s.Entries[i].To == x.Name {
			w.windows(s.Entries[i].Windows)
		}
	}
	w.calls(x)
}

// shareText writes a share as a percentage with three digits.
func shareText(share float64) string {
	return strconv.FormatFloat(roundTo(100*share, 3), 'f', -1, 64) + "%"
}

func roundTo(x float64, places int) float64 {
	if x == 0 {
		return 0
	}
	scale := math.Pow(10, float64(places)-math.Ceil(math.Log10(x)))
	return math.Round(x*scale) / scale
}

func (w *scenarioWriter) statuses(x *traffic.Service) {
	total := uint64(0)
	for _, s := range x.Statuses {
		total += s.Calls
	}
	for _, s := range x.Statuses {
		w.comment(4, "status %s: %s calls, %s", s.Code, count(int(s.Calls)),
			percent(float64(s.Calls)/float64(total)))
	}
}

// hosts lists the busiest and, if there are more, the worst.
func (w *scenarioWriter) hosts(x *traffic.Service) {
	const most = 10
	shown := x.Hosts
	if len(shown) > most {
		w.comment(4, "the worst %d of %d hosts:", most, len(shown))
		shown = slices.Clone(shown)
		slices.SortStableFunc(shown, func(a, b traffic.Host) int {
			return cmp.Compare(b.Failed, a.Failed)
		})
		shown = shown[:most]
	}
	for _, h := range shown {
		w.comment(4, "host %s: %s attempts, %s failed", h.Name, count(int(h.Requests)),
			percent(float64(h.Failed)/float64(h.Requests)))
	}
}

func (w *scenarioWriter) latency(x *traffic.Service) {
	switch n := len(x.Quantiles); {
	case n == 0:
		w.line("    latency: {p50: 20ms, p99: 200ms} # assumption: latency")
		return
	case x.Quantiles[n-1].Value == 0:
		w.line("    latency: {p50: 1us, p99: 1us} # all took 0")
		return
	}
	w.line("    latency:")
	w.line("      quantiles:")
	for _, q := range x.Quantiles {
		w.line("        - {q: %s, value: %s}", strconv.FormatFloat(q.Q, 'f', -1, 64), short(q.Value))
	}
}

// windows suggests troubles. They are comments, since the quantiles and the rate of
// failures are those of all the time, and have them in it already.
func (w *scenarioWriter) windows(windows []traffic.Window) {
	if len(windows) == 0 {
		return
	}
	w.comment(4, "Stretches that stand out. The latency and the failures above have them in them, "+
		"spread over all the time; to have them where they were, uncomment them and lower those.")
	last := ""
	for _, x := range windows {
		key, line := "brownouts", fmt.Sprintf("from: %s, for: %s", short(x.From), short(x.For))
		switch {
		case x.Slower > 0:
			line += ", slower: " + digits(x.Slower)
		case x.Failing >= 0.95:
			key = "outages"
		default:
			key, line = "failures", line+", rate: "+shareText(x.Failing)
		}
		if key != last {
			w.line("    # %s:", key)
		}
		last = key
		w.line("    #   - {%s}", line)
	}
}

// calls writes the edges of a service.
func (w *scenarioWriter) calls(x *traffic.Service) {
	if len(x.Calls) == 0 {
		return
	}
	if x.Parallel {
		w.line("    parallel: true")
	}
	w.line("    calls:")
	for _, c := range x.Calls {
		w.line("      - to: %s", quotedYAML(plainName(c.To)))
		retries := ""
		if c.Retries > 0 {
			retries = fmt.Sprintf(" and %s retries", count(int(c.Retries)))
		}
		w.comment(8, "%s calls%s, %s calls for each request", count(int(c.Calls)), retries,
			digits(c.PerCall))
		if times := int(math.Round(c.PerCall)); times > 1 {
			w.line("        times: %d", min(times, 1000))
		}
		if c.Optional {
			w.line("        optional: true")
		}
	}
}

// quotedYAML quotes what YAML would take for something else than a text.
func quotedYAML(text string) string {
	plain := text != ""
	for i, r := range text {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		inner := r >= '0' && r <= '9' || strings.ContainsRune("-_./ ", r)
		plain = plain && (letter || i > 0 && inner)
	}
	switch strings.ToLower(text) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n":
		plain = false
	}
	if plain {
		return text
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
