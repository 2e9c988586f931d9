package main

import (
	"fmt"
	"io"
	"math"

	"golang.org/x/perf/benchmath"
)

// A limit is one promise about cost, and whether it is kept.
type limit struct {
	says string
	met  bool   // by the short rounds, in which memory is at hand
	long bool   // missed by the longer runs of the tables
	how  string // what was measured
}

func (l limit) verdict() string {
	switch {
	case !l.met:
		return "**Missed.**"
	case l.long:
		return "**Met by the path itself, missed once the memory it takes is counted.**"
	}
	return "**Met.**"
}

func renderLimits(w io.Writer, r *results) {
	fmt.Fprintf(w, "## The limits, and whether they are kept\n\n%s\n\n", wrap("A ratio here is "+
		"that of two minima over a thousand rounds of some tens of microseconds, which what else "+
		"a machine does cannot move, and of these the median over the passes. The tables further "+
		"down show medians of longer runs, which it does move. The best of the short rounds find "+
		"memory at hand, so what it costs to get more, and to collect it, is only in the longer "+
		"runs; for a path that allocates both are given, and held against the limit. Allocations "+
		"are from the tables."))
	for _, l := range r.limits() {
		fmt.Fprintf(w, "%s\n\n", wrap(fmt.Sprintf("%s %s %s", l.says, l.verdict(), l.how)))
	}
}

// limits holds the figures against every limit that they speak of.
func (r *results) limits() (limits []limit) {
	for _, check := range []func() (limit, bool){
		r.successLimit,
		r.timeoutLimit,
		r.waitLimit,
		r.depositLimit,
		r.flatLimit,
		func() (limit, bool) { return r.refusalLimit("open-breaker") },
		func() (limit, bool) { return r.refusalLimit("empty-budget") },
		r.lookupLimit,
		func() (limit, bool) { return r.sharedLimit("success", "a success") },
		func() (limit, bool) { return r.sharedLimit("failure-ratio", "with a failure ratio") },
		func() (limit, bool) { return r.sharedLimit("timeout", "with timeouts") },
		r.httpLimit,
		r.idleLimit,
		r.keysLimit,
		r.leftLimit,
	} {
		if l, ok := check(); ok {
			limits = append(limits, l)
		}
	}
	return limits
}

func (r *results) successLimit() (limit, bool) {
	return r.ratioLimit("A success without a timeout costs at most 1.5 times two clock reads and "+
		"allocates nothing.", "success", 1.5, job{"Success", "retry+budget+breaker", ours}, 0)
}

func (r *results) timeoutLimit() (limit, bool) {
	return r.ratioLimit("A success with a timeout that the function never waits on costs at most "+
		"2.5 times two clock reads and one allocation.", "timeout", 2.5,
		job{"Timeout", "ignored", ours}, 1)
}

// waitLimit allows seven allocations: the five of the standard library, and two.
func (r *results) waitLimit() (limit, bool) {
	l, ok := r.ratioLimit("A success with a timeout that the function does wait on costs at most "+
		"1.3 times `context.WithTimeout`, the same wait and its cancel.", "timeout,waited-on", 1.3,
		job{"Timeout", "waited-on", ours}, 7)
	idle := r.median(limitJob("timeout,waited-on,to-idle-timeout"), "times")
	l.how += fmt.Sprintf(" To a `WithTimeout` that nobody asks for its channel it is %.2f.", idle)
	return l, ok
}

func (r *results) depositLimit() (limit, bool) {
	return r.ratioLimit("A deposit into a full bucket costs at most 3 times a call that does one "+
		"atomic load.", "deposit-full", 3, job{"Budget", "deposit-full,goroutines=1", ours}, 0)
}

func (r *results) flatLimit() (limit, bool) {
	return r.ratioLimit("Nor does a second goroutine make it slower: its wall time is at most 1.1 "+
		"times that of one.", "shared,deposit-full", 1.1,
		job{"Budget", "deposit-full,goroutines=2", ours}, 0)
}

func limitJob(row string) job { return job{"Limits", row, ours} }

