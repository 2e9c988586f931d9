package rationhttp

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ration-go/ration"
)

// A debugReport is what a page tells, and what ?format=json writes. The names in
// it are documented in docs/debug-page.md and do not change.
type debugReport struct {
	Time         time.Time    `json:"time"`
	HistorySince *time.Time   `json:"history_since"` // null once closed
	Process      debugProcess `json:"process"`
	Executors    int          `json:"executors"`
	Keys         int          `json:"keys"`
	Degraded     int          `json:"degraded"`
	LastMinute   debugTraffic `json:"last_minute"`
	Matching     int          `json:"matching"`
	Page         int          `json:"page"`
	Pages        int          `json:"pages"`
	Items        []*debugItem `json:"items"`

	found []*debugItem // on all pages
}

type debugProcess struct {
	Host    string `json:"host"`
	Program string `json:"program"`
	PID     int    `json:"pid"`
}

// A debugItem is one executor or one key.
type debugItem struct {
	ID          uint64         `json:"id"`
	Name        string         `json:"name"`
	Key         *string        `json:"key"`  // null for the executor itself
	Keys        int            `json:"keys"` // that it remembers; 0 for a key
	State       string         `json:"state"`
	Reason      string         `json:"reason"`
	Budget      *debugBudget   `json:"budget"` // null where there is none
	Breaker     debugBreaker   `json:"breaker"`
	Ceiling     debugMeasured  `json:"ceiling"`
	BackoffBase debugMeasured  `json:"backoff_base"`
	LastMinute  debugTraffic   `json:"last_minute"`
	Refusals    []debugRefusal `json:"refusals"`
	Nested      []debugNested  `json:"nested_retries"`
	Policy      debugPolicy    `json:"policy"`

	executor *ration.Executor
	trace    *trace
}

type debugBudget struct {
	Name             string  `json:"name"` // of a shared one
	Utilization      float64 `json:"utilization"`
	Tokens           float64 `json:"tokens"`
	Capacity         float64 `json:"capacity"`
	Reserve          float64 `json:"reserve"`
	Fraction         float64 `json:"fraction"`
	MinimumPerSecond float64 `json:"minimum_per_second"`
}

type debugBreaker struct {
	State string     `json:"state"`
	Since *time.Time `json:"since"`        // null unless it has left the closed state
	Left  float64    `json:"break_left_s"` // of the break, while open
}

type debugMeasured struct {
	State   string  `json:"state"`
	Seconds float64 `json:"s"` // 0 unless warm
}

// debugTraffic is what ended within the last minute.
type debugTraffic struct {
	Calls            uint64   `json:"calls"`
	Succeeded        uint64   `json:"succeeded"`
	Attempts         uint64   `json:"attempts"`
	Refused          uint64   `json:"refused"`
	AttemptsPerCall  *float64 `json:"attempts_per_call"` // null without calls
	CallsBySecond    []uint64 `json:"calls_by_second"`   // 60, the oldest first
	AttemptsBySecond []uint64 `json:"attempts_by_second"`
}

