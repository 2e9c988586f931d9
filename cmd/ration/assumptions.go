package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ration-go/ration/rationsim"
)

// assumptions says what was simulated and what was taken for granted, as rows of a
// keyword and a sentence. Whoever reads the numbers judges them by this.
func (r *result) assumptions() [][2]string {
	d := r.scenario.Dependency
	rows := [][2]string{
		{"arrivals", fmt.Sprintf("%s calls a second on average, at random (Poisson), "+
			"whatever becomes of them, for %s", decimal(r.scenario.Rate), short(r.scenario.Duration))},
		{"latency", latencyAssumption(d.Latency)},
	}
	for _, b := range d.Brownouts {
		rows = append(rows, [2]string{"brownout", fmt.Sprintf(
			"attempts that begin %s take %s times as long", spanText(b.From, b.For), decimal(b.Slower))})
	}
	for _, o := range d.Outages {
		rows = append(rows, [2]string{"outage", fmt.Sprintf(
			"attempts that begin %s fail at once", spanText(o.From, o.For))})
	}
	rows = append(rows,
		[2]string{"failures", failureAssumption(d)},
		[2]string{"capacity", capacityAssumption(d)},
		[2]string{"timeouts", timeoutAssumption(d)},
		[2]string{"clients", "one process with one executor; nobody else uses the dependency"},
		[2]string{"worst second", "the most attempts per call in any one second while calls arrive: " +
			"attempts that begin in it, divided by calls that arrive in it or, where that is more, " +
			"in a second on average"},
		[2]string{"latencies", "of whole calls, failed ones too, with retries, waits and pauses"},
	)
	if r.measures() {
		rows = append(rows, [2]string{"measured", "from what succeeded in the last five minutes"})
	}
	if len(d.Brownouts)+len(d.Outages) > 0 {
		rows = append(rows, [2]string{"recovered", "from the end of the last trouble to the first " +
			"arrival from which on, for a second, every arriving call succeeds"})
	}
	if r.seeds() > 1 {
		rows = append(rows, [2]string{"apart", "two ranges over the seeds do not overlap, so that " +
			"their difference is more than the luck of a seed"})
	}
	return rows
}

func latencyAssumption(l rationsim.Latency) string {
	if l.P50 == l.P99 {
		return fmt.Sprintf("%s, always", short(l.P50))
	}
	return fmt.Sprintf("log-normal through p50 %s and p99 %s, drawn anew for each attempt",
		short(l.P50), short(l.P99))
}

func capacityAssumption(d rationsim.Dependency) string {
	if d.Concurrency == 0 {
		return "no limit: load does not slow the dependency down"
	}
	return fmt.Sprintf("%s attempts at once, %s more wait their turn, others fail at once",
		count(d.Concurrency), count(d.Queue))
}

func timeoutAssumption(d rationsim.Dependency) string {
	if d.Concurrency == 0 {
		return "the caller gives the attempt up; whether the dependency works on makes no " +
			"difference, since it has no limit"
	}
	return "the caller gives the attempt up; the dependency works on it to its end all the same"
}

func failureAssumption(d rationsim.Dependency) string {
	kinds := "a timeout"
	switch outages := len(d.Outages) > 0; {
	case outages && d.Concurrency > 0:
		kinds = "a timeout, an outage or a full queue"
	case outages:
		kinds = "a timeout or an outage"
	case d.Concurrency > 0:
		kinds = "a timeout or a full queue"
	}
	if d.FailureRate == 0 {
		return fmt.Sprintf("none at random; %s is a failure, and transient", kinds)
	}
	return fmt.Sprintf("%s%% of attempts, at random, when their work ends; %s is a failure too, "+
		"and all are transient", decimal(100*d.FailureRate), kinds)
}

// measures reports whether a policy goes by what it measures.
func (r *result) measures() bool {
	return slices.ContainsFunc(r.configs, func(c rationsim.Config) bool {
		p := resolved(c.Policy)
		return ceilingText(p) != off || p.Backoff.Measured != nil
	})
}

func spanText(from, length time.Duration) string {
	return fmt.Sprintf("from %s to %s", short(from), short(from+length))
}

// seedText names the seeds.
func seedText(seed uint64, n int) string {
	if n == 1 {
		return fmt.Sprintf("seed %d", seed)
	}
	return fmt.Sprintf("seeds %d to %d", seed, seed+uint64(n)-1)
}

// wrap fills lines of the width with words, and indents all but the first, beyond
// the width.
func wrap(text string, columns, indent int) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		n := width(word)
		switch {
		case i == 0:
		case column+1+n > columns:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}
