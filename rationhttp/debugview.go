package rationhttp

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ration-go/ration"
)

// A debugView is a report in the words and shapes of the page. The template
// escapes all of it but the style sheet, which is ours.
type debugView struct {
	*debugReport
	Query debugQuery
	CSS   template.CSS

	Title    string
	Clock    string
	Minute   debugTrafficView
	Rows     []debugRow
	Refusals []debugRefusalRow
	Nested   []debugNestedRow
	Policies []debugPolicyRow

	Orders    []debugChoice
	Refreshes []debugChoice
	Links     debugLinks
}

// debugLinks are the addresses that the page links to; "" = no link.
type debugLinks struct{ All, Degraded, Pause, Resume, Previous, Next, JSON string }

// A debugChoice is an option of a form.
type debugChoice struct {
	Value, Label string
	Chosen       bool
}

type debugRow struct {
	*debugItem
	Label    string
	KeyLabel string
	Link     string
	Bad      bool
	Bar      *debugBar
	Breaker  debugBreakerView
	Ceiling  string
	Backoff  string
	Minute   debugTrafficView

	CeilingIs, BackoffIs string // off, cold or warm
}

// A debugBar is the budget, of a width of 100.
type debugBar struct {
	Percent string // whole percents, as text and as width
	Level   string // calm, warm or hot
	Held    string // where the share begins that sheddable work must leave behind
	HeldFor string // its width
	Text    string
	Shared  string
}

type debugBreakerView struct{ State, For, Next string }

// A debugTrafficView is the last minute in figures, and as paths in a box of 120
// by 28.
type debugTrafficView struct {
	PerCall      string
	Calls        string
	Failed       string
	Trouble      string
	Idle         bool
	Loud         bool // more than one call in ten is retried
	Base, Excess string
	One          string // the height of one attempt per call
	Text         string
}

type debugWhen struct{ Ago, Exact, Machine string }

type debugRefusalRow struct {
	debugRefusal
	Of, Link string
	Times    string
	Since    string // the first of several
	When     debugWhen
}

type debugNestedRow struct {
	debugNested
	Of, Link string
	Times    string
	When     debugWhen
}

type debugPolicyRow struct {
	Label string
	debugPolicy
	Lines []debugLine
	Open  bool
}

// A debugLine is one of an explanation. An inner one begins with a label.
type debugLine struct {
	Text  string
	Inner bool
}

const (
	debugRefusalRows = 25
	debugNestedRows  = 25
)

func newDebugView(r *debugReport, q debugQuery) *debugView {
	v := &debugView{
		debugReport: r,
		Query:       q,
		CSS:         template.CSS(debugCSS),
		Clock:       r.Time.Format("15:04:05 MST"),
		Minute:      newDebugTrafficView(&r.LastMinute),
	}
	v.Title = "ration on " + r.Process.Host
	if r.Degraded > 0 {
		v.Title = fmt.Sprintf("%d degraded, %s", r.Degraded, v.Title)
	}
	for _, it := range r.Items {
		row := v.row(it)
		v.Rows = append(v.Rows, row)
		v.policy(&row)
	}
	for _, it := range r.found {
		v.tell(it)
	}
	slices.SortStableFunc(v.Refusals, func(a, b debugRefusalRow) int {
		return b.debugRefusal.Last.Compare(a.debugRefusal.Last)
	})
	v.Refusals = v.Refusals[:min(len(v.Refusals), debugRefusalRows)]
	slices.SortStableFunc(v.Nested, func(a, b debugNestedRow) int {
		return cmp.Compare(b.Count, a.Count)
	})
	v.Nested = v.Nested[:min(len(v.Nested), debugNestedRows)]
	v.choices()
	v.links()
	return v
}

func (v *debugView) row(it *debugItem) debugRow {
	row := debugRow{
		debugItem: it,
		Label:     it.label(),
		Bad:       it.State != ration.HealthOK.String(),
		Link:      v.link(it),
		Bar:       newDebugBar(it.Budget),
		Breaker:   newDebugBreaker(&it.Breaker, v.Time),
		Ceiling:   term(it.Ceiling),
		Backoff:   term(it.BackoffBase),
		Minute:    newDebugTrafficView(&it.LastMinute),

		CeilingIs: it.Ceiling.State, BackoffIs: it.BackoffBase.State,
	}
	if it.Key != nil {
		row.KeyLabel = it.keyLabel()
	}
	return row
}

func (it *debugItem) label() string { return cmp.Or(it.Name, "(unnamed)") }

func (it *debugItem) keyLabel() string { return cmp.Or(*it.Key, "(empty)") }

