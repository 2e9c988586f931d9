package report

import (
	"math"

	"github.com/ration-go/ration/rationsim"
)

// sampler returns a number of one second of a run, and false if it has none.
type sampler func(r *rationsim.TopologyReport, second int) (float64, bool)

// newCharts returns the charts that have something to show.
func newCharts(r *Report, v *view) []chart {
	draw := func(f fold, s sampler) (all []series) {
		for _, b := range r.Bands {
			all = append(all, over(b.Reports, v.bins, f, s))
		}
		return all
	}
	offered := sumEntries(func(s rationsim.EdgeSecond) int { return s.Offered })
	refusals := sumEdges(func(s rationsim.EdgeSecond) int { return s.RefusedByBudget })
	breakers := sumEdges(func(s rationsim.EdgeSecond) int { return s.RefusedByBreaker })
	focus := clean(v.focus)
	charts := []chart{
		newChart(chart{id: "load", title: "Load on " + focus, unit: "requests per second",
			note: "Dotted: what would arrive if nothing were retried or refused. " +
				"What is above it is retries.",
			lines: []line{
				{"received", mainLine, draw(mean, ofService(v.focus, received))},
				{"without retries", reference, expected(r, v)},
			}}, amount),
		newChart(chart{id: "goodput", title: "Goodput", unit: "calls that succeed per second",
			note: "At all entries together. The gap to the calls offered is calls that have " +
				"failed, or have yet to end.",
			lines: []line{
				{"succeeded", mainLine, draw(mean,
					sumEntries(func(s rationsim.EdgeSecond) int { return s.Succeeded }))},
				{"calls offered", reference, draw(mean, offered)},
			}}, amount),
		newChart(chart{id: "budget", title: "Budget spent", unit: "share of the bucket",
			note:  "Of the edge that has spent most, on average over its callers’ replicas.",
			lines: []line{{"spent", mainLine, draw(mean, mostSpent)}}}, percentTick),
		newChart(chart{id: "refusals", title: "Refused by callers", unit: "calls per second",
			note: "Calls that ended because a budget or a limiter refused a retry; dashed, " +
				"because a breaker was open. On all edges together.",
			lines: []line{
				{"by budget", mainLine, draw(mean, refusals)},
				{"by breaker", secondLine, draw(mean, breakers)},
			}}, amount),
		newChart(chart{id: "turned-away", title: "Turned away by " + focus,
			unit:  "requests per second",
			note:  "Because it was down, over its rate limit, or its queue was full or too long.",
			lines: []line{{"turned away", mainLine, draw(mean, ofService(v.focus, refused))}}}, amount),
		latencyChart(draw),
		newChart(chart{id: "queue", title: "Queue of " + focus, unit: "requests that wait",
			note:  "The most at one time, in all replicas together.",
			lines: []line{{"waiting", mainLine, draw(most, ofService(v.focus, queued))}}}, amount),
		newChart(chart{id: "busy", title: "Work in " + focus, unit: "requests held",
			note:  "On average, in all replicas together, those in the queue aside.",
			lines: []line{{"held", mainLine, draw(mean, ofService(v.focus, held))}}}, amount),
	}
	if !anywhere(charts[3].lines[1]) {
		charts[3].lines = charts[3].lines[:1]
	}
	return keep(charts)
}

// keep returns the charts that show anything.
func keep(all []chart) (out []chart) {
	for _, c := range all {
		if !c.empty() {
			out = append(out, c)
		}
	}
	return out
}

// anywhere reports whether a line is anything but zero.
func anywhere(l line) bool {
	for _, s := range l.sides {
		if s.top() > 0 {
			return true
		}
	}
	return false
}

func percentTick(x float64) string { return digits(100*x) + "%" }

func received(s rationsim.ServiceSecond) float64 { return float64(s.Received) }
func refused(s rationsim.ServiceSecond) float64  { return float64(s.Refused) }
func queued(s rationsim.ServiceSecond) float64   { return float64(s.Queue) }
func held(s rationsim.ServiceSecond) float64     { return s.Busy }

