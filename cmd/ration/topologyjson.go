package main

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationsim"
)

// json returns the result for programs: the numbers of the first seed, and the bands
// over all. The keys are a promise.
func (r *topologyResult) json() ([]byte, error) {
	out := object{
		{"scenario", r.name},
		{"question", r.question},
		{"seed", r.seed},
		{"seeds", r.seeds()},
		{"duration_s", r.base.Duration.Seconds()},
		{"focus", r.focusName()},
	}
	variants, separates := []object{}, []object{}
	for i, b := range r.bands {
		variants = append(variants, r.variantObject(i))
		for _, other := range r.bands[i+1:] {
			load, share := r.worst(r.focus), r.answered()
			separates = append(separates, object{
				{"variants", []string{b.Name, other.Name}},
				{"availability", share.separates(b, other)},
				{"amplification", load.separates(b, other)},
			})
		}
	}
	return encode(append(out, member{"variants", variants}, member{"separates", separates},
		member{"verdict", r.verdict()}))
}

func encode(out object) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(out)
	return text.Bytes(), err
}

func (r *topologyResult) variantObject(i int) object {
	b := r.bands[i]
	first := b.Reports[0]
	entries, edges, services := []object{}, []object{}, []object{}
	for j, e := range first.Entries {
		entries = append(entries, append(edgeObject(b, j), recoveryMembers(e, b.Entries[j])...))
	}
	for j := range first.Edges {
		edges = append(edges, edgeObject(b, len(first.Entries)+j))
	}
	for j := range first.Services {
		services = append(services, serviceObject(&first.Services[j], b.Services[j]))
	}
	return object{
		{"name", b.Name},
		{"changes", r.changes[i]},
		{"entries", entries},
		{"edges", edges},
		{"services", services},
	}
}

// edgeObject is about the i-th of all edges, those of entries first.
func edgeObject(b *rationsim.TopologyBands, i int) object {
	e, bands, ended, calls := edgeReport(b.Reports[0], i), edgeBands(b, i), 0, 0
	for _, r := range edgeReports(b, i) {
		ended += r.Calls - r.Canceled
		calls += r.Calls
	}
	out := object{
		{"from", e.From}, {"to", e.To},
		{"calls", e.Calls}, {"succeeded", e.Succeeded}, {"failed", e.Failed}, {"canceled", e.Canceled},
		{"attempts", e.Attempts}, {"timed_out", e.TimedOut}, {"throttled", e.Throttled},
		{"availability", ifAny(e.Availability, e.Calls-e.Canceled)},
		{"load_multiplier", ifAny(e.LoadMultiplier, e.Calls)},
		{"amplification", ifAny(e.Amplification, e.Calls)},
		{"latency_s", latencyObject(e.Latency)},
		{"breaker_opens", e.BreakerOpens},
		{"nested", e.Nested}, {"nested_calls", e.NestedCalls},
		{"stops", stopsObject(e.Stops)},
	}
	return append(out, member{"bands", object{
		{"availability", ifAny(bandObject(bands.Availability), ended)},
		{"load_multiplier", ifAny(bandObject(bands.LoadMultiplier), calls)},
		{"amplification", ifAny(bandObject(bands.Amplification), calls)},
		{"p99_s", ifAny(bandObject(bands.P99), ended)},
	}})
}

func recoveryMembers(e rationsim.EntryReport, bands rationsim.EntryBands) object {
	recovered := 0
	if e.Recovered {
		recovered = 1
	}
	levels := []object{}
	for _, c := range e.ByCriticality {
		levels = append(levels, object{
			{"criticality", c.Criticality.String()}, {"calls", c.Calls}, {"succeeded", c.Succeeded},
			{"availability", ifAny(c.Availability, c.Calls)},
		})
	}
	return object{
		{"by_criticality", levels},
		{"time_to_recover_s", ifAny(e.TimeToRecover.Seconds(), recovered)},
		{"recovered", bands.Recovered},
		{"time_to_recover_band_s", ifAny(bandObject(bands.TimeToRecover), bands.Recovered)},
	}
}

func serviceObject(s *rationsim.ServiceReport, bands rationsim.ServiceBands) object {
	queue, busiest := 0, 0.0
	for _, second := range s.Timeline {
		queue, busiest = max(queue, second.Queue), max(busiest, second.Utilization)
	}
	return object{
		{"name", s.Name},
		{"received", s.Received}, {"succeeded", s.Succeeded}, {"failed", s.Failed},
		{"down", s.Down}, {"throttled", s.Throttled}, {"shed", s.Shed}, {"expired", s.Expired},
		{"canceled", s.Canceled}, {"wasted", s.Wasted},
		{"load_multiplier", s.LoadMultiplier}, {"amplification", s.Amplification},
		{"queue_max", queue}, {"utilization_max", busiest},
		{"bands", object{
			{"load_multiplier", bandObject(bands.LoadMultiplier)},
			{"amplification", bandObject(bands.Amplification)},
		}},
	}
}

func bandObject(b rationsim.Band) object {
	return object{{"min", b.Min}, {"median", b.Median}, {"max", b.Max}}
}

// ifAny is a number or a band, or null where there is nothing that it could be about.
func ifAny[T any](x T, n int) any {
	if n <= 0 {
		return nil
	}
	return x
}

func latencyObject(l *rationsim.Latencies) any {
	if l == nil {
		return nil
	}
	return object{
		{"p50", l.P50.Seconds()}, {"p90", l.P90.Seconds()},
		{"p99", l.P99.Seconds()}, {"max", l.Max.Seconds()},
	}
}

func stopsObject(stops map[ration.StopReason]int) object {
	out := object{{ration.StopSucceeded.String(), stops[ration.StopSucceeded]}}
	for _, why := range slices.Concat(failureReasons, []ration.StopReason{ration.StopCanceled}) {
		out = append(out, member{why.String(), stops[why]})
	}
	return out
}