// title returns label and key on one line.
func (it *debugItem) title() string {
	if it.Key == nil {
		return it.label()
	}
	return it.label() + " / " + it.keyLabel()
}

// link returns the address of the item's own page.
func (v *debugView) link(it *debugItem) string {
	q := debugQuery{sort: debugSorts[0], per: debugPerPage, refresh: v.Query.refresh, show: it.ID}
	return q.link(nil)
}

// tell lists what was refused to an item, and who retries around it: also if the
// item is on another page.
func (v *debugView) tell(it *debugItem) {
	for _, r := range it.Refusals {
		line := debugRefusalRow{
			debugRefusal: r, Of: it.title(), Link: v.link(it),
			Times: grouped(r.Count), When: v.when(r.Last),
		}
		if r.Count > 1 {
			line.Since = v.when(r.First).Exact
		}
		v.Refusals = append(v.Refusals, line)
	}
	for _, n := range it.Nested {
		v.Nested = append(v.Nested, debugNestedRow{
			debugNested: n, Of: it.title(), Link: v.link(it),
			Times: grouped(n.Count), When: v.when(n.Last),
		})
	}
}

// policy lists the policy of the row, once for all rows that have the same.
func (v *debugView) policy(row *debugRow) {
	same := func(p debugPolicyRow) bool {
		return p.Label == row.Label && p.InWords == row.Policy.InWords
	}
	if slices.ContainsFunc(v.Policies, same) {
		return
	}
	p := debugPolicyRow{Label: row.Label, debugPolicy: row.Policy, Open: v.Single()}
	for line := range strings.Lines(row.Policy.Explain) {
		p.Lines = append(p.Lines, debugLine{strings.TrimRight(line, "\n"), line[0] == ' '})
	}
	v.Policies = append(v.Policies, p)
}

func (v *debugView) choices() {
	for _, s := range debugSorts {
		label := map[string]string{
			"trouble": "trouble first", "name": "name", "spent": "budget spent",
			"attempts": "attempts per call", "calls": "calls", "refused": "refused",
		}[s]
		v.Orders = append(v.Orders, debugChoice{s, label, s == v.Query.sort})
	}
	for _, n := range debugRefreshes {
		label := "off"
		if n > 0 {
			label = fmt.Sprintf("every %d s", n)
		}
		v.Refreshes = append(v.Refreshes, debugChoice{strconv.Itoa(n), label, n == v.Query.refresh})
	}
}

func (v *debugView) links() {
	q := v.Query
	list := func(only string) string {
		return q.link(func(q *debugQuery) { q.only, q.page, q.show = only, 1, 0 })
	}
	v.Links = debugLinks{
		All:      list(""),
		Degraded: list("degraded"),
		JSON:     q.link(func(q *debugQuery) { q.json, q.page, q.per, q.refresh = true, 1, 0, 5 }),
	}
	if q.refresh > 0 {
		v.Links.Pause = q.link(func(q *debugQuery) { q.refresh = 0 })
	} else {
		v.Links.Resume = q.link(func(q *debugQuery) { q.refresh = debugRefreshes[1] })
	}
	if v.Page > 1 {
		v.Links.Previous = q.link(func(q *debugQuery) { q.page = v.Page - 1 })
	}
	if v.Page < v.Pages {
		v.Links.Next = q.link(func(q *debugQuery) { q.page = v.Page + 1 })
	}
}

func (v *debugView) when(t time.Time) debugWhen {
	return debugWhen{
		Ago:     brief(v.Time.Sub(t).Truncate(time.Second)) + " ago",
		Exact:   t.Format(time.TimeOnly),
		Machine: t.Format(time.RFC3339Nano),
	}
}

// Refresh returns after how many seconds the page comes again; 0 = never.
func (v *debugView) Refresh() int { return v.Query.refresh }

// Search returns what was searched for.
func (v *debugView) Search() string { return v.Query.search }

// Filtered reports whether only what is degraded is shown.
func (v *debugView) Filtered() bool { return v.Query.only != "" }

// Single reports whether the page is about one item.
func (v *debugView) Single() bool { return v.Query.show != 0 }

// Per returns how many items a page has, if not as many as by default.
func (v *debugView) Per() string {
	if v.Query.per == debugPerPage {
		return ""
	}
	return strconv.Itoa(v.Query.per)
}

// All says how many items there are.
func (v *debugView) All() string {
	return counted(uint64(v.Executors), "executor") + ", " + counted(uint64(v.Keys), "key")
}

// Found says how many of them the list has.
func (v *debugView) Found() string {
	if v.Matching == v.Executors+v.Keys {
		return v.All()
	}
	return grouped(uint64(v.Matching)) + " of " + v.All()
}
