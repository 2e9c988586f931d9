package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ration-go/ration/rationsim"
)

const noCalls = "No call arrived, so there is nothing to compare."

// verdict says in one sentence what each policy bought and what it cost, compared
// with the first.
func (r *result) verdict() string {
	first := r.bands[0]
	if !slices.ContainsFunc(first.Reports, anyCalls) {
		return noCalls
	}
	if len(r.bands) == 1 {
		return "There is only one policy, so there is nothing to compare it with."
	}
	var clauses []string
	for _, b := range r.bands[1:] {
		clauses = append(clauses, r.clause(first, b))
	}
	text := fmt.Sprintf("Compared with %q, %s.", first.Name, strings.Join(clauses, "; "))
	if r.seeds() > 1 {
		text = fmt.Sprintf("By medians over %d seeds, and compared with %q, %s.",
			r.seeds(), first.Name, strings.Join(clauses, "; "))
	}
	return text
}

// clause compares a policy with the first by load and by availability, as printed:
// a difference that the table does not show is none.
func (r *result) clause(first, b *rationsim.Bands) string {
	load, was := times(b.Amplification.Median), times(first.Amplification.Median)
	text := fmt.Sprintf("%q ", b.Name)
	switch {
	case load == was:
		text += "leaves the worst second at " + was
	case b.Amplification.Median < first.Amplification.Median:
		text += fmt.Sprintf("cuts the worst second from %s to %s", was, load)
	default:
		text += fmt.Sprintf("raises the worst second from %s to %s", was, load)
	}
	share, wasShare := percent(b.Availability.Median), percent(first.Availability.Median)
	points := points(first.Availability.Median, b.Availability.Median)
	switch {
	case share == wasShare:
		text += fmt.Sprintf(" at the same availability of %s", share)
	case b.Availability.Median < first.Availability.Median:
		text += fmt.Sprintf(" and costs %.2f points of availability (%s to %s)", points, wasShare, share)
	default:
		text += fmt.Sprintf(" and gains %.2f points of availability (%s to %s)", points, wasShare, share)
	}
	if r.seeds() > 1 {
		text += certainty(rationsim.Separates(first.Amplification, b.Amplification),
			rationsim.Separates(first.Availability, b.Availability))
	}
	return text
}

// points returns the difference of two shares in percentage points, as a reader of
// the two percentages computes it.
func points(a, b float64) float64 {
	return math.Abs(math.Round(a*1e4)-math.Round(b*1e4)) / 100
}

// certainty says whether the seeds agree on the load and on the share.
func certainty(load, share bool) string {
	switch {
	case load && share:
		return ", both bands apart"
	case load:
		return ", though the bands of availability overlap"
	case share:
		return ", though the bands of the worst second overlap"
	}
	return ", but both bands overlap, so it may be chance"
}
