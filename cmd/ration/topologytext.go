package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationsim"
)

// text returns the result for people: the question, what was assumed, the numbers of
// each variant, and how they compare.
func (r *topologyResult) text() []byte {
	var b strings.Builder
	b.WriteString(r.heading())
	for i := range r.bands {
		fmt.Fprintf(&b, "\n%s\n%s", wrap(r.variantTitle(i), lineWidth, 2), r.variantTables(i))
	}
	if r.nests() {
		b.WriteString("\n" + nestedNote)
	}
	fmt.Fprintf(&b, "\n%s", r.comparisonTable())
	fmt.Fprintf(&b, "\n%s\n", wrap(r.verdict(), lineWidth, 0))
	return []byte(b.String())
}

const nestedNote = "" +
	"* nests: it retries on behalf of requests that their senders would retry too,\n" +
	"  so that the two multiply; obeyGiveUp on the edges above it breaks the loop.\n"

// heading says what was simulated and what was taken for granted.
func (r *topologyResult) heading() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Scenario %s, %s.\n", r.name, seedText(r.seed, r.seeds()))
	if r.question != "" {
		fmt.Fprintf(&b, "%s\n", wrap(r.question, lineWidth, 0))
	}
	b.WriteString("\nThe policies are real: the code that ships decides, on a simulated clock and\n" +
		"for each replica apart. The rest is a model, and nothing here is a real network.\n")
	for _, a := range r.assumptions() {
		writeTerm(&b, a[0], a[1])
	}
	return b.String()
}

// writeTerm writes a row of assumptions. A term that has no room beside its text has
// a line of its own.
func writeTerm(b *strings.Builder, term, text string) {
	const indent = 16
	pad := "\n" + strings.Repeat(" ", indent)
	if room := indent - 2 - width(term); room > 0 {
		pad = strings.Repeat(" ", room)
	}
	fmt.Fprintf(b, "  %s%s%s\n", term, pad, wrap(text, lineWidth-indent, indent))
}

func (r *topologyResult) variantTitle(i int) string {
	if r.changes[i] == "" {
		return r.bands[i].Name
	}
	return r.bands[i].Name + ": " + r.changes[i]
}

// Columns that hold names. An edge has two.
const (
	nameWidth = 12
	edgeWidth = 2*nameWidth + len(" -> ") + len(" *")
)

// variantTables are the numbers of one variant: of what users saw, of each edge and
// of each service.
func (r *topologyResult) variantTables(i int) string {
	b := r.bands[i]
	tables := []*table{r.entryTable(b), r.edgeTable(b), r.serviceTable(b)}
	labels := 0
	for _, t := range tables {
		labels = max(labels, t.labelWidth())
	}
	var text strings.Builder
	for _, t := range tables {
		t.labels, t.gap = labels, 2
		text.WriteString(t.String())
	}
	return text.String()
}

// ranged adds the range over the seeds to a cell, if there are several.
func (r *topologyResult) ranged(
	cells []string, band rationsim.Band, format func(float64) string,
) []string {
	if r.seeds() > 1 {
		cells = append(cells, rangeText(band, format))
	}
	return cells
}

// rangeText shows a range with its unit once.
func rangeText(band rationsim.Band, format func(float64) string) string {
	a, b := format(band.Min), format(band.Max)
	switch {
	case a == b:
		return a
	case strings.ContainsAny(a+b, "<>"):
		return a + " to " + b
	}
	if unit := b[len(b)-1:]; unit == "%" || unit == "x" {
		a = strings.TrimSuffix(a, unit)
	}
	return a + "-" + b
}

func (r *topologyResult) rangedHeads(heads ...string) []string {
	if r.seeds() == 1 {
		return slices.DeleteFunc(heads, func(h string) bool { return h == overSeeds })
	}
	return heads
}

const overSeeds = "over seeds"

