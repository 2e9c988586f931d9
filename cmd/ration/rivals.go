package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationsim"
)

// A rivalsResult is what other rules for retries make of the same storm. The first
// variant is Ration.
type rivalsResult struct{ *topologyResult }

func (o *simulateOptions) simulateRivals(
	ctx context.Context, c *comparison, std streams,
) (*rivalsResult, error) {
	r, err := o.runVariants(ctx, c.asTopology().against(o.rivals), c.seed, std)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(r.bands[1:], r.byAvailability)
	return &rivalsResult{r}, o.writeTopologyFiles(r)
}

// against returns Ration and its rivals as variants of what is compared: of a file
// as it is before any variant changes it, of the others the first that has budgets.
func (c *topologyComparison) against(rivals []string) *topologyComparison {
	t := *c
	t.base = withBudgets(c.base)
	t.variants = []rationsim.Variant{{Name: rationLimiter, Topology: t.base}}
	t.changes = []string{""}
	for _, name := range rivals {
		rival, _ := rationsim.RivalNamed(name)
		t.variants = append(t.variants, rationsim.Variant{
			Name: name, Topology: c.base.WithLimiter(rival.New),
		})
		t.changes = append(t.changes, rival.Rule)
	}
	return &t
}

// withBudgets returns a topology with Ration's budget everywhere: that of the policy,
// or the default where it is off.
func withBudgets(t rationsim.Topology) rationsim.Topology {
	t = t.Clone()
	for i := range t.Entries {
		t.Entries[i].Limiter = nil
	}
	for i := range t.Services {
		for j := range t.Services[i].Calls {
			t.Services[i].Calls[j].Limiter = nil
		}
	}
	return t.WithPolicies(func(_, _ string, p ration.Policy) ration.Policy {
		if p.Budget == ration.NoBudget {
			p.Budget = nil
		}
		return p
	})
}

// byAvailability puts those first that serve more, and of equals those that send less.
func (r *topologyResult) byAvailability(a, b *rationsim.TopologyBands) int {
	share, load := r.answered(), r.worst(r.focus)
	median := func(m measure, b *rationsim.TopologyBands) float64 {
		band, _ := m.band(b)
		return band.Median
	}
	return cmp.Or(
		cmp.Compare(median(share, b), median(share, a)),
		cmp.Compare(median(load, a), median(load, b)),
	)
}

// A rank is how a rival stands to Ration in one number.
type rank int

const (
	same   rank = iota // the bands overlap
	better             // they do not, and the rival does better
	worse
)

func (k rank) mark() string { return [...]string{"~", "+", "-"}[k] }

// rank compares a rival with Ration. With one seed the numbers as printed count.
func (r *rivalsResult) rank(b *rationsim.TopologyBands, m measure, moreIsBetter bool) rank {
	ours, _ := m.band(r.bands[0])
	theirs, _ := m.band(b)
	apart := rationsim.Separates(ours, theirs)
	if r.seeds() == 1 {
		apart = m.format(ours.Median) != m.format(theirs.Median)
	}
	switch {
	case !apart:
		return same
	case (theirs.Median > ours.Median) == moreIsBetter:
		return better
	}
	return worse
}

// sorted returns all, Ration among them, by availability.
func (r *rivalsResult) sorted() []*rationsim.TopologyBands {
	all := slices.Clone(r.bands)
	slices.SortStableFunc(all, r.byAvailability)
	return all
}

func (r *rivalsResult) text() []byte {
	var b strings.Builder
	b.WriteString(r.heading())
	row := func(term, text string) { writeTerm(&b, term, text) }
	row("rivals", "in place of the budget, on every edge and in each process for itself; attempts, "+
		"timeouts, back-off and breakers are the same for all")
	for _, v := range r.variants[1:] {
		rival, _ := rationsim.RivalNamed(v.Name)
		row(v.Name, rival.Rule)
	}
	fmt.Fprintf(&b, "\n%s\n+ better than ration, - worse, ~ %s\n", r.table(), r.tie())
	fmt.Fprintf(&b, "\n%s\n", wrap(r.verdict(), lineWidth, 0))
	return []byte(b.String())
}

func (r *rivalsResult) tie() string {
	if r.seeds() == 1 {
		return "the same; one seed is one sample"
	}
	return "the ranges over the seeds overlap"
}

