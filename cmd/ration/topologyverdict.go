package main

import (
	"fmt"
	"strings"

	"github.com/ration-go/ration/rationsim"
)

// verdict says in one sentence what each variant buys and what it costs, compared
// with the first, and whether the seeds agree.
func (r *topologyResult) verdict() string {
	share := r.answered()
	if _, runs := share.band(r.bands[0]); runs == 0 {
		return noCalls
	}
	if len(r.bands) == 1 {
		return "There is only one variant, so there is nothing to compare it with."
	}
	var clauses []string
	for _, b := range r.bands[1:] {
		clauses = append(clauses, r.clause(r.bands[0], b))
	}
	text := fmt.Sprintf("Compared with %q, %s.", r.bands[0].Name, strings.Join(clauses, "; "))
	if r.seeds() > 1 {
		text = fmt.Sprintf("By medians over %d seeds, and compared with %q, %s.",
			r.seeds(), r.bands[0].Name, strings.Join(clauses, "; "))
	}
	return text
}

// clause compares a variant with the first by the worst second of the service that it
// is about, by availability and by recovery, as printed.
func (r *topologyResult) clause(first, b *rationsim.TopologyBands) string {
	load, share := r.worst(r.focus), r.answered()
	text := fmt.Sprintf("%q %s", b.Name, comparedLoad(r.focusName(), &load, first, b))
	text += " " + comparedShare(&share, first, b)
	if r.seeds() > 1 {
		text += certainty(load.separates(first, b), share.separates(first, b))
	}
	return text + r.comparedRecovery(first, b)
}

func comparedLoad(where string, m *measure, first, b *rationsim.TopologyBands) string {
	was, _ := m.band(first)
	is, _ := m.band(b)
	from, to := times(was.Median), times(is.Median)
	switch {
	case from == to:
		return fmt.Sprintf("leaves the worst second at %s at %s", where, from)
	case is.Median < was.Median:
		return fmt.Sprintf("cuts the worst second at %s from %s to %s", where, from, to)
	}
	return fmt.Sprintf("raises the worst second at %s from %s to %s", where, from, to)
}

func comparedShare(m *measure, first, b *rationsim.TopologyBands) string {
	was, _ := m.band(first)
	is, _ := m.band(b)
	from, to := percent(was.Median), percent(is.Median)
	points := points(was.Median, is.Median)
	switch {
	case from == to:
		return fmt.Sprintf("at the same %s of %s", m.label, from)
	case is.Median < was.Median:
		return fmt.Sprintf("and costs %.2f points of %s (%s to %s)", points, m.label, from, to)
	}
	return fmt.Sprintf("and gains %.2f points of %s (%s to %s)", points, m.label, from, to)
}

// comparedRecovery says in how many runs every entry recovers, where that differs.
func (r *topologyResult) comparedRecovery(first, b *rationsim.TopologyBands) string {
	if _, ends := troubleEnds(r.base); !ends {
		return ""
	}
	was, is := recoveries(first), recoveries(b)
	switch n := r.seeds(); {
	case was == is:
		return ""
	case n == 1 && is == 1:
		return fmt.Sprintf(", and recovers, which %q does not", first.Name)
	case n == 1:
		return fmt.Sprintf(", and does not recover, which %q does", first.Name)
	default:
		return fmt.Sprintf(", and recovers in %d of %d runs against %d", is, n, was)
	}
}

// recoveries counts the runs in which every entry recovers.
func recoveries(b *rationsim.TopologyBands) (n int) {
	for _, report := range b.Reports {
		all := true
		for _, e := range report.Entries {
			all = all && e.Recovered
		}
		if all {
			n++
		}
	}
	return n
}
