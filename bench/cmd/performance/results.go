package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
)

// A job is one peer at one row.
type job struct{ group, row, peer string }

// results are all figures, and what made them.
type results struct {
	jobs   []job // in the order in which they were measured
	values map[job]map[string][]float64
	config []benchfmt.Config
}

// The units that every benchmark has.
const (
	seconds = "sec/op"
	allocs  = "allocs/op"
)

func readResults(in io.Reader) (*results, error) {
	r := &results{values: make(map[job]map[string][]float64)}
	reader := benchfmt.NewReader(in, rawName)
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.Result:
			if err := r.add(record); err != nil {
				return nil, err
			}
		case *benchfmt.SyntaxError:
			return nil, record
		}
	}
	if err := reader.Err(); err != nil {
		return nil, err
	}
	if len(r.jobs) == 0 {
		return nil, fmt.Errorf("%s: no figures", rawName)
	}
	return r, nil
}

func (r *results) add(record *benchfmt.Result) error {
	base, parts := record.Name.Parts()
	if len(parts) < 2 || parts[1][0] != '/' {
		return fmt.Errorf("benchmark %q is not of the form group/row/peer", record.Name)
	}
	trim := func(part []byte) string { return strings.TrimPrefix(string(part), "/") }
	j := job{string(base), trim(parts[0]), trim(parts[1])}
	if r.values[j] == nil {
		r.jobs = append(r.jobs, j)
		r.values[j] = make(map[string][]float64)
	}
	for _, v := range record.Values {
		r.values[j][v.Unit] = append(r.values[j][v.Unit], v.Value)
	}
	r.config = record.Clone().Config
	return nil
}

// summary returns the median of a figure and its interval, and false if there is
// no such figure.
func (r *results) summary(j job, unit string) (benchmath.Summary, bool) {
	values := r.values[j][unit]
	if len(values) == 0 {
		return benchmath.Summary{}, false
	}
	sample := benchmath.NewSample(values, &benchmath.DefaultThresholds)
	return benchmath.AssumeNothing.Summary(sample, 0.95), true
}

// median returns the median of a figure, and zero if there is none.
func (r *results) median(j job, unit string) float64 {
	s, _ := r.summary(j, unit)
	return s.Center
}

func (r *results) ns(j job) float64 { return r.median(j, seconds) * 1e9 }

// least returns the time of a job in its fastest pass, in nanoseconds.
func (r *results) least(j job) float64 {
	return slices.Min(append([]float64{math.Inf(1)}, r.values[j][seconds]...)) * 1e9
}

// setting returns one line of what made the figures.
func (r *results) setting(key string) string {
	for _, c := range r.config {
		if c.Key == key {
			return string(c.Value)
		}
	}
	return "unknown"
}

// passes is how often each benchmark was run.
func (r *results) passes() int {
	n := 0
	for _, units := range r.values {
		n = max(n, len(units[seconds]))
	}
	return n
}

// rows returns the rows of a group, in order.
func (r *results) rows(group string) []string {
	var rows []string
	for _, j := range r.jobs {
		if j.group == group && (len(rows) == 0 || rows[len(rows)-1] != j.row) {
			rows = append(rows, j.row)
		}
	}
	return rows
}

// peers returns the jobs of a row, in order.
func (r *results) peers(group, row string) []job {
	var jobs []job
	for _, j := range r.jobs {
		if j.group == group && j.row == row {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// isPeer reports whether j is the work of somebody else, and not a floor.
func (j job) isPeer() bool {
	return !strings.HasPrefix(j.peer, ours) && j.peer != "floor" && j.peer != "bare"
}

const ours = "ration"

// fastest returns the fastest peer at a row, the zero job if there is none.
func (r *results) fastest(group, row string) (least job) {
	for _, j := range r.peers(group, row) {
		if j.isPeer() && (least == job{} || r.ns(j) < r.ns(least)) {
			least = j
		}
	}
	return least
}

// floor returns the job of a row that nobody can beat, the zero job if it has none.
func (r *results) floor(group, row string) job {
	for _, j := range r.peers(group, row) {
		if j.peer == "floor" || j.peer == "bare" {
			return j
		}
	}
	return job{}
}

// ratio returns the median, over the passes, of the ratio of the times of two jobs,
// and zero if one was not measured. Within a pass both meet about the same load,
// which the ratio of two medians would mix.
func (r *results) ratio(j, to job) float64 {
	a, b := r.values[j][seconds], r.values[to][seconds]
	if len(a) == 0 || len(a) != len(b) {
		return 0
	}
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = a[i] / b[i]
	}
	sample := benchmath.NewSample(ratios, &benchmath.DefaultThresholds)
	return benchmath.AssumeNothing.Summary(sample, 0.95).Center
}
