package main

import (
	"bytes"
	"encoding/json"

	"github.com/ration-go/ration/cmd/ration/internal/traffic"
)

// summaryJSON is what was read, for programs. Durations are in seconds.
func summaryJSON(s *traffic.Summary) ([]byte, error) {
	var entries, services, assumptions, faults []object
	for i := range s.Entries {
		entries = append(entries, entryJSON(&s.Entries[i]))
	}
	for i := range s.Services {
		services = append(services, serviceJSON(&s.Services[i]))
	}
	for _, a := range s.Assumptions {
		assumptions = append(assumptions, object{{"name", a.Name}, {"text", a.Text}})
	}
	for _, f := range s.Faults {
		faults = append(faults, object{{"file", f.File}, {"line", f.Line}, {"text", f.Text}})
	}
	n := &s.Counts
	out := object{
		{"input", s.Input},
		{"files", s.Files},
		{"counts", object{
			{"unit", n.Unit}, {"read", n.Read}, {"used", n.Used}, {"malformed", n.Malformed},
			{"empty", n.Empty}, {"other", n.Other}, {"local", n.Local}, {"stray", n.Stray},
		}},
		{"malformed", orEmpty(faults)},
		{"assumptions", orEmpty(assumptions)},
		{"duration_s", s.Duration.Seconds()},
		{"entries", orEmpty(entries)},
		{"services", orEmpty(services)},
	}
	if !s.From.IsZero() {
		out = append(out, member{"from", s.From})
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(out)
	return text.Bytes(), err
}

// orEmpty makes an empty list of none, for readers that expect one.
func orEmpty(list []object) []object {
	if list == nil {
		return []object{}
	}
	return list
}

func entryJSON(e *traffic.Entry) object {
	var points, windows []object
	for _, p := range e.Arrivals.Points {
		points = append(points, object{{"at_s", p.At.Seconds()}, {"rate", p.Rate}})
	}
	for _, w := range e.Windows {
		windows = append(windows, object{
			{"from_s", w.From.Seconds()}, {"for_s", w.For.Seconds()}, {"slower", w.Slower},
			{"failing", w.Failing},
		})
	}
	return object{
		{"name", e.Name}, {"to", e.To}, {"calls", e.Calls}, {"retries", e.Retries},
		{"rate", e.Arrivals.Rate}, {"points", orEmpty(points)},
		{"dispersion", e.Arrivals.Dispersion}, {"burst_s", e.Arrivals.Burst.Seconds()},
		{"windows", orEmpty(windows)},
	}
}

func serviceJSON(s *traffic.Service) object {
	var quantiles, statuses, hosts, calls []object
	for _, q := range s.Quantiles {
		quantiles = append(quantiles, object{{"q", q.Q}, {"value_s", q.Value.Seconds()}})
	}
	for _, x := range s.Statuses {
		statuses = append(statuses, object{{"status", x.Code}, {"calls", x.Calls}})
	}
	for _, h := range s.Hosts {
		hosts = append(hosts, object{
			{"host", h.Name}, {"attempts", h.Requests}, {"failed", h.Failed},
		})
	}
	for _, c := range s.Calls {
		calls = append(calls, object{
			{"to", c.To}, {"calls", c.Calls}, {"retries", c.Retries}, {"per_call", c.PerCall},
			{"optional", c.Optional},
		})
	}
	return object{
		{"name", s.Name}, {"attempts", s.Requests}, {"failed", s.Failed}, {"gave_up", s.GaveUp},
		{"failure_rate", s.FailureRate()}, {"untimed", s.Untimed}, {"latency", orEmpty(quantiles)},
		{"statuses", orEmpty(statuses)}, {"hosts", orEmpty(hosts)}, {"calls", orEmpty(calls)},
		{"parallel", s.Parallel},
	}
}
