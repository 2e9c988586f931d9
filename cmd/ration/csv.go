package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/ration-go/ration/rationsim"
)

// csvHeads are the columns of a timeline. docs/scenario.md explains them, and
// programs rely on them.
var csvHeads = []string{
	"variant", "seed", "kind", "from", "name", "second",
	"offered", "attempts", "succeeded", "failed", "canceled",
	"refused_by_budget", "refused_by_breaker", "budget_spent", "p50_s", "p99_s",
	"received", "refused", "wasted", "queue", "busy", "utilization",
}

// writeCSV writes the timelines of all variants and seeds: a row for each second of
// each entry, edge and service. A column that a kind does not have is empty.
func writeCSV(w io.Writer, bands []*rationsim.TopologyBands) error {
	out := csv.NewWriter(w)
	if err := out.Write(csvHeads); err != nil {
		return err
	}
	for _, b := range bands {
		for _, r := range b.Reports {
			if err := writeReport(out, b.Name, r); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

func writeReport(out *csv.Writer, variant string, r *rationsim.TopologyReport) error {
	seed := strconv.FormatUint(r.Seed, 10)
	for i := range len(r.Entries) + len(r.Edges) {
		kind := "entry"
		if i >= len(r.Entries) {
			kind = "edge"
		}
		e := edgeReport(r, i)
		for k, s := range e.Timeline {
			row := []string{variant, seed, kind, e.From, e.To, strconv.Itoa(k)}
			if err := out.Write(append(row, edgeCells(s)...)); err != nil {
				return err
			}
		}
	}
	for _, x := range r.Services {
		for k, s := range x.Timeline {
			row := []string{variant, seed, "service", "", x.Name, strconv.Itoa(k)}
			if err := out.Write(append(row, serviceCells(s)...)); err != nil {
				return err
			}
		}
	}
	return nil
}

func edgeCells(s rationsim.EdgeSecond) []string {
	return []string{
		strconv.Itoa(s.Offered), strconv.Itoa(s.Attempts),
		strconv.Itoa(s.Succeeded), strconv.Itoa(s.Failed), strconv.Itoa(s.Canceled),
		strconv.Itoa(s.RefusedByBudget), strconv.Itoa(s.RefusedByBreaker), number(s.Budget),
		number(s.P50.Seconds()), number(s.P99.Seconds()),
		"", "", "", "", "", "",
	}
}

func serviceCells(s rationsim.ServiceSecond) []string {
	return []string{
		"", "", strconv.Itoa(s.Succeeded), strconv.Itoa(s.Failed), "", "", "", "", "", "",
		strconv.Itoa(s.Received), strconv.Itoa(s.Refused), strconv.Itoa(s.Wasted),
		strconv.Itoa(s.Queue), number(s.Busy), number(s.Utilization),
	}
}

// number shows a computed number to nine digits, which is more than it means.
func number(x float64) string { return strconv.FormatFloat(x, 'g', 9, 64) }

// writeTo makes a file of what write writes. What could not be written whole is
// no file.
func writeTo(file string, write func(io.Writer) error) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return usage("%s: %v", file, pathless(err))
	}
	defer func() {
		if failed := f.Close(); err == nil {
			err = failed
		}
		if err != nil {
			_ = os.Remove(file) // the first error is the one to tell
			err = fmt.Errorf("%s: %w", file, pathless(err))
		}
	}()
	return write(f)
}
