package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

const preamble = `# Performance

<!-- Written by go run ./bench/cmd/performance, but for the part between the markers
     "by hand" and "end of by hand". Do not edit the rest: run it again. -->

What a call under Ration costs, beside what it costs under other libraries doing the same job, in
one run on one machine. Absolute times belong to the machine; ratios within one run hardly do. So
each table gives the ratio to the fastest peer and to the floor, the time below which nobody can go,
and the times and allocations only beside them.

Each peer is configured as its documentation recommends for the job of the row: three attempts,
exponential back-off, a breaker that trips on five failures in a row, 10 s for an attempt. Where a
peer cannot do the job its row is absent. One exception is made: libraries for retries have no
budget, and are let into rows that ask for one, where they do less; a star marks them. Those without
a breaker get the one of gobreaker nested within, as their users do it.

Not here: cinar/resile, which could not be fetched from the module proxy (it answers 403).
`

// render writes the page.
func render(w io.Writer, r *results, byHand string) {
	fmt.Fprintf(w, "%s\n", preamble)
	renderHeading(w, r)
	renderLimits(w, r)
	for _, s := range sections {
		rows := r.rows(s.group)
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(w, "## %s\n\n", s.title)
		switch s.group {
		case "Scaling":
			renderScaling(w, r, rows)
		case "Memory":
			renderMemory(w, r, rows)
		default:
			fmt.Fprintf(w, "%s\n\n", wrap(s.text))
			renderSection(w, r, s, rows)
		}
	}
	fmt.Fprintf(w, "%s\n%s\n%s\n", beginByHand, byHand, endByHand)
}

func renderHeading(w io.Writer, r *results) {
	fmt.Fprintf(w, "## What made these figures\n\n    %s\n\n", r.setting("command"))
	fmt.Fprintf(w, "%s\n\n", wrap(fmt.Sprintf("%s on %s/%s, %s, %s processors, %s. Times are "+
		"medians of %d passes over all rows, and ± is half of their 95%% interval; ratios are "+
		"medians of the ratios within each pass. The raw figures are in [%s](%s), for benchstat "+
		"and for `-render`. %s",
		r.setting("go"), r.setting("goos"), r.setting("goarch"), r.setting("cpu"),
		r.setting("processors"), r.setting("day"), r.passes(), rawName, rawName, r.noise())))
	fmt.Fprint(w, "| module | version |\n|---|---|\n")
	for _, c := range r.config {
		if path, ok := strings.CutPrefix(c.Key, modulePrefix); ok {
			fmt.Fprintf(w, "| %s | %s |\n", path, c.Value)
		}
	}
	fmt.Fprintln(w)
}

// noise says how far the same two clock reads, which do not change, were apart.
func (r *results) noise() string {
	floor := r.values[job{"Floor", "two-clock-reads", "floor"}][seconds]
	if len(floor) == 0 {
		return ""
	}
	least, most := slices.Min(floor), slices.Max(floor)
	return fmt.Sprintf("How quiet the machine was: two clock reads took from %s to %s ns.",
		figure(least*1e9), figure(most*1e9))
}

// renderSection writes the table of a group.
func renderSection(w io.Writer, r *results, s section, rows []string) {
	peers := slices.ContainsFunc(rows, func(row string) bool {
		return r.fastest(s.group, row) != job{}
	})
	added := r.floor(s.group, rows[0]).peer == "bare"
	heads := []string{"job", "by", "ns", "±", "allocations"}
	if peers {
		heads = append(heads, "to the fastest peer")
	}
	if s.floor != "" {
		heads = append(heads, "to "+s.floor)
	}
	if added {
		heads = append(heads, "added ns", "added allocations")
	}
	fmt.Fprintf(w, "| %s |\n|---|---|%s\n", strings.Join(heads, " | "),
		strings.Repeat("--:|", len(heads)-2))
	for _, row := range rows {
		for _, j := range r.peers(s.group, row) {
			cells := append([]string{row, name(j)}, r.figures(j)...)
			if peers {
				cells = append(cells, times(r.ratio(j, r.fastest(s.group, row))))
			}
			if s.floor != "" {
				cells = append(cells, times(r.ratio(j, r.floor(s.group, row))))
			}
			if added {
				ns, n := r.added(j)
				cells = append(cells, fmt.Sprintf("%+.0f", ns), fmt.Sprintf("%+.0f", n))
			}
			fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
		}
	}
	fmt.Fprintln(w)
}