type debugRefusal struct {
	Reason   string    `json:"reason"`
	Count    uint64    `json:"count"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
	Attempts int       `json:"attempts"`
	Error    string    `json:"error"`
}

type debugNested struct {
	Peer      string    `json:"peer"`
	Route     string    `json:"route"`
	UserAgent string    `json:"user_agent"`
	Count     uint64    `json:"count"`
	Last      time.Time `json:"last"`
}

type debugPolicy struct {
	InWords string `json:"in_words"`
	Explain string `json:"explain"`
}

const (
	nameLength    = 256   // bytes of a name or key
	explainLength = 16384 // which holds a name besides
)

// report looks at everything, and closely at what the query asks for.
func (d *DebugPage) report(now time.Time, q debugQuery) *debugReport {
	r := &debugReport{
		Time: now, Process: process(), Page: 1, Pages: 1,
		LastMinute: d.history.minute(d.history.second(now)),
	}
	if !d.history.closed.Load() {
		r.HistorySince = &d.history.begun
	}
	var found []*debugItem
	for _, e := range ration.Executors() {
		keys := e.Keys()
		r.Executors++
		r.Keys += len(keys)
		top := d.survey(now, e)
		top.Key, top.Keys = nil, len(keys)
		items := []*debugItem{top}
		for _, k := range keys {
			items = append(items, d.survey(now, k))
		}
		for _, it := range items {
			if it.State != ration.HealthOK.String() {
				r.Degraded++
			}
			if it.matches(q) {
				found = append(found, it)
			}
		}
	}
	slices.SortStableFunc(found, debugOrder(q.sort))
	for _, it := range found {
		it.recall()
	}
	r.Matching, r.found = len(found), found
	r.cutPage(q)
	for _, it := range r.Items {
		d.inspect(now, it)
	}
	return r
}

// cutPage takes what is on the page that is asked for, or on the last one.
func (r *debugReport) cutPage(q debugQuery) {
	r.Items = r.found
	if q.per > 0 && len(r.found) > q.per {
		r.Pages = (len(r.found) + q.per - 1) / q.per
		r.Page = min(q.page, r.Pages)
		begin := (r.Page - 1) * q.per
		r.Items = r.found[begin:min(begin+q.per, len(r.found))]
	}
	if r.Items == nil {
		r.Items = []*debugItem{} // [] and not null
	}
}

// survey fills in what an item is searched and sorted by, and no more: there may
// be thousands.
func (d *DebugPage) survey(now time.Time, e *ration.Executor) *debugItem {
	h := e.Health(now)
	key := legible(h.Key, nameLength)
	it := &debugItem{
		Name:     legible(h.Name, nameLength),
		Key:      &key,
		State:    h.State.String(),
		Reason:   legible(h.Reason, 2*nameLength),
		executor: e,
	}
	if b := e.Budget(); b != nil {
		it.Budget = &debugBudget{Utilization: b.UtilizationAt(now)}
	}
	if it.trace = d.history.seen(e); it.trace != nil {
		it.ID = it.trace.id
	}
	it.LastMinute.add(it.minute(d.history.second(now)))
	return it
}

// inspect fills in the rest.
func (d *DebugPage) inspect(now time.Time, it *debugItem) {
	e := it.executor
	if it.trace == nil {
		it.trace = d.history.trace(e) // for its id, by which links find it
		it.ID = it.trace.id
	}
	it.LastMinute = newDebugTraffic()
	it.LastMinute.add(it.minute(d.history.second(now)))
	if b := e.Budget(); b != nil {
		it.Budget = &debugBudget{
			Name:        legible(b.Name(), nameLength),
			Utilization: b.UtilizationAt(now),
			Tokens:      b.Tokens(now), Capacity: b.Capacity(), Reserve: b.Reserve(),
			Fraction: b.Fraction(), MinimumPerSecond: b.MinimumPerSecond(),
		}
	}
	s := e.Breaker(now)
	it.Breaker = debugBreaker{State: s.State.String(), Left: s.Break.Seconds()}
	if !s.Since.IsZero() {
		it.Breaker.Since = &s.Since
	}
	it.Ceiling = measured(e.MeasuredCeiling(now))
	it.BackoffBase = measured(e.MeasuredBackoff(now))
	it.Policy = debugPolicy{InWords: inWords(e.Policy()), Explain: explained(e)}
}

// recall fills in what the trace remembers.
func (it *debugItem) recall() {
	var refusals []refusal
	var callers []nestedCaller
	if it.trace != nil {
		refusals, callers = it.trace.tells()
	}
	it.Refusals = make([]debugRefusal, len(refusals))
	for i, r := range refusals {
		it.Refusals[i] = debugRefusal{
			Reason: r.reason, Count: r.count, First: r.first, Last: r.last,
			Attempts: r.attempts, Error: legible(r.err, errorLength),
		}
	}
	it.Nested = make([]debugNested, len(callers))
	for i, c := range callers {
		it.Nested[i] = debugNested{
			Peer:      legible(c.peer, callerLength),
			Route:     legible(c.route, callerLength),
			UserAgent: legible(c.agent, callerLength),
			Count:     c.count, Last: c.last,
		}
	}
}

func (it *debugItem) matches(q debugQuery) bool {
	if q.show != 0 {
		return it.ID == q.show
	}
	if q.only != "" && it.State == ration.HealthOK.String() {
		return false
	}
	return q.search == "" || strings.Contains(strings.ToLower(it.Name), q.search) ||
		it.Key != nil && strings.Contains(strings.ToLower(*it.Key), q.search)
}

func (it *debugItem) spent() float64 {
	if it.Budget == nil {
		return -1
	}
	return it.Budget.Utilization
}

// minute returns the last minute of it.
func (it *debugItem) minute(at int64) (none [traceSeconds]second) {
	if it.trace == nil {
		return none
	}
	return it.trace.minute(at)
}

// newDebugTraffic returns one that counts by the second too. To do so for each of
// thousands of items, most of which are on another page, would cost a kilobyte for
// each.
func newDebugTraffic() debugTraffic {
	return debugTraffic{
		CallsBySecond:    make([]uint64, traceSeconds),
		AttemptsBySecond: make([]uint64, traceSeconds),
	}
}

func (t *debugTraffic) add(minute [traceSeconds]second) {
	for i, s := range minute {
		t.Calls += uint64(s.calls)
		t.Succeeded += uint64(s.succeeded)
		t.Attempts += uint64(s.attempts)
		t.Refused += uint64(s.refused)
		if t.CallsBySecond != nil {
			t.CallsBySecond[i] += uint64(s.calls)
			t.AttemptsBySecond[i] += uint64(s.attempts)
		}
	}
	t.divide()
}

func (t *debugTraffic) divide() {
	if t.Calls > 0 {
		perCall := float64(t.Attempts) / float64(t.Calls)
		t.AttemptsPerCall = &perCall
	}
}

func (t *debugTraffic) perCall() float64 {
	if t.AttemptsPerCall == nil {
		return 0
	}
	return *t.AttemptsPerCall
}

// debugOrder returns how items are sorted; those that are alike stay in the order
// of their names. Trouble is told apart coarsely, so that rows stay where they are
// while one looks at them.
func debugOrder(by string) func(a, b *debugItem) int {
	switch by {
	case "spent":
		return func(a, b *debugItem) int { return cmp.Compare(b.spent(), a.spent()) }
	case "refused":
		return func(a, b *debugItem) int {
			return cmp.Compare(b.LastMinute.Refused, a.LastMinute.Refused)
		}
	case "calls":
		return func(a, b *debugItem) int { return cmp.Compare(b.LastMinute.Calls, a.LastMinute.Calls) }
	case "attempts":
		return func(a, b *debugItem) int {
			return cmp.Compare(b.LastMinute.perCall(), a.LastMinute.perCall())
		}
	case "name":
		return func(a, b *debugItem) int { return 0 }
	}
	return func(a, b *debugItem) int { return cmp.Compare(b.trouble(), a.trouble()) }
}

// trouble returns how much an item is in: it is degraded, it may soon be, its
// calls are refused, it is called at all.
func (it *debugItem) trouble() int {
	switch {
	case it.State != ration.HealthOK.String():
		return 4
	case it.spent() >= warmUtilization:
		return 3
	case it.LastMinute.Refused > 0:
		return 2
	case it.LastMinute.Calls > 0:
		return 1
	}
	return 0
}

func measured(d time.Duration, s ration.EstimateState) debugMeasured {
	return debugMeasured{State: s.String(), Seconds: d.Seconds()}
}

func process() debugProcess {
	host, _ := os.Hostname()
	return debugProcess{
		Host:    legible(host, nameLength),
		Program: legible(filepath.Base(os.Args[0]), nameLength),
		PID:     os.Getpid(),
	}
}
