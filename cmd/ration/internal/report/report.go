// Package report writes what a simulation showed as one page to send to others:
// a question, its answer, the numbers and charts behind it, and what they rest
// on. The page is a single file that asks the network for nothing and runs no
// script, so that it can be attached, archived and printed.
package report

import (
	"errors"
	"fmt"
	"time"

	"github.com/ration-go/ration/rationsim"
)

// A Report is what a page says. It is a value, and writing it changes nothing.
// The same value gives the same bytes. All the text is shown as it is given: none
// of it is markup.
type Report struct {
	// Name is the scenario's, for the title. "" = "simulation".
	Name string

	// Question is what the simulation was to answer: the headline of the page.
	// "" = one made of the name.
	Question string

	// Verdict is the answer, in one sentence.
	Verdict string

	// Duration is how long calls arrive, and how long the charts are.
	Duration time.Duration

	// Bands are the results, each with the same seeds: those that are compared,
	// the one that the others are compared with first. Variants are what was
	// run; a result belongs to the variant of its name. Both may be empty when
	// there are Tables.
	Bands    []*rationsim.TopologyBands
	Variants []rationsim.Variant

	// Focus is the name of the service whose load the page is about. "" = the
	// one that is in trouble or, where several or none are, the one of those
	// that is amplified most.
	Focus string

	// Tables are shown after the headline, in this order: what the rivals do,
	// how a chain multiplies.
	Tables []Table

	// Assumptions are what the numbers rest on.
	Assumptions []Assumption

	// Command is what makes the same page again, and Seeds and Version are what
	// it depends on. Each is left out when it is "".
	Command string
	Seeds   string
	Version string
}

// A Table is more numbers for the page.
type Table struct {
	Title string
	Note  string   // what to look at; "" = nothing
	Heads []string // of the columns; the first column names the rows

	// Rows have a cell for each column. The first is text, the others are
	// aligned as numbers are.
	Rows [][]string

	Plot *Plot // of the same numbers; nil = none
}

// An Assumption is one thing that was taken for granted.
type Assumption struct{ Term, Text string }

// check returns what is wrong with the report.
func (r *Report) check() error {
	if len(r.Bands) == 0 && len(r.Tables) == 0 {
		return errors.New("report: nothing has run")
	}
	for _, t := range r.Tables {
		if t.Plot == nil {
			continue
		}
		if err := t.Plot.check(); err != nil {
			return err
		}
	}
	for _, b := range r.Bands {
		switch {
		case r.variant(b.Name) == nil:
			return fmt.Errorf("report: the results of %q belong to no variant", b.Name)
		case len(b.Reports) == 0 || len(b.Reports) != len(r.Bands[0].Reports):
			return fmt.Errorf("report: %q ran with %d seeds, and %q with %d",
				r.Bands[0].Name, len(r.Bands[0].Reports), b.Name, len(b.Reports))
		}
	}
	return nil
}

// variant returns what was run under a name, nil for nothing.
func (r *Report) variant(name string) *rationsim.Variant {
	for i := range r.Variants {
		if r.Variants[i].Name == name {
			return &r.Variants[i]
		}
	}
	return nil
}

// A view is what the page and its charts are drawn from.
type view struct {
	sides    []side
	focus    string // the service whose load it is about
	seeds    int
	bins     bins
	headline headline
	charts   []chart
	graph    graph
	edges    []edgeRow
}

// A side is one of those that are compared.
type side struct {
	name     string
	troubles []trouble
}