// added returns what a job takes and allocates beyond the floor of its row.
func (r *results) added(j job) (ns, n float64) {
	base := r.floor(j.group, j.row)
	return r.ns(j) - r.ns(base), r.median(j, allocs) - r.median(base, allocs)
}

// figures are the time of a job, how sure it is, and its allocations.
func (r *results) figures(j job) []string {
	s, _ := r.summary(j, seconds)
	plusMinus := "–"
	if half := (s.Hi - s.Lo) / 2; s.Center > 0 && !math.IsInf(half, 0) {
		plusMinus = fmt.Sprintf("%.0f%%", half/s.Center*100)
	}
	return []string{figure(s.Center * 1e9), plusMinus, fmt.Sprintf("%.0f", r.median(j, allocs))}
}

// figure shows three digits, or all of those before the point.
func figure(x float64) string {
	switch {
	case x < 10:
		return fmt.Sprintf("%.2f", x)
	case x < 100:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// times shows a ratio.
func times(x float64) string {
	if x == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", x)
}

// renderScaling writes a row for each number of processors and goroutines, and for
// each implementation its time and the ratio to its own time with one goroutine.
func renderScaling(w io.Writer, r *results, rows []string) {
	fmt.Fprintln(w, wrap("A success through retry, budget and breaker, on one executor shared by "+
		"all goroutines. A figure is wall time per call, over all of them, in the fastest of the "+
		"passes, and in brackets the ratio to one goroutine on as many processors: 0.5 is a second "+
		"processor used in full, and the floor, two clock reads that share nothing, is what this "+
		"machine had to give. "+
		"With a failure ratio each success writes the breaker's window, and with timeouts the "+
		"estimator of the ceiling; both are striped by goroutine, and two goroutines meet in "+
		"one stripe one time in four.")+"\n")
	first := r.peers("Scaling", rows[0])
	fmt.Fprint(w, "| processors, goroutines |")
	for _, j := range first {
		fmt.Fprintf(w, " %s |", name(j))
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("--:|", len(first)))
	for _, row := range rows {
		fmt.Fprintf(w, "| %s |", row)
		procs, _, _ := strings.Cut(row, ",")
		for _, j := range r.peers("Scaling", row) {
			one := job{"Scaling", procs + ",goroutines=1", j.peer}
			fmt.Fprintf(w, " %s (%s) |", figure(r.least(j)), times(r.least(j)/r.least(one)))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}

func renderMemory(w io.Writer, r *results, rows []string) {
	fmt.Fprintln(w, wrap("Growth of the live heap, with the zero policy and a breaker that has both "+
		"of its trips: all that can be kept.")+"\n")
	fmt.Fprint(w, "| what | bytes |\n|---|--:|\n")
	for _, row := range rows {
		for _, unit := range []string{"B/executor", "B/key", "B/million"} {
			if s, ok := r.summary(job{"Memory", row, ours}, unit); ok {
				fmt.Fprintf(w, "| %s, per %s | %.0f |\n", row, unit[2:], s.Center)
			}
		}
	}
	fmt.Fprintln(w)
}

// The markers of what is written by hand.
const (
	beginByHand = "<!-- by hand -->"
	endByHand   = "<!-- end of by hand -->"
)

// handWritten returns what stands between the markers of a page.
func handWritten(page string) string {
	_, rest, ok := strings.Cut(page, beginByHand+"\n")
	if !ok {
		return ""
	}
	text, _, _ := strings.Cut(rest, "\n"+endByHand)
	return text
}

// wrap breaks a paragraph into lines of at most 100 columns.
func wrap(text string) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		switch {
		case column == 0:
		case column+1+len(word) > 100:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}
