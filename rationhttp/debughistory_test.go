package rationhttp

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ration-go/ration"
)

// traced counts the traces of a history.
func traced(h *history) (n int) {
	h.traces.Range(func(any, any) bool {
		n++
		return true
	})
	return n
}

// collectUntil collects garbage until what hangs on it is done. Cleanups run when
// the collector likes, some time after a collection.
func collectUntil(t *testing.T, done func() bool) {
	t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for range 1000 {
		if done() {
			return
		}
		runtime.GC()
		<-again.C
	}
	t.Error("something is still held")
}

func succeed(context.Context) error { return nil }

func refuse(context.Context) error {
	return ration.Transient(errors.New(strings.Repeat("refused ", 1000)))
}

// Ten thousand executors, dropped, leave nothing behind: no trace and no memory.
func TestHistoryForgetsDroppedExecutors(t *testing.T) {
	page := DebugHandler()
	defer page.Close()
	before := heap()
	const n = 10_000
	func() {
		for i := range n {
			e := ration.MustNew(ration.Policy{
				Name: fmt.Sprint("dropped-", i), Breaker: &ration.BreakerSettings{},
			})
			for range 3 {
				_ = e.For("key").Once().Run(ration.WithNestedRetry(t.Context()), refuse)
				_ = e.Run(t.Context(), succeed)
			}
		}
		if got := len(page.report(time.Now(), debugQuery{search: "dropped-"}).Items); got == 0 {
			t.Error("the page shows none of them")
		}
	}()
	collectUntil(t, func() bool { return traced(page.history) == 0 })
	if got := page.report(time.Now(), debugQuery{search: "dropped-"}).Matching; got != 0 {
		t.Errorf("%d are still shown", got)
	}
	// The tables that held them stay, and shrink for nobody: some bytes for each.
	if grown := heap() - before; grown > 200*n {
		t.Errorf("%d bytes are left for each", grown/n)
	}
}

// heap returns how much is in use after a collection.
func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// The trace of a key goes with the key: an executor that has met any number of
// keys is traced at as many as it remembers. Past that each costs a walk of all.
func TestHistoryForgetsKeys(t *testing.T) {
	page := DebugHandler()
	defer page.Close()
	e := ration.MustNew(ration.Policy{Name: "keys come and go"})
	for i := range ration.MaxKeys + 300 {
		_ = e.For(fmt.Sprint(i)).Run(t.Context(), succeed)
	}
	collectUntil(t, func() bool { return traced(page.history) <= ration.MaxKeys })
	if n := len(e.Keys()); n != ration.MaxKeys {
		t.Errorf("%d keys", n)
	}
}

// An executor and what Once makes of it are one.
func TestHistoryOfOnce(t *testing.T) {
	page := DebugHandler()
	defer page.Close()
	e := ration.MustNew(ration.Policy{Name: "once and more"})
	_ = e.Once().Run(t.Context(), succeed)
	_ = e.Run(t.Context(), succeed)
	_ = e.Once().Run(t.Context(), succeed)
	items := page.report(time.Now(), debugQuery{search: "once and more"}).Items
	if len(items) != 1 || items[0].LastMinute.Calls != 3 {
		t.Errorf("%d items, %d calls, want 3 of one", len(items), items[0].LastMinute.Calls)
	}
}

// After Close nothing is observed and nothing held; the page goes on.
func TestHistoryClose(t *testing.T) {
	was := recording.Load()
	page := DebugHandler()
	if recording.Load() != was+1 {
		t.Error("not recording")
	}
	e := ration.MustNew(ration.Policy{Name: "closed"})
	_ = e.Run(t.Context(), succeed)
	for range 2 {
		if err := page.Close(); err != nil {
			t.Error(err)
		}
	}
	if recording.Load() != was {
		t.Error("still recording")
	}
	last := page.history.last.Load()
	_ = e.Run(t.Context(), succeed)
	if n := traced(page.history); n != 0 || page.history.last.Load() != last {
		t.Errorf("%d traces, %d made since", n, page.history.last.Load()-last)
	}
	r := page.report(time.Now(), debugQuery{search: "closed"})
	if len(r.Items) != 1 || r.Items[0].LastMinute.Calls != 0 || r.HistorySince != nil {
		t.Fatalf("%+v", r)
	}
	if own := page.report(time.Now(), debugQuery{show: r.Items[0].ID}); len(own.Items) != 1 {
		t.Error("the link to its own page leads nowhere")
	}
	_ = e.Run(t.Context(), succeed) // which held e until here
}

