package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	// The name report is taken here: it is what tells of an error.
	webpage "github.com/ration-go/ration/cmd/ration/internal/report"
	"github.com/ration-go/ration/rationsim"
)

// pageFiles says where the page and its charts go. "" = nowhere.
type pageFiles struct {
	html string   // a file
	svg  string   // a directory
	args []string // of the command, to be told on the page
}

func (p *pageFiles) define(flags *flag.FlagSet, args []string) {
	p.args = args
	flags.StringVar(&p.html, "html", "", "")
	flags.StringVar(&p.svg, "svg", "", "")
}

// presetQuestions are what the presets of one dependency are to answer.
var presetQuestions = map[string]string{
	"trade":      "A dependency is slow for a minute. What does a retry budget save, and cost?",
	"outage":     "Nothing answers for half a minute. What do retries add, and what stops them?",
	"partial":    "Three attempts in ten fail, all the time. What does a budget lose?",
	"saturation": "A busy dependency slows down until work queues. Do retries keep the queue full?",
}

// writePage writes the page and the charts that are asked for.
func (o *simulateOptions) writePage(ctx context.Context, out outcome) error {
	p := o.page
	if p.html == "" && p.svg == "" {
		return nil
	}
	r, err := pageOf(ctx, out)
	if err != nil {
		return err
	}
	if r.Question == "" {
		r.Question = presetQuestions[o.preset]
	}
	r.Verdict = typeset(r.Verdict)
	r.Command, r.Version = "ration simulate "+shellWords(p.args), versionText()
	if p.html != "" {
		if err := writeTo(p.html, func(w io.Writer) error { return webpage.Write(w, r) }); err != nil {
			return err
		}
	}
	if p.svg == "" {
		return nil
	}
	return writePictures(p.svg, r)
}

func writePictures(dir string, r webpage.Report) error {
	pictures, err := webpage.Pictures(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return usage("%s: %v", dir, pathless(err))
	}
	for _, x := range pictures {
		err := writeTo(filepath.Join(dir, x.Name), func(w io.Writer) error {
			_, err := w.Write(x.SVG)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pageOf returns what the page says of an outcome. Policies on one dependency are run
// again as a topology: the simulator makes the same of them, and has all timelines.
func pageOf(ctx context.Context, out outcome) (webpage.Report, error) {
	switch r := out.(type) {
	case *topologyResult:
		return r.page(r.verdict(), r.assumptions()), nil
	case *rivalsResult:
		return r.page(), nil
	case *chainResult:
		return r.page(), nil
	case *result:
		t := (&comparison{scenario: r.scenario, configs: r.configs}).asTopology()
		bands, err := rationsim.CompareSeeds(ctx, t.variants, r.seed, r.seeds())
		if err != nil {
			return webpage.Report{}, err
		}
		as := &topologyResult{topologyComparison: t, seed: r.seed, bands: bands}
		return as.page(r.verdict(), r.assumptions()), nil
	}
	return webpage.Report{}, fmt.Errorf("there is no page of %T", out)
}

func (r *topologyResult) page(verdict string, assumptions [][2]string) webpage.Report {
	return webpage.Report{
		Name: r.name, Question: r.question, Verdict: verdict,
		Duration: r.base.Duration, Bands: r.bands, Variants: r.variants, Focus: r.focusName(),
		Assumptions: pageAssumptions(assumptions),
		Seeds:       pageSeeds(r.seed, r.seeds()),
	}
}

// page has the rules of the rivals besides, since names alone say little.
func (r *rivalsResult) page() webpage.Report {
	p := r.topologyResult.page(r.verdict(), r.assumptions())
	if p.Question == "" {
		p.Question = fmt.Sprintf("What do other rules for retries make of the scenario “%s”?", r.name)
	}
	t := webpage.Table{
		Title: "The rules", Heads: []string{"Limiter", "Rule", "Source"},
		Note: "In place of the budget, on every edge and in each process for itself; attempts, " +
			"timeouts, back-off and breakers are the same for all.",
	}
	for _, b := range r.sorted() {
		rule, source := "the policy’s own budget", ""
		if rival, ok := rationsim.RivalNamed(b.Name); ok {
			rule, source = rival.Rule, rival.Source
		}
		t.Rows = append(t.Rows, []string{b.Name, rule, source})
	}
	p.Tables = []webpage.Table{t}
	return p
}

// page has the table and its plot: there is no storm to be seen over time.
func (r *chainResult) page() webpage.Report {
	t := webpage.Table{
		Title: "Attempts at the last service, per call",
		Note:  "The worst over all failure rates. In brackets: which one it is.",
	}
	numbers := r.table()
	t.Heads = append([]string{"depth"}, numbers.heads...)
	t.Plot = &webpage.Plot{
		X: "depth", Y: "attempts at the last service, per call",
		Lines: []webpage.PlotLine{{Name: "no budget"}, {Name: "budget"}, {Name: "loop broken"}},
	}
	for _, row := range r.rows {
		t.Plot.At = append(t.Plot.At, float64(row.Depth))
		for i, x := range []float64{row.NoBudget, row.Budget, row.Broken} {
			t.Plot.Lines[i].Values = append(t.Plot.Lines[i].Values, x)
		}
	}
	for _, row := range numbers.rows {
		cells := []string{strings.TrimPrefix(row.label, "depth ")}
		for _, cell := range row.cells {
			cells = append(cells, typeset(cell))
		}
		t.Rows = append(t.Rows, cells)
	}
	return webpage.Report{
		Name: chainPreset, Question: chainQuestion, Verdict: r.verdict(),
		Tables: []webpage.Table{t}, Assumptions: pageAssumptions(r.assumptions()),
		Seeds: pageSeeds(r.seed, 1),
	}
}

func pageAssumptions(rows [][2]string) (list []webpage.Assumption) {
	for _, row := range rows {
		list = append(list, webpage.Assumption{Term: row[0], Text: row[1]})
	}
	return list
}

func pageSeeds(seed uint64, n int) string {
	text := seedText(seed, n)
	return strings.ToUpper(text[:1]) + text[1:]
}

// shellWords joins arguments so that a shell takes them apart again.
func shellWords(args []string) string {
	var words []string
	for _, a := range args {
		plain := a != "" && strings.IndexFunc(a, func(r rune) bool {
			return !strings.ContainsRune("-_./=,:+%@", r) && (r < '0' || r > '9') &&
				(r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		}) < 0
		if !plain {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}

// typeset gives a sentence for the terminal the signs that print has for it.
func typeset(text string) string {
	text = factorSign.ReplaceAllString(text, "$1×")
	return quoted.ReplaceAllString(text, "“$1”")
}

var (
	factorSign = regexp.MustCompile(`(\d)x\b`)
	quoted     = regexp.MustCompile(`"([^"]*)"`)
)
