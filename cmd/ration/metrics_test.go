package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A series is one line of what is served: its name, its labels as written, and its
// value.
type series struct {
	name, labels string
	value        float64
}

var seriesLine = regexp.MustCompile(`(?m)^(\w+)\{(.*)\} (\S+)$`)

func parseMetrics(t *testing.T, text string) (all []series) {
	t.Helper()
	for _, m := range seriesLine.FindAllStringSubmatch(text, -1) {
		value, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, series{m[1], m[2], value})
	}
	return all
}

// total adds up a metric of one policy.
func total(all []series, name, policy string) (sum int) {
	for _, s := range all {
		if s.name == name && strings.Contains(s.labels, `nresilience_policy="`+policy+`"`) {
			sum += int(s.value)
		}
	}
	return sum
}

// scraper is an error output that scrapes once it is told where.
type scraper struct {
	written strings.Builder
	scrape  func(url string)
}

var scrapedURL = regexp.MustCompile(`last scrape of (http://\S+);`)

func (s *scraper) Write(p []byte) (int, error) {
	s.written.Write(p)
	if m := scrapedURL.FindSubmatch(p); m != nil {
		go s.scrape(string(m[1]))
	}
	return len(p), nil
}

// What is served at the end is what the drill counted, to the last attempt.
func TestDrillMetrics(t *testing.T) {
	served := make(chan string, 1)
	errs := &scraper{scrape: func(url string) {
		defer close(served)
		resp, err := http.Get(url)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Error(err)
		}
		served <- string(text)
	}}
	counted := drillMetered(t, errs, "--for 1s --rate 40 --attempts 2 --metrics 127.0.0.1:0")
	all := parseMetrics(t, <-served)
	for policy, want := range counted.conservation() {
		calls := total(all, "nresilience_calls_total", policy)
		attempts := total(all, "nresilience_attempts_total", policy)
		if calls != want.calls || attempts != want.attempts {
			t.Errorf("%s: %d calls and %d attempts, want %d and %d", policy,
				calls, attempts, want.calls, want.attempts)
		}
		if refused := total(all, "nresilience_rejections_total", policy); refused != want.refusals {
			t.Errorf("%s: %d rejections, want %d", policy, refused, want.refusals)
		}
		if nested := total(all, "nresilience_nested_retries_total", policy); nested != want.nested {
			t.Errorf("%s: %d nested retries, want %d", policy, nested, want.nested)
		}
	}
}

// drillMetered runs a drill to its end and reads what it prints.
func drillMetered(t *testing.T, errs io.Writer, args string) (counted drillOutput) {
	t.Helper()
	var out bytes.Buffer
	args = "drill --json " + args
	if code := run(t.Context(), strings.Fields(args), nil, &out, errs); code != 0 {
		t.Fatalf("ration %s: exit status %d", args, code)
	}
	if err := json.Unmarshal(out.Bytes(), &counted); err != nil {
		t.Fatal(err)
	}
	return counted
}

// A hopCount is what the calls of one policy come to.
type hopCount struct{ calls, attempts, refusals, nested int }

// conservation returns what a drill counted, by the policy. Each phase begins with
// an action that it does not count and that needs no retry. What is counted where it
// arrives is what the hop before has sent; of what is sent to the database, only the
// retries are counted where they are sent, as some are given up on the way.
func (out *drillOutput) conservation() map[string]hopCount {
	n := map[string]hopCount{}
	add := func(policy string, calls, retries, refusals, nested int) {
		h := n[policy]
		h.calls += calls
		h.attempts += calls + retries
		h.refusals += refusals
		h.nested += nested
		n[policy] = h
	}
	for _, p := range out.Phases {
		front, back := p.Tiers[0], p.Tiers[1]
		add("client", 1+p.Actions, p.Client.Retries, p.Client.Refusals, 0)
		add("frontend", 1+front.Attempts, front.Retries, front.Refusals, 1+front.NestedRetries)
		add("backend", 1+back.Attempts, back.Retries, back.Refusals, 1+back.NestedRetries)
	}
	return n
}

// amplification is attempts of the last hop for each call of the first.
func (out *drillOutput) amplification() float64 {
	n := out.conservation()
	return float64(n["backend"].attempts) / float64(n["client"].calls)
}

func TestDrillMetricsAddress(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, address := range []string{taken.Addr().String(), "nowhere"} {
		_, errs, code := console(t, "", "drill", "--metrics", address)
		if code != statusFailed || !strings.HasPrefix(errs, "ration drill: cannot serve metrics: ") {
			t.Errorf("%s: %d, %q", address, code, errs)
		}
	}
}
