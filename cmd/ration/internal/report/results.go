package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationsim"
)

// view returns what is to be shown of the results, nil if there are none.
func (r *Report) view() (*view, error) {
	if err := r.check(); err != nil || len(r.Bands) == 0 {
		return nil, err
	}
	v := &view{seeds: len(r.Bands[0].Reports), focus: r.Focus, bins: binsFor(r.Duration)}
	if v.focus == "" {
		v.focus = focus(r)
	}
	for _, b := range r.Bands {
		v.sides = append(v.sides,
			side{b.Name, allTroubles(r.variant(b.Name).Topology, v.focus, r.Duration)})
	}
	v.headline = newHeadline(r, v.focus)
	v.charts = newCharts(r, v)
	v.graph = graphOf(r)
	v.edges = edgeRows(r.Bands)
	return v, nil
}

// focus returns the service that the page is about.
func focus(r *Report) string {
	var troubled []string
	for _, s := range r.variant(r.Bands[0].Name).Topology.Services {
		if len(troubles(s, "", r.Duration)) > 0 || s.RateLimit != nil {
			troubled = append(troubled, s.Name)
		}
	}
	best, most := "", -1.0
	for _, s := range r.Bands[0].Services {
		if len(troubled) > 0 && !slices.Contains(troubled, s.Name) {
			continue
		}
		if s.Amplification.Median > most {
			best, most = s.Name, s.Amplification.Median
		}
	}
	return best
}

// allTroubles returns those of all services, by time.
func allTroubles(t rationsim.Topology, focus string, end time.Duration) (all []trouble) {
	for _, s := range t.Services {
		prefix := ""
		if s.Name != focus {
			prefix = clip(s.Name, 70, size-1) + ": "
		}
		all = append(all, troubles(s, prefix, end)...)
	}
	slices.SortStableFunc(all, func(a, b trouble) int { return cmp.Compare(a.from, b.from) })
	return all
}

// serviceIn returns what a service saw in a run, nil if it is not there.
func serviceIn(r *rationsim.TopologyReport, name string) *rationsim.ServiceReport {
	for i := range r.Services {
		if r.Services[i].Name == name {
			return &r.Services[i]
		}
	}
	return nil
}

func newHeadline(r *Report, focus string) (h headline) {
	add := func(c column, words string, number func(*rationsim.TopologyReport) (float64, bool)) {
		var cells []cell
		for _, b := range r.Bands {
			cells = append(cells, cellOf(b.Reports, words, number))
		}
		h.add(c, cells)
	}
	add(column{"Availability", "calls that succeed", percent}, noNumber, availability)
	for _, level := range levels(r.Bands) {
		add(column{levelName(level), "calls that succeed", percent}, noNumber,
			func(r *rationsim.TopologyReport) (float64, bool) { return availabilityAt(r, level) })
	}
	add(column{"Load", "on " + clean(focus) + ", in all", times}, noNumber,
		func(r *rationsim.TopologyReport) (float64, bool) {
			s := serviceIn(r, focus)
			return number(s, func(s *rationsim.ServiceReport) float64 { return s.LoadMultiplier })
		})
	add(column{"Worst second", "on " + clean(focus), times}, noNumber,
		func(r *rationsim.TopologyReport) (float64, bool) {
			s := serviceIn(r, focus)
			return number(s, func(s *rationsim.ServiceReport) float64 { return s.Amplification })
		})
	add(column{"Latency p99", "of whole calls", measured}, noNumber, worstLatency)
	if end := lastTrouble(r); end > 0 && end < r.Duration {
		add(column{"Afterwards", "calls that succeed", percent}, noNumber,
			func(run *rationsim.TopologyReport) (float64, bool) {
				return goodputFrom(run, end, r.Duration)
			})
		add(column{"Recovered after", "the trouble’s end", recovered}, "not in time", recovery)
	}
	return h
}

// lastTrouble returns when the last trouble of the first side ends, 0 for none.
func lastTrouble(r *Report) time.Duration {
	end := 0.0
	for _, t := range allTroubles(r.variant(r.Bands[0].Name).Topology, "", r.Duration) {
		end = max(end, t.to)
	}
	return time.Duration(end * float64(time.Second))
}