func TestTraceSteps(t *testing.T) {
	ended := func(kind ration.EventKind, attempts int) ration.Event {
		return ration.Event{Kind: kind, Attempt: attempts}
	}
	ok, no := ended(ration.EventSucceeded, 1), ended(ration.EventRejectedByBudget, 2)
	type step struct {
		at   int64
		ev   ration.Event // zero = none
		want string       // calls, succeeded, attempts, refused
	}
	for _, tc := range []struct {
		name  string
		steps []step
	}{
		{"nothing", []step{{at: 0, want: "0 0 0 0"}, {at: 1000, want: "0 0 0 0"}}},
		{"within a second", []step{{0, ok, "1 1 1 0"}, {0, no, "2 1 3 1"}, {0, ok, "3 2 4 1"}}},
		{"sixty seconds", []step{
			{0, ok, "1 1 1 0"}, {59, no, "2 1 3 1"}, {60, ok, "2 1 3 1"},
			{at: 118, want: "2 1 3 1"}, {at: 119, want: "1 1 1 0"}, {at: 120, want: "0 0 0 0"},
		}},
		{"a long silence", []step{{5, ok, "1 1 1 0"}, {5_000_000, no, "1 0 2 1"}}},
		{"the first call comes late", []step{{100, ok, "1 1 1 0"}, {at: 159, want: "1 1 1 0"},
			{at: 160, want: "0 0 0 0"}}},
		{"out of order", []step{{100, ok, "1 1 1 0"}, {99, no, "2 1 3 1"}, {50, ok, "3 2 4 1"},
			{at: 3, want: "3 2 4 1"}, {at: 158, want: "2 1 3 1"}, {at: 159, want: "1 1 1 0"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var tr trace
			for _, s := range tc.steps {
				if s.ev.Kind != 0 {
					tr.ended(s.at, s.ev)
				}
				var m debugTraffic
				m.add(tr.minute(s.at))
				got := fmt.Sprint(m.Calls, m.Succeeded, m.Attempts, m.Refused)
				if got != s.want {
					t.Errorf("at %d: %s, want %s", s.at, got, s.want)
				}
			}
		})
	}
}

func TestTraceRefusals(t *testing.T) {
	var tr trace
	begin := time.Now()
	for i := range 100 {
		tr.refused(begin.Add(time.Duration(i)*time.Second), refusal{
			reason: refusedByBudget, attempts: i, err: fmt.Sprint("error ", i%10),
		})
	}
	refusals, _ := tr.tells()
	if len(refusals) != traceRefusals {
		t.Fatalf("%d kinds, want %d", len(refusals), traceRefusals)
	}
	for i, r := range refusals {
		if want := fmt.Sprint("error ", 9-i); r.err != want || r.attempts != 99-i {
			t.Errorf("entry %d is %q after %d attempts, want %q", i, r.err, r.attempts, want)
		}
	}
	for range 100_000 {
		tr.refused(begin, refusal{reason: refusedByBreaker})
	}
	refusals, _ = tr.tells()
	if refusals[0].reason != refusedByBreaker || refusals[0].count != 100_000 {
		t.Errorf("%+v, want 100,000", refusals[0])
	}
}

// Whoever calls chooses its user agent: what is kept of it has a bound.
func TestTraceCallers(t *testing.T) {
	var tr trace
	for i := range 1000 {
		tr.nested(time.Now(), caller{peer: "10.0.0.1", agent: fmt.Sprint("agent ", i)})
	}
	tr.nested(time.Now(), caller{peer: "10.0.0.1", agent: "agent 3"})
	_, callers := tr.tells()
	if len(callers) != traceCallers+1 {
		t.Fatalf("%d sources, want %d and the others", len(callers), traceCallers)
	}
	if c := callers[3]; c.agent != "agent 3" || c.count != 2 {
		t.Errorf("%+v", c)
	}
	if c := callers[traceCallers]; c.caller != otherCallers || c.count != 1000-traceCallers {
		t.Errorf("the others: %+v", c)
	}
}

func TestTextOf(t *testing.T) {
	if got := textOf(nil); got != "" {
		t.Errorf("%q", got)
	}
	big := errors.New(strings.Repeat("x", 1<<20))
	if n := len(textOf(big)); n > errorLength+4 {
		t.Errorf("%d bytes of an error are kept", n)
	}
	// What is kept is shown as what is whole would be, wherever it is cut.
	for i := range 8 {
		text := strings.Repeat("x", errorLength-4+i) + strings.Repeat("東", 9)
		got, want := legible(textOf(errors.New(text)), errorLength), legible(text, errorLength)
		if got != want {
			t.Errorf("%q, want %q", got[errorLength-8:], want[errorLength-8:])
		}
	}
}

func TestRefusalOf(t *testing.T) {
	limited := ration.Verdict{Kind: ration.VerdictThrottled, SelfImposed: true}
	for _, tc := range []struct {
		ev   ration.Event
		want string
	}{
		{ration.Event{Kind: ration.EventRejectedByBudget}, "budget"},
		{ration.Event{Kind: ration.EventRejectedByBreaker}, "breaker"},
		{ration.Event{Kind: ration.EventExhausted, Verdict: limited}, "limit"},
		{ration.Event{Kind: ration.EventDeadlineExceeded, Verdict: limited}, "limit"},
		{ration.Event{Kind: ration.EventSucceeded, Verdict: limited}, ""},
		{ration.Event{Kind: ration.EventCanceled, Verdict: limited}, ""},
		{ration.Event{Kind: ration.EventExhausted}, ""},
		{ration.Event{Kind: ration.EventNotRetried}, ""},
	} {
		if got := refusalOf(tc.ev); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.ev.Kind, got, tc.want)
		}
	}
}

