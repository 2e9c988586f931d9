package main

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationsim"
)

// A topologyResult is what came of each variant, in their order.
type topologyResult struct {
	*topologyComparison
	seed  uint64 // the first
	bands []*rationsim.TopologyBands
	focus int // index of the service whose load it is about
}

// runTopology simulates all variants with the same seeds.
func runTopology(
	ctx context.Context, c *topologyComparison, seed uint64, seeds int, listen func(ration.Event),
) (*topologyResult, error) {
	variants := c.variants
	if listen != nil {
		variants = listening(variants, listen)
	}
	bands, err := rationsim.CompareSeeds(ctx, variants, seed, seeds)
	if err != nil {
		return nil, err
	}
	r := &topologyResult{topologyComparison: c, seed: seed, bands: bands}
	r.focus = r.mostStrained()
	return r, nil
}

func (r *topologyResult) seeds() int { return len(r.bands[0].Reports) }

// mostStrained returns the index of the service that is in trouble or, where several
// or none are, the one of those whose worst second is worst in any variant.
func (r *topologyResult) mostStrained() int {
	services := r.base.Services
	troubled := slices.ContainsFunc(services, inTrouble)
	best, worst := 0, -1.0
	for i, s := range services {
		if troubled && !inTrouble(s) {
			continue
		}
		for _, b := range r.bands {
			if x := b.Services[i].Amplification.Median; x >= worst {
				best, worst = i, x
			}
		}
	}
	return best
}

func (r *topologyResult) focusName() string { return r.base.Services[r.focus].Name }

func inTrouble(s rationsim.Service) bool {
	return len(s.Brownouts)+len(s.Outages)+len(s.Failures)+len(s.Bad) > 0 ||
		s.FailureRate > 0 || s.RateLimit != nil
}

// troubleEnds returns when the last trouble of a topology ends, and false if there is
// none or it does not end before the arrivals do.
func troubleEnds(t rationsim.Topology) (end time.Duration, ok bool) {
	for _, s := range t.Services {
		for _, b := range s.Brownouts {
			end = max(end, b.From+b.For)
		}
		for _, o := range s.Outages {
			end = max(end, o.From+o.For)
		}
		for _, f := range s.Failures {
			end = max(end, f.From+f.For)
		}
		for _, b := range s.Bad {
			if b.For > 0 {
				end = max(end, b.From+b.For)
			}
		}
	}
	return end, end > 0 && end < t.Duration
}

// A measure is a number that each run has, or has not.
type measure struct {
	label  string
	format func(float64) string
	of     func(*rationsim.TopologyReport) (float64, bool)
	unless string // stands where no run has it
}

// band returns the range of the number in one variant, and how many runs have it.
func (m *measure) band(b *rationsim.TopologyBands) (band rationsim.Band, runs int) {
	for _, report := range b.Reports {
		if _, ok := m.of(report); ok {
			runs++
		}
	}
	return rationsim.BandOf(b.Reports, m.of), runs
}

// separates reports whether the ranges in two variants do not overlap. A range that
// is not there overlaps everything.
func (m *measure) separates(a, b *rationsim.TopologyBands) bool {
	x, inA := m.band(a)
	y, inB := m.band(b)
	return inA > 0 && inB > 0 && rationsim.Separates(x, y)
}

// headlines are the numbers by which variants are compared.
func (r *topologyResult) headlines() (list []measure) {
	_, ends := troubleEnds(r.base)
	if len(r.base.Entries) == 1 {
		list = append(list, r.availability(0, ""))
		for _, level := range r.levels(0) {
			list = append(list, levelAvailability(0, level))
		}
	} else {
		list = append(list, r.answered())
		for i, e := range r.base.Entries {
			list = append(list, r.availability(i, ", "+shortName(entryName(e), labelNameWidth)))
		}
	}
	if ends {
		list = append(list, afterwards(r.base))
	}
	if len(r.base.Entries) == 1 {
		list = append(list, latencyP99(0))
		if ends {
			list = append(list, recovery(0))
		}
	}
	list = append(list, r.load(r.focus))
	if from, to := troubleSeconds(r.base); to > from {
		list = append(list, r.loadBetween(r.focus, from, to))
	}
	return append(list, r.worst(r.focus))
}

func (r *topologyResult) availability(entry int, of string) measure {
	return measure{label: "availability" + of, format: percent, unless: noNumber,
		of: func(report *rationsim.TopologyReport) (float64, bool) {
			e := report.Entries[entry]
			return e.Availability, e.Calls > e.Canceled
		}}
}

// levels returns the levels of criticality of an entry's calls, most critical first,
// and none if all calls are of one.
func (r *topologyResult) levels(entry int) (levels []ration.Criticality) {
	for _, report := range r.bands[0].Reports {
		for _, c := range report.Entries[entry].ByCriticality {
			if !slices.Contains(levels, c.Criticality) {
				levels = append(levels, c.Criticality)
			}
		}
	}
	if len(levels) < 2 {
		return nil
	}
	slices.SortFunc(levels, func(a, b ration.Criticality) int { return cmp.Compare(b, a) })
	return levels
}

