package main

import (
	"fmt"
	"io"
)

// A limit is one promise about cost, and whether it is kept.
type limit struct {
	says string
	met  bool
	how  string // what was measured
}

func renderLimits(w io.Writer, r *results) {
	fmt.Fprint(w, "## The limits, and whether they are kept\n\n")
	for _, l := range r.limits() {
		verdict := "**Met.**"
		if !l.met {
			verdict = "**Missed.**"
		}
		fmt.Fprintf(w, "%s\n\n", wrap(fmt.Sprintf("%s %s %s", l.says, verdict, l.how)))
	}
}

// limits holds the figures against every limit that they speak of.
func (r *results) limits() []limit {
	full := "retry+budget+breaker"
	checks := []func() (limit, bool){
		func() (limit, bool) {
			return r.ratioLimit("A success without a timeout costs at most 1.5 times two clock "+
				"reads and allocates nothing.", job{"Success", full, ours},
				job{"Floor", "two-clock-reads", "floor"}, 1.5, 0)
		},
		func() (limit, bool) {
			return r.ratioLimit("A success with a timeout that the function never waits on costs "+
				"at most 2.5 times two clock reads and one allocation.",
				job{"Timeout", "ignored", ours}, job{"Floor", "two-clock-reads", "floor"}, 2.5, 1)
		},
		func() (limit, bool) {
			l, ok := r.ratioLimit("A success with a timeout that the function does wait on costs "+
				"at most 1.3 times `context.WithTimeout` and its cancel.",
				job{"Timeout", "waited-on", ours}, job{"Floor", "context-timeout", "floor"}, 1.3, -1)
			asked := job{"Floor", "context-timeout,waited-on", "floor"}
			l.how += fmt.Sprintf(" To a `WithTimeout` that is asked for its channel, as a function "+
				"that waits must, it is %s.", ratio(r.ns(job{"Timeout", "waited-on", ours}), r.ns(asked)))
			return l, ok
		},
		func() (limit, bool) {
			return r.ratioLimit("A deposit into a full bucket costs at most 3 times a call that "+
				"does one atomic load.", job{"Budget", "deposit-full,goroutines=1", ours},
				job{"Floor", "atomic-load", "floor"}, 3, 0)
		},
		func() (limit, bool) {
			return r.ratioLimit("Nor does a second goroutine make it slower: wall time per deposit "+
				"is at most 1.1 times that of one goroutine.",
				job{"Budget", "deposit-full,goroutines=2", ours},
				job{"Budget", "deposit-full,goroutines=1", ours}, 1.1, 0)
		},
		func() (limit, bool) { return r.refusalLimit("open-breaker") },
		func() (limit, bool) { return r.refusalLimit("empty-budget") },
		r.lookupLimit,
		func() (limit, bool) { return r.scalingLimit(ours) },
		func() (limit, bool) { return r.scalingLimit(ours + "-ratio") },
		func() (limit, bool) { return r.scalingLimit(ours + "-timeout") },
		r.httpLimit,
		func() (limit, bool) {
			return r.memoryLimit("An idle executor keeps less than 16 KiB.", "idle",
				"B/executor", 1, 16<<10)
		},
		func() (limit, bool) {
			return r.memoryLimit("A thousand keys keep less than 8 MiB.", "key-after-100-calls",
				"B/key", 1000, 8<<20)
		},
		func() (limit, bool) {
			return r.memoryLimit("A million calls leave nothing behind: less than a page of the "+
				"runtime, 8 KiB.", "left-by-a-million-calls", "B/million", 1, 8<<10)
		},
	}
	var limits []limit
	for _, check := range checks {
		if l, ok := check(); ok {
			limits = append(limits, l)
		}
	}
	return limits
}

// ratioLimit is a limit on the ratio of two times, and on allocations unless most
// is negative. ok is false if one of the two was not measured.
func (r *results) ratioLimit(says string, j, to job, times, most float64) (l limit, ok bool) {
	got := r.ns(j) / r.ns(to)
	l = limit{says: says, met: got <= times}
	l.how = fmt.Sprintf("It is %.2f times: %s ns to %s ns", got, figure(r.ns(j)), figure(r.ns(to)))
	if most >= 0 {
		n := r.median(j, allocs)
		l.met = l.met && n <= most
		l.how += fmt.Sprintf(", with %.0f allocations", n)
	}
	l.how += "."
	return l, r.ns(j) > 0 && r.ns(to) > 0
}

func (r *results) refusalLimit(row string) (limit, bool) {
	j := job{"Refusal", row, ours}
	n := r.median(j, allocs)
	return limit{
		says: fmt.Sprintf("A refusal (%s) allocates nothing but its error.", row),
		met:  n <= 1,
		how:  fmt.Sprintf("It makes %.0f allocation in %s ns.", n, figure(r.ns(j))),
	}, r.ns(j) > 0
}

// lookupLimit is in nanoseconds, the only one: it is a promise about one access to
// a table, and there is no floor for it.
func (r *results) lookupLimit() (limit, bool) {
	j := job{"Extra", "for,keys=1000", ours}
	return limit{
		says: "The lookup of a key takes under 60 ns, and no lock.",
		met:  r.ns(j) < 60 && r.median(j, allocs) == 0,
		how:  fmt.Sprintf("Among a thousand keys it takes %s ns.", figure(r.ns(j))),
	}, r.ns(j) > 0
}

// scalingLimit tells what the machine had to give beside what came of it: where
// something else has the second processor, nothing can be shown.
func (r *results) scalingLimit(peer string) (limit, bool) {
	one := job{"Scaling", "procs=2,goroutines=1", peer}
	two := job{"Scaling", "procs=2,goroutines=2", peer}
	floorOne := job{"Scaling", "procs=2,goroutines=1", "floor"}
	floorTwo := job{"Scaling", "procs=2,goroutines=2", "floor"}
	got, given := r.ns(two)/r.ns(one), r.ns(floorTwo)/r.ns(floorOne)
	l := limit{
		says: fmt.Sprintf("With a second goroutine the wall time per call falls to at most 0.7 "+
			"(%s).", name(one)),
		met: got <= 0.7,
		how: fmt.Sprintf("It falls to %.2f; two clock reads, which share nothing, fall to %.2f.",
			got, given),
	}
	if !l.met && given > 0.6 {
		l.how += " The machine had no whole second processor to give when this was measured."
	}
	return l, r.ns(one) > 0 && r.ns(two) > 0
}

func (r *results) httpLimit() (limit, bool) {
	j := job{"HTTP", "stub,retry+budget+breaker+timeout", ours}
	base := job{"HTTP", j.row, "bare"}
	ns, n := r.ns(j)-r.ns(base), r.median(j, allocs)-r.median(base, allocs)
	return limit{
		says: "A round trip over a stub costs at most 700 ns and 8 allocations more than the bare " +
			"one.",
		met: ns <= 700 && n <= 8,
		how: fmt.Sprintf("It adds %.0f ns and %.0f allocations.", ns, n),
	}, r.ns(j) > 0
}

func (r *results) memoryLimit(says, row, unit string, times, most float64) (limit, bool) {
	s, ok := r.summary(job{"Memory", row, ours}, unit)
	got := s.Center * times
	return limit{says: says, met: got < most, how: fmt.Sprintf("It is %.0f bytes.", got)}, ok
}