func (r *topologyResult) entryTable(b *rationsim.TopologyBands) *table {
	_, ends := troubleEnds(r.base)
	t := &table{title: "entry", heads: r.rangedHeads("available", overSeeds, "p99", "recovered")}
	if !ends {
		t.heads = t.heads[:len(t.heads)-1]
	}
	for i, e := range b.Entries {
		share := r.availability(i, "")
		cells := r.share(b, share)
		cells = append(cells, r.median(b, latencyP99(i)))
		if ends {
			cells = append(cells, r.recovered(b, i))
		}
		t.add(shortName(e.From, edgeWidth), cells...)
		for _, level := range r.levels(i) {
			t.add("  "+levelName(level), r.share(b, levelAvailability(i, level))...)
		}
	}
	return t
}

// share returns the median of a share, and its range.
func (r *topologyResult) share(b *rationsim.TopologyBands, m measure) []string {
	band, runs := m.band(b)
	if runs == 0 {
		return r.ranged([]string{noNumber}, band, func(float64) string { return noNumber })
	}
	return r.ranged([]string{percent(band.Median)}, band, percent)
}

func (r *topologyResult) median(b *rationsim.TopologyBands, m measure) string {
	band, runs := m.band(b)
	if runs == 0 {
		return m.unless
	}
	return m.format(band.Median)
}

// recovered says when an entry recovers, and in how many runs if not in all.
func (r *topologyResult) recovered(b *rationsim.TopologyBands, entry int) string {
	n := b.Entries[entry].Recovered
	text := r.median(b, recovery(entry))
	if n == 0 || n == r.seeds() {
		return text
	}
	return fmt.Sprintf("%s (%d of %d)", text, n, r.seeds())
}

func (r *topologyResult) edgeTable(b *rationsim.TopologyBands) *table {
	t := &table{title: "edge", heads: r.rangedHeads("per call", "worst", overSeeds, "fails by")}
	for i := range edgesOf(r.base) {
		bands, reports := edgeBands(b, i), edgeReports(b, i)
		label := shortName(bands.From, nameWidth) + " -> " + shortName(bands.To, nameWidth)
		if slices.ContainsFunc(reports, func(e *rationsim.EdgeReport) bool { return e.Nested }) {
			label += " *"
		}
		if !slices.ContainsFunc(reports, func(e *rationsim.EdgeReport) bool { return e.Calls > 0 }) {
			t.add(label, slices.Repeat([]string{noNumber}, len(t.heads))...)
			continue
		}
		cells := []string{times(bands.LoadMultiplier.Median), times(bands.Amplification.Median)}
		cells = r.ranged(cells, bands.Amplification, times)
		t.add(label, append(cells, binding(reports))...)
	}
	return t
}

// edgeBands returns those of an edge: entries come first.
func edgeBands(b *rationsim.TopologyBands, i int) rationsim.EdgeBands {
	if i < len(b.Entries) {
		return b.Entries[i].EdgeBands
	}
	return b.Edges[i-len(b.Entries)]
}

// edgeReports returns what each run says of an edge.
func edgeReports(b *rationsim.TopologyBands, i int) (reports []*rationsim.EdgeReport) {
	for _, r := range b.Reports {
		reports = append(reports, edgeReport(r, i))
	}
	return reports
}

func edgeReport(r *rationsim.TopologyReport, i int) *rationsim.EdgeReport {
	if i < len(r.Entries) {
		return &r.Entries[i].EdgeReport
	}
	return &r.Edges[i-len(r.Entries)]
}

// bindings are the ways in which a call fails, in a word for a table.
var bindings = map[ration.StopReason]string{
	ration.StopPermanent:         "given up",
	ration.StopAttemptsExhausted: "attempts",
	ration.StopDeadlineExceeded:  "deadline",
	ration.StopBudgetExhausted:   "budget",
	ration.StopUnavailable:       "breaker",
}

// binding says what ended most of the calls that failed, and which share of them.
func binding(reports []*rationsim.EdgeReport) string {
	sum, all := make(map[ration.StopReason]int), 0
	for _, e := range reports {
		for _, why := range failureReasons {
			sum[why] += e.Stops[why]
			all += e.Stops[why]
		}
	}
	if all == 0 {
		return noNumber
	}
	most := slices.MaxFunc(failureReasons, func(a, b ration.StopReason) int { return sum[a] - sum[b] })
	return fmt.Sprintf("%s %.0f%%", bindings[most], 100*float64(sum[most])/float64(all))
}