func levelAvailability(entry int, level ration.Criticality) measure {
	return measure{label: "availability, " + levelName(level), format: percent, unless: noNumber,
		of: func(report *rationsim.TopologyReport) (float64, bool) {
			for _, c := range report.Entries[entry].ByCriticality {
				if c.Criticality == level {
					return c.Availability, c.Calls > 0
				}
			}
			return 0, false
		}}
}

func levelName(level ration.Criticality) string {
	if level == ration.CriticalPlus {
		return "critical plus"
	}
	return strings.ToLower(level.String())
}

// afterwards is the share of calls that get their answer once the trouble is over:
// what tells a system that recovers from one that keeps itself down.
func afterwards(t rationsim.Topology) measure {
	end, _ := troubleEnds(t)
	from := int((end + time.Second - 1) / time.Second)
	to := int(t.Duration / time.Second)
	return measure{label: "goodput afterwards", format: percent, unless: noNumber,
		of: func(report *rationsim.TopologyReport) (float64, bool) {
			offered, succeeded := 0, 0
			for _, e := range report.Entries {
				for k := from; k < min(to, len(e.Timeline)); k++ {
					offered += e.Timeline[k].Offered
					succeeded += e.Timeline[k].Succeeded
				}
			}
			if offered == 0 {
				return 0, false
			}
			return min(float64(succeeded)/float64(offered), 1), true
		}}
}

func latencyP99(entry int) measure {
	return measure{label: "latency p99", format: seconds, unless: noNumber,
		of: func(report *rationsim.TopologyReport) (float64, bool) {
			l := report.Entries[entry].Latency
			if l == nil {
				return 0, false
			}
			return l.P99.Seconds(), true
		}}
}

func recovery(entry int) measure {
	return measure{label: "recovered after", format: seconds, unless: "never",
		of: func(report *rationsim.TopologyReport) (float64, bool) {
			e := report.Entries[entry]
			return e.TimeToRecover.Seconds(), e.Recovered
		}}
}

// labelNameWidth is what a label of the comparison has room for.
const labelNameWidth = 18

func (r *topologyResult) labelName(service int) string {
	return shortName(r.base.Services[service].Name, labelNameWidth)
}

func (r *topologyResult) load(service int) measure {
	return measure{label: "load of " + r.labelName(service), format: times, unless: noNumber,
		of: func(report *rationsim.TopologyReport) (float64, bool) {
			return report.Services[service].LoadMultiplier, true
		}}
}

func (r *topologyResult) worst(service int) measure {
	return measure{
		label: "worst second at " + r.labelName(service), format: times, unless: noNumber,
		of: func(report *rationsim.TopologyReport) (float64, bool) {
			return report.Services[service].Amplification, true
		}}
}

// loadBetween is the load of a service from one second up to another: requests per
// call that arrives meanwhile, by what a call causes there without retries.
func (r *topologyResult) loadBetween(service, from, to int) measure {
	return measure{
		label:  "load in the trouble",
		format: times, unless: noNumber,
		of: func(report *rationsim.TopologyReport) (float64, bool) {
			s := report.Services[service]
			all, then := 0, 0
			for _, e := range report.Entries {
				all += e.Calls
				for k := from; k < min(to, len(e.Timeline)); k++ {
					then += e.Timeline[k].Offered
				}
			}
			received := 0
			for k := from; k < min(to, len(s.Timeline)); k++ {
				received += s.Timeline[k].Received
			}
			if then == 0 || s.Received == 0 {
				return 0, false
			}
			each := float64(s.Received) / s.LoadMultiplier / float64(all)
			return float64(received) / (each * float64(then)), true
		},
	}
}

// troubleSeconds returns the first whole second of trouble and the one after the last.
func troubleSeconds(t rationsim.Topology) (from, to int) {
	end, ends := troubleEnds(t)
	if !ends {
		return 0, 0
	}
	begin := end
	for _, s := range t.Services {
		for _, b := range s.Brownouts {
			begin = min(begin, b.From)
		}
		for _, o := range s.Outages {
			begin = min(begin, o.From)
		}
		for _, f := range s.Failures {
			begin = min(begin, f.From)
		}
		for _, b := range s.Bad {
			begin = min(begin, b.From)
		}
	}
	return int((begin + time.Second - 1) / time.Second), int(end / time.Second)
}

// answered is the share of calls at all entries together that succeed: of those that
// somebody waits for, if there are others.
func (r *topologyResult) answered() measure {
	levels := false
	for _, b := range r.bands {
		for _, e := range b.Reports[0].Entries {
			for _, c := range e.ByCriticality {
				levels = levels || c.Criticality < ration.Critical
			}
		}
	}
	m := measure{label: "availability", format: percent, unless: noNumber}
	if levels {
		m.label = "availability of critical calls"
	}
	m.of = func(report *rationsim.TopologyReport) (float64, bool) {
		calls, succeeded := 0, 0
		for _, e := range report.Entries {
			for _, c := range e.ByCriticality {
				if !levels || c.Criticality >= ration.Critical {
					calls += c.Calls
					succeeded += c.Succeeded
				}
			}
		}
		return float64(succeeded) / float64(max(calls, 1)), calls > 0
	}
	return m
}