// ofService samples a service. Nothing happens there after its timeline.
func ofService(name string, number func(rationsim.ServiceSecond) float64) sampler {
	return func(r *rationsim.TopologyReport, second int) (float64, bool) {
		s := serviceIn(r, name)
		if s == nil || second >= len(s.Timeline) {
			return 0, s != nil
		}
		return number(s.Timeline[second]), true
	}
}

func sumEntries(number func(rationsim.EdgeSecond) int) sampler {
	return func(r *rationsim.TopologyReport, second int) (float64, bool) {
		sum := 0
		for _, e := range r.Entries {
			if second < len(e.Timeline) {
				sum += number(e.Timeline[second])
			}
		}
		return float64(sum), true
	}
}

func sumEdges(number func(rationsim.EdgeSecond) int) sampler {
	entries := sumEntries(number)
	return func(r *rationsim.TopologyReport, second int) (float64, bool) {
		sum, ok := entries(r, second)
		for _, e := range r.Edges {
			if second < len(e.Timeline) {
				sum += float64(number(e.Timeline[second]))
			}
		}
		return sum, ok
	}
}

func mostSpent(r *rationsim.TopologyReport, second int) (float64, bool) {
	spent := 0.0
	for _, e := range r.Entries {
		if second < len(e.Timeline) {
			spent = max(spent, e.Timeline[second].Budget)
		}
	}
	for _, e := range r.Edges {
		if second < len(e.Timeline) {
			spent = max(spent, e.Timeline[second].Budget)
		}
	}
	return spent, true
}

// latencyChart shows the slowest entry. A quantile over a stretch cannot be had
// from those of its seconds, so the worst p99 and the middle p50 stand for it.
func latencyChart(draw func(fold, sampler) []series) chart {
	slowest := func(of func(rationsim.EdgeSecond) float64) sampler {
		return func(r *rationsim.TopologyReport, second int) (float64, bool) {
			worst := 0.0
			for _, e := range r.Entries {
				if second < len(e.Timeline) {
					worst = max(worst, of(e.Timeline[second]))
				}
			}
			return worst, worst > 0
		}
	}
	c := chart{id: "latency", title: "Latency", unit: "of whole calls, logarithmic",
		note: "Retries and waits included; of the slowest entry, for the calls that ended then. " +
			"Solid: p99. Dashed: p50.",
		cell: measured,
		lines: []line{
			{"p99", mainLine, draw(most, slowest(
				func(s rationsim.EdgeSecond) float64 { return s.P99.Seconds() }))},
			{"p50", secondLine, draw(middle, slowest(
				func(s rationsim.EdgeSecond) float64 { return s.P50.Seconds() }))},
		}}
	low, high := math.Inf(1), 0.0
	for _, l := range c.lines {
		for _, s := range l.sides {
			low, high = min(low, s.least()), max(high, s.top())
		}
	}
	c.y = logarithmic(low, high, seconds)
	return c
}

// expected is what would arrive at the focus if nothing were retried or refused:
// what each entry offers, times the calls that one of its calls causes there.
func expected(r *Report, v *view) (all []series) {
	for _, b := range r.Bands {
		t := r.variant(b.Name).Topology
		var weights []float64
		known := make(map[string]float64)
		for _, e := range t.Entries {
			weights = append(weights, paths(t, e.To, v.focus, known))
		}
		all = append(all, over(b.Reports, v.bins, mean,
			func(r *rationsim.TopologyReport, second int) (float64, bool) {
				sum := 0.0
				for j, e := range r.Entries {
					if second < len(e.Timeline) {
						sum += weights[j] * float64(e.Timeline[second].Offered)
					}
				}
				return sum, true
			}))
	}
	return all
}

// paths returns how many requests reach the focus for each that a service gets.
// It keeps what it has found in known: there can be very many ways.
func paths(t rationsim.Topology, from, focus string, known map[string]float64) float64 {
	if from == focus {
		return 1
	}
	if n, ok := known[from]; ok {
		return n
	}
	known[from] = 0
	sum := 0.0
	for _, s := range t.Services {
		if s.Name != from {
			continue
		}
		for _, e := range s.Calls {
			sum += float64(max(1, e.Times)) * paths(t, e.To, focus, known)
		}
	}
	known[from] = sum
	return sum
}