func (r *topologyResult) serviceTable(b *rationsim.TopologyBands) *table {
	t := &table{title: "service", heads: r.rangedHeads("load", "worst", overSeeds, "wasted", "queue")}
	for i, s := range b.Services {
		wasted := rationsim.BandOf(b.Reports, func(r *rationsim.TopologyReport) (float64, bool) {
			x := r.Services[i]
			return float64(x.Wasted) / float64(max(x.Received, 1)), x.Received > 0
		})
		queue := rationsim.BandOf(b.Reports, func(r *rationsim.TopologyReport) (float64, bool) {
			longest := 0
			for _, second := range r.Services[i].Timeline {
				longest = max(longest, second.Queue)
			}
			return float64(longest), true
		})
		cells := []string{times(s.LoadMultiplier.Median), times(s.Amplification.Median)}
		cells = r.ranged(cells, s.Amplification, times)
		t.add(shortName(s.Name, edgeWidth), append(cells, percent(wasted.Median),
			count(int(queue.Median)))...)
	}
	return t
}

// nests reports whether any edge does, in any variant.
func (r *topologyResult) nests() bool {
	for _, b := range r.bands {
		for i := range edgesOf(r.base) {
			if slices.ContainsFunc(edgeReports(b, i), func(e *rationsim.EdgeReport) bool {
				return e.Nested
			}) {
				return true
			}
		}
	}
	return false
}

// comparisonTable has the headline numbers of all variants side by side, and whether
// the seeds tell each from the first.
func (r *topologyResult) comparisonTable() *table {
	if r.seeds() == 1 {
		t := &table{}
		for _, b := range r.bands {
			t.heads = append(t.heads, b.Name)
		}
		for _, m := range r.headlines() {
			var cells []string
			for _, b := range r.bands {
				cells = append(cells, r.median(b, m))
			}
			t.add(m.label, cells...)
		}
		return t
	}
	t := &table{heads: []string{"min", "median", "max"}}
	if len(r.bands) > 1 {
		t.heads = append(t.heads, "against "+r.bands[0].Name)
	}
	for _, m := range r.headlines() {
		t.add(m.label)
		for i, b := range r.bands {
			t.add("  "+b.Name, append(r.bandCells(b, m), r.against(i, m)...)...)
		}
	}
	return t
}

func (r *topologyResult) bandCells(b *rationsim.TopologyBands, m measure) []string {
	band, runs := m.band(b)
	if runs == 0 {
		return []string{m.unless, m.unless, m.unless}
	}
	highest := m.format(band.Max)
	if m.unless == "never" && runs < r.seeds() {
		highest = m.unless
	}
	return []string{m.format(band.Min), m.format(band.Median), highest}
}

// against says whether the seeds tell a variant from the first.
func (r *topologyResult) against(i int, m measure) []string {
	if i == 0 {
		return nil
	}
	_, a := m.band(r.bands[0])
	_, b := m.band(r.bands[i])
	n := r.seeds()
	switch {
	case m.unless == "never" && (a == 0 && b == n || a == n && b == 0):
		return []string{"apart"}
	case m.unless == "never" && a != b:
		return []string{fmt.Sprintf("%d of %d, not %d", b, n, a)}
	case a == 0 || b == 0:
		return []string{noNumber}
	case m.separates(r.bands[0], r.bands[i]):
		return []string{"apart"}
	}
	return []string{"overlaps"}
}

// shortName cuts the middle out of a name that is too long for its column. Names that
// differ tend to do so at an end.
func shortName(name string, columns int) string {
	if width(name) <= columns {
		return name
	}
	runes := []rune(name)
	head, tail := 0, len(runes)
	for i, room := 0, columns-1; head < tail; i++ {
		next := head
		if i%2 == 1 {
			next = tail - 1
		}
		if room -= width(string(runes[next])); room < 0 {
			break
		}
		if i%2 == 1 {
			tail--
		} else {
			head++
		}
	}
	return string(runes[:head]) + "…" + string(runes[tail:])
}