// ratioLimit is a limit on a ratio, and on the allocations of a row. ok is false if
// the ratio was not measured.
func (r *results) ratioLimit(
	says, row string, most float64, allocating job, allocated float64,
) (l limit, ok bool) {
	got, ok := r.summary(limitJob(row), "times")
	n := r.median(allocating, allocs)
	l = limit{
		says: says,
		met:  got.Center <= most && n <= allocated,
		how: fmt.Sprintf("It is %.2f times%s, with %s.",
			got.Center, interval(got), count(n, "allocation")),
	}
	if n > 0 {
		long := r.ratio(allocating, r.floor(allocating.group, allocating.row))
		l.long = long > most
		l.how += fmt.Sprintf(" In the longer runs it is %.2f.", long)
	}
	return l, ok
}

// interval shows where the median lies with 95% confidence, which takes six passes.
func interval(s benchmath.Summary) string {
	if math.IsInf(s.Hi-s.Lo, 0) {
		return ""
	}
	return fmt.Sprintf(" (%.2f to %.2f)", s.Lo, s.Hi)
}

func count(n float64, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%.0f %s", n, what)
}

func (r *results) refusalLimit(row string) (limit, bool) {
	j := job{"Refusal", row, ours}
	n := r.median(j, allocs)
	return limit{
		says: fmt.Sprintf("A refusal (%s) allocates nothing but its error.", row),
		met:  n <= 1,
		how:  fmt.Sprintf("It makes %s, in %s ns.", count(n, "allocation"), figure(r.ns(j))),
	}, r.ns(j) > 0
}

// lookupLimit is in nanoseconds, as is that of HTTP: the promises say so.
func (r *results) lookupLimit() (limit, bool) {
	got, ok := r.summary(limitJob("lookup,alone"), "least-sec") // benchfmt knows ns
	ns := got.Center * 1e9
	return limit{
		says: "The lookup of a key takes under 60 ns, and no lock.",
		met:  ns < 60,
		how:  fmt.Sprintf("Among a thousand keys it takes %s ns.", figure(ns)),
	}, ok
}

// sharedLimit speaks of those measurements alone before which two goroutines that
// share nothing could use a second processor: without one nothing can be shown.
func (r *results) sharedLimit(row, what string) (limit, bool) {
	got, ok := r.summary(limitJob("shared,"+row), "times")
	given := r.median(limitJob("shared,floor"), "times")
	return limit{
		says: fmt.Sprintf("With a second goroutine the wall time per call falls to at most 0.7 "+
			"(%s).", what),
		met: got.Center <= 0.7,
		how: fmt.Sprintf("It falls to %.2f%s; that of two clock reads, which share nothing, to "+
			"%.2f. Counted were %d passes, in which a second processor could be had.",
			got.Center, interval(got), given, len(r.values[limitJob("shared,"+row)]["times"])),
	}, ok
}

func (r *results) httpLimit() (limit, bool) {
	got, ok := r.summary(limitJob("http,stub"), "added-sec")
	ns := got.Center * 1e9
	long, n := r.added(job{"HTTP", "stub,retry+budget+breaker+timeout", ours})
	return limit{
		says: "A round trip over a stub costs at most 700 ns and 8 allocations more than the bare " +
			"one.",
		met:  ns <= 700 && n <= 8,
		long: long > 700,
		how: fmt.Sprintf("It adds %.0f ns and %s; in the longer runs %.0f ns.",
			ns, count(n, "allocation"), long),
	}, ok
}

func (r *results) idleLimit() (limit, bool) {
	return r.memoryLimit("An idle executor keeps less than 16 KiB.", "idle", "B/executor", 1, 16<<10)
}

func (r *results) keysLimit() (limit, bool) {
	return r.memoryLimit("A thousand keys keep less than 8 MiB.", "key-after-100-calls",
		"B/key", 1000, 8<<20)
}

func (r *results) leftLimit() (limit, bool) {
	return r.memoryLimit("A million calls leave nothing behind: less than a page of the runtime, "+
		"8 KiB.", "left-by-a-million-calls", "B/million", 1, 8<<10)
}

func (r *results) memoryLimit(says, row, unit string, times, most float64) (limit, bool) {
	s, ok := r.summary(job{"Memory", row, ours}, unit)
	got := s.Center * times
	return limit{says: says, met: got < most, how: "It is " + count(got, "byte") + "."}, ok
}