func (r *rivalsResult) table() *table {
	_, ends := troubleEnds(r.base)
	t := &table{gap: 2, heads: r.rangedHeads("available", overSeeds, "worst", overSeeds, "load")}
	if ends {
		t.heads = append(t.heads, "recovered")
	}
	share, worst, load := r.answered(), r.worst(r.focus), r.load(r.focus)
	for _, b := range r.sorted() {
		mark := func(m measure, moreIsBetter bool) string {
			if b.Name == rationLimiter {
				return "  "
			}
			return " " + r.rank(b, m, moreIsBetter).mark()
		}
		band, _ := share.band(b)
		cells := r.ranged([]string{percent(band.Median) + mark(share, true)}, band, percent)
		band, _ = worst.band(b)
		cells = append(cells, times(band.Median)+mark(worst, false))
		cells = r.ranged(cells, band, times)
		cells = append(cells, r.median(b, load))
		if ends {
			cells = append(cells, r.recovered(b, 0))
		}
		t.add(b.Name, cells...)
	}
	return t
}

// verdict says first where Ration loses.
func (r *rivalsResult) verdict() string {
	share, worst := r.answered(), r.worst(r.focus)
	ours, runs := share.band(r.bands[0])
	if runs == 0 {
		return noCalls
	}
	oursWorst, _ := worst.band(r.bands[0])
	text := fmt.Sprintf("Ration has %s of %s and a worst second of %s at %s.", percent(ours.Median),
		share.label, times(oursWorst.Median), r.focusName())
	names := make(map[standing][]string)
	for _, b := range r.sorted() {
		if b.Name == rationLimiter {
			continue
		}
		x, name := r.standing(b), strconv.Quote(b.Name)
		if x != beaten {
			theirs, _ := share.band(b)
			theirWorst, _ := worst.band(b)
			name += fmt.Sprintf(" (%s, %s)", percent(theirs.Median), times(theirWorst.Median))
		}
		names[x] = append(names[x], name)
	}
	for x, sentence := range standings {
		if sentence != "" && names[standing(x)] != nil {
			text += " " + fmt.Sprintf(sentence, strings.Join(names[standing(x)], ", "))
		}
	}
	if names[ahead] == nil && names[generous] == nil && names[frugal] == nil {
		text += " Here it loses to none of the rivals."
	}
	return text
}

// A standing is how a rival stands to Ration in both numbers.
type standing int

const (
	alike    standing = iota
	ahead             // better in one, and worse in none
	generous          // serves more and sends more
	frugal            // serves less and sends less
	beaten            // worse in one, and better in none
)

var standings = [...]string{
	ahead:    "It loses to %s in one number and wins in none.",
	generous: "It loses availability, at a better worst second, to %s.",
	frugal:   "It loses on the worst second, at a better availability, to %s.",
	beaten:   "It wins against %s in one number at least and loses in none.",
}

func (r *rivalsResult) standing(b *rationsim.TopologyBands) standing {
	serves, spares := r.rank(b, r.answered(), true), r.rank(b, r.worst(r.focus), false)
	switch {
	case serves == better && spares == worse:
		return generous
	case serves == worse && spares == better:
		return frugal
	case serves == better || spares == better:
		return ahead
	case serves == worse || spares == worse:
		return beaten
	}
	return alike
}

// json has what the text has, and each rival as a variant.
func (r *rivalsResult) json() ([]byte, error) {
	var rows []object
	share, worst, load := r.answered(), r.worst(r.focus), r.load(r.focus)
	words := [...]string{"overlaps", "better", "worse"}
	for _, b := range r.sorted() {
		rule, source := "the policy's own budget", ""
		if rival, ok := rationsim.RivalNamed(b.Name); ok {
			rule, source = rival.Rule, rival.Source
		}
		row := object{{"name", b.Name}, {"rule", rule}, {"source", source}}
		for _, m := range []struct {
			key string
			measure
		}{{"availability", share}, {"amplification", worst}, {"load_multiplier", load}} {
			band, runs := m.band(b)
			row = append(row, member{m.key, ifAny(bandObject(band), runs)})
		}
		row = append(row, member{"recovered", recoveries(b)})
		if b.Name != rationLimiter {
			row = append(row, member{"availability_against_ration", words[r.rank(b, share, true)]},
				member{"amplification_against_ration", words[r.rank(b, worst, false)]})
		}
		rows = append(rows, row)
	}
	return encode(object{
		{"scenario", r.name},
		{"question", r.question},
		{"seed", r.seed},
		{"seeds", r.seeds()},
		{"duration_s", r.base.Duration.Seconds()},
		{"focus", r.focusName()},
		{"rivals", rows},
		{"verdict", r.verdict()},
	})
}