// The sum of the last minute has the calls of executors that were dropped and of
// keys that were forgotten, before they are collected and after.
func TestHistorySumsWhatIsGone(t *testing.T) {
	page := DebugHandler()
	defer page.Close()
	e := ration.MustNew(ration.Policy{Name: "more hosts than are remembered"})
	const n = 2 * ration.MaxKeys
	for i := range n {
		_ = e.For(fmt.Sprint(i)).Run(t.Context(), succeed)
		_ = ration.MustNew(ration.Policy{Name: "for each call"}).Run(t.Context(), succeed)
	}
	sum := func() uint64 { return page.report(time.Now(), debugQuery{}).LastMinute.Calls }
	if got := sum(); got != 2*n {
		t.Errorf("%d calls, want %d", got, 2*n)
	}
	// Those of the package's other executors stay.
	collectUntil(t, func() bool { return traced(page.history) <= ration.MaxKeys+100 })
	if got := sum(); got != 2*n {
		t.Errorf("%d calls once they are collected, want %d", got, 2*n)
	}
	page.Close()
	if got := sum(); got != 0 {
		t.Errorf("%d calls on a closed page", got)
	}
	runtime.KeepAlive(e)
}

func TestTraceAbsorbs(t *testing.T) {
	of := func(seconds ...int64) *trace {
		tr := &trace{}
		for _, at := range seconds {
			tr.ended(at, ration.Event{Kind: ration.EventSucceeded, Attempt: 2})
		}
		return tr
	}
	for _, tc := range []struct {
		name    string
		t, more *trace
		at      int64
		want    string // calls and attempts
	}{
		{"nothing and nothing", of(), of(), 0, "0 0"},
		{"into nothing", of(), of(3, 100, 101), 101, "2 4"},
		{"nothing", of(3, 100, 101), of(), 101, "2 4"},
		{"what is as old", of(0, 59), of(0, 59), 59, "4 8"},
		{"what is older", of(100), of(40, 41, 60), 100, "3 6"},
		{"what is too old", of(100), of(0, 40), 100, "1 2"},
		{"what is newer", of(40, 41), of(100), 100, "2 4"},
		{"and time goes on", of(40, 50), of(45, 55), 105, "2 4"},
	} {
		tc.t.absorb(tc.more)
		var m debugTraffic
		m.add(tc.t.minute(tc.at))
		if got := fmt.Sprint(m.Calls, m.Attempts); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}
