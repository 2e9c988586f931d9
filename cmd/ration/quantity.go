package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ration-go/ration/rationsim"
)

// A quantity is a headline number of a simulation, which has a band over seeds.
type quantity struct {
	key    string // in JSON
	label  string
	band   func(*rationsim.Bands) rationsim.Band
	known  func(*rationsim.Report) bool
	format func(float64) string
}

var quantities = []quantity{{
	key: "availability", label: "availability", known: anyCalls, format: percent,
	band: func(b *rationsim.Bands) rationsim.Band { return b.Availability },
}, {
	key: "load_multiplier", label: "attempts per call", known: anyCalls, format: times,
	band: func(b *rationsim.Bands) rationsim.Band { return b.LoadMultiplier },
}, {
	key: "amplification", label: "worst second", known: anyCalls, format: times,
	band: func(b *rationsim.Bands) rationsim.Band { return b.Amplification },
}, {
	key: "p99_s", label: "latency p99", format: seconds,
	known: func(r *rationsim.Report) bool { return r.Latency != nil },
	band:  func(b *rationsim.Bands) rationsim.Band { return b.P99 },
}, {
	key: "time_to_recover_s", label: "recovered after", format: seconds,
	known: func(r *rationsim.Report) bool { return r.Recovered },
	band:  func(b *rationsim.Bands) rationsim.Band { return b.TimeToRecover },
}}

func anyCalls(r *rationsim.Report) bool { return r.Calls > 0 }

// of returns the band, and false if no run has the number.
func (q *quantity) of(b *rationsim.Bands) (rationsim.Band, bool) {
	return q.band(b), slices.ContainsFunc(b.Reports, q.known)
}

// separates reports whether two bands do not overlap. A band that is not there
// overlaps everything.
func (q *quantity) separates(a, b *rationsim.Bands) bool {
	x, inA := q.of(a)
	y, inB := q.of(b)
	return inA && inB && rationsim.Separates(x, y)
}

// percent shows a share. Only all is 100% and only nothing 0%: the single failure
// among a million calls is what somebody may be looking for.
func percent(share float64) string {
	text := strconv.FormatFloat(100*share, 'f', 2, 64)
	switch {
	case text == "100.00" && share < 1:
		return ">99.99%"
	case text == "0.00" && share > 0:
		return "<0.01%"
	}
	return text + "%"
}

func times(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) + "x" }

func seconds(s float64) string { return latency(time.Duration(math.Round(s * 1e9))) }

// latency shows a measured duration with three digits, which is more than a
// simulation can promise and as many as people compare.
func latency(d time.Duration) string {
	for unit := time.Duration(1); ; unit *= 10 {
		if r := d.Round(unit); r < 1000*unit || unit > time.Hour {
			return short(r)
		}
	}
}

// short shows a duration without the zero units that String appends.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// decimal shows a number that somebody has set as they would write it.
func decimal(x float64) string {
	// Multiplying a setting by 100 must not show.
	return strconv.FormatFloat(math.Round(x*1e9)/1e9, 'f', -1, 64)
}

// count shows a number of things with its thousands apart.
func count(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