// goodputFrom is the share of calls that succeed once the trouble is over: what
// tells a system that recovers from one that keeps itself down.
func goodputFrom(r *rationsim.TopologyReport, from, to time.Duration) (float64, bool) {
	offered, succeeded := 0, 0
	for _, e := range r.Entries {
		first := int((from + time.Second - 1) / time.Second)
		for s := first; s < min(int(to/time.Second), len(e.Timeline)); s++ {
			offered += e.Timeline[s].Offered
			succeeded += e.Timeline[s].Succeeded
		}
	}
	// What was offered before the end of the trouble may succeed after it.
	return min(float64(succeeded)/float64(max(offered, 1)), 1), offered > 0
}

func number[R any](r *R, of func(*R) float64) (float64, bool) {
	if r == nil {
		return 0, false
	}
	return of(r), true
}

// availability is that of all entries together.
func availability(r *rationsim.TopologyReport) (float64, bool) {
	ok, calls := 0, 0
	for _, e := range r.Entries {
		ok, calls = ok+e.Succeeded, calls+e.Calls-e.Canceled
	}
	return float64(ok) / float64(max(calls, 1)), calls > 0
}

func availabilityAt(r *rationsim.TopologyReport, level ration.Criticality) (float64, bool) {
	ok, calls := 0, 0
	for _, e := range r.Entries {
		for _, c := range e.ByCriticality {
			if c.Criticality == level {
				ok, calls = ok+c.Succeeded, calls+c.Calls
			}
		}
	}
	return float64(ok) / float64(max(calls, 1)), calls > 0
}

// levels returns those that there were calls at, the most critical first, and
// none where all calls were alike.
func levels(sides []*rationsim.TopologyBands) (out []ration.Criticality) {
	for _, b := range sides {
		for _, r := range b.Reports {
			for _, e := range r.Entries {
				for _, c := range e.ByCriticality {
					if !slices.Contains(out, c.Criticality) {
						out = append(out, c.Criticality)
					}
				}
			}
		}
	}
	if len(out) < 2 {
		return nil
	}
	slices.SortFunc(out, func(a, b ration.Criticality) int { return cmp.Compare(b, a) })
	return out
}

func levelName(level ration.Criticality) string {
	return strings.ReplaceAll(level.String(), "Plus", " plus")
}

// recovered shows how long a recovery took. What is less than a tenth of a second
// is how far apart calls are.
func recovered(s float64) string {
	if s < 0.1 {
		return "< 0.1 s"
	}
	return measured(s)
}

func worstLatency(r *rationsim.TopologyReport) (float64, bool) {
	worst, any := 0.0, false
	for _, e := range r.Entries {
		if e.Latency != nil {
			worst, any = max(worst, e.Latency.P99.Seconds()), true
		}
	}
	return worst, any
}

// recovery is that of the last entry to recover.
func recovery(r *rationsim.TopologyReport) (float64, bool) {
	last := time.Duration(0)
	for _, e := range r.Entries {
		if !e.Recovered {
			return 0, false
		}
		last = max(last, e.TimeToRecover)
	}
	return last.Seconds(), len(r.Entries) > 0
}

// An edgeRow is the numbers of one edge on one side.
type edgeRow struct {
	From, To, Side, Class                    string
	Availability, Load, Worst, Latency, Nest string
}

func edgeRows(sides []*rationsim.TopologyBands) (out []edgeRow) {
	for i, b := range sides {
		add := func(e rationsim.EdgeBands, nested bool) {
			row := edgeRow{
				From: clean(e.From), To: clean(e.To), Side: clean(b.Name), Class: sideClass(i),
				Availability: rangeOf(e.Availability, percent), Load: rangeOf(e.LoadMultiplier, times),
				Worst: rangeOf(e.Amplification, times), Latency: rangeOf(e.P99, measured), Nest: "no",
			}
			if nested {
				row.Nest = "nested"
			}
			out = append(out, row)
		}
		for j, e := range b.Entries {
			add(e.EdgeBands, nestedEntry(b, j))
		}
		for j, e := range b.Edges {
			add(e, nestedEdge(b, j))
		}
	}
	return out
}

func rangeOf(b rationsim.Band, format func(float64) string) string {
	if format(b.Min) == format(b.Max) {
		return format(b.Median)
	}
	return fmt.Sprintf("%s (%s to %s)", format(b.Median), format(b.Min), format(b.Max))
}
