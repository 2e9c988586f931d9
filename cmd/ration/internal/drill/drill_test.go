package drill

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ration-go/ration"
)

// short is long enough to empty every bucket that can be emptied.
func short() *Drill { return &Drill{Rate: 100, Each: 150 * time.Millisecond, Attempts: 4} }

const shortActions = 15

// TestNames: whoever reads the JSON tells the troubles by these words.
func TestNames(t *testing.T) {
	var names []string
	for _, p := range Phases() {
		names = append(names, p.Name())
	}
	want := "outage, no budgets; outage, budgets; outage, loop broken; " +
		"partial outage, no budgets; partial outage, budgets; partial outage, loop broken; " +
		"brownout, no budgets; brownout, budgets; brownout, loop broken"
	if got := strings.Join(names, "; "); got != want {
		t.Errorf("got %s", got)
	}
}

// TestPhases: what the servers count and what the executors report agree, and each
// way to retry does what it is there for. Rates are not looked at: this is short.
func TestPhases(t *testing.T) {
	for _, p := range Phases() {
		t.Run(p.Name(), func(t *testing.T) {
			t.Parallel()
			d := short()
			acted := make(chan struct{}, d.Actions())
			d.Acted = func() { acted <- struct{}{} }
			r, err := d.Run(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if r.Actions != shortActions || len(acted) != shortActions || r.Name != p.Name() || r.Budgets != p.Budgets {
				t.Errorf("%d actions, %d told of, in %q, %q", r.Actions, len(acted), r.Name, r.Budgets)
			}
			checkConservation(t, p, r)
			checkReports(t, r)
			checkBudgets(t, p, r)
			checkSuccess(t, p, r)
		})
	}
}

// checkConservation: each attempt makes one call, and each retry is one attempt
// more, so that a retry of any hop is one attempt more at the database. Only what
// times out need not arrive.
func checkConservation(t *testing.T, p Phase, r *Result) {
	t.Helper()
	want := r.Actions + r.Client.Retries
	for i, tier := range r.Tiers {
		if lost := want - tier.Attempts; lost != 0 && !(p.Trouble.Late > 0 && i == 2 && lost > 0) {
			t.Errorf("%d attempts at the %s, want %d", tier.Attempts, tier.Name, want)
		}
		want += tier.Retries
	}
	bottom := float64(r.Tiers[2].Attempts-r.BurstRetries) / float64(r.Actions)
	if r.Amplification != bottom || r.WorstSecond < r.Amplification {
		t.Errorf("amplification %v, want %v; worst second %v", r.Amplification, bottom, r.WorstSecond)
	}
}

// checkReports: every call of a server in the middle is made for a caller that
// retries, and says so.
func checkReports(t *testing.T, r *Result) {
	t.Helper()
	for _, tier := range r.Tiers[:2] {
		if tier.NestedRetries != tier.Attempts {
			t.Errorf("%s: %d nested reports of %d calls", tier.Name, tier.NestedRetries, tier.Attempts)
		}
	}
	if d := r.Tiers[2]; d.NestedRetries+d.Refusals+d.Retries != 0 {
		t.Errorf("the database calls nobody, and reports %+v", d)
	}
}

func checkBudgets(t *testing.T, p Phase, r *Result) {
	t.Helper()
	frontend, backend := r.Tiers[0], r.Tiers[1]
	refusals := r.Client.Refusals + frontend.Refusals + backend.Refusals
	retries := r.Client.Retries + frontend.Retries + backend.Retries
	switch {
	case p.Budgets == Off && (refusals != 0 || r.BurstRetries != 0):
		t.Errorf("no budget refused %d and funded a burst of %d", refusals, r.BurstRetries)
	case p.Budgets == Off && p.Trouble.Failing < 1 && p.Trouble.Late == 0:
		// Whether three in ten failing is ever four in a row is a matter of luck.
	case p.Budgets == Off:
		const once = 3 * shortActions
		if r.Client.Retries != once || frontend.Retries != 4*once || backend.Retries != 16*once {
			t.Errorf("retries do not multiply: %+v, %+v", r.Client, r.Tiers)
		}
	default:
		// At most, three buckets, their floors, and a deposit for each call.
		if most := 3 * (30 + 3*r.Duration + 0.1*float64(r.Actions)); float64(retries) > most {
			t.Errorf("%d retries, and the budgets allow %v", retries, most)
		}
	}
	if p.Budgets == LoopBroken && (r.Client.Retries != 0 || frontend.Retries != 0) {
		t.Errorf("the loop goes on: %+v, %+v", r.Client, r.Tiers)
	}
}

func checkSuccess(t *testing.T, p Phase, r *Result) {
	t.Helper()
	switch partial := p.Trouble.Failing > 0 && p.Trouble.Failing < 1; {
	case !partial && r.Succeeded > 0, partial && r.Succeeded < r.Actions/2:
		t.Errorf("%d of %d actions succeeded", r.Succeeded, r.Actions)
	}
	if r.Latency.P50 <= 0 || r.Latency.P99 < r.Latency.P50 {
		t.Errorf("latency %+v", r.Latency)
	}
}

// TestOneAttempt: without retries nothing amplifies, and no budget is asked.
func TestOneAttempt(t *testing.T) {
	d := short()
	d.Attempts = 1
	for _, p := range Phases()[:3] {
		r, err := d.Run(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if r.Amplification != 1 || r.BurstRetries != 0 || r.Tiers[0].NestedRetries != 0 {
			t.Errorf("%s: %+v", p.Name(), r)
		}
	}
}

// TestNothingLeft: when a phase is over, or was interrupted at its worst, there is
// no goroutine and so no connection of it left.
func TestNothingLeft(t *testing.T) {
	for _, i := range []int{0, 8} {
		p := Phases()[i]
		t.Run(p.Name(), func(t *testing.T) {
			before := runtime.NumGoroutine()
			if _, err := short().Run(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			settle(t, before)
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		before := runtime.NumGoroutine()
		ctx, interrupt := context.WithCancel(t.Context())
		d := short()
		d.Each = time.Minute
		d.Acted = interrupt // by the first action to end, with others under way
		if r, err := d.Run(ctx, Phases()[6]); r != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%+v, %v", r, err)
		}
		settle(t, before)
	})
	t.Run("interrupted before", func(t *testing.T) {
		before := runtime.NumGoroutine()
		ctx, interrupt := context.WithCancel(t.Context())
		interrupt()
		if r, err := short().Run(ctx, Phases()[0]); r != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%+v, %v", r, err)
		}
		settle(t, before)
	})
}

// settle waits for goroutines that have been told to end. It fails when the test
// runs out of time, and not before.
func settle(t *testing.T, want int) {
	t.Helper()
	const patience = 1000
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range patience {
		if runtime.NumGoroutine() <= want {
			return
		}
		<-tick.C
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("%d goroutines, were %d:\n%s", runtime.NumGoroutine(), want,
		stacks[:runtime.Stack(stacks, true)])
}

// TestBurst: what is left out is only what cannot have been earned.
func TestBurst(t *testing.T) {
	tests := []struct {
		name               string
		retries, succeeded int64
		elapsed            time.Duration
		want               int
	}{
		{"nothing happened", 0, 0, 0, 0},
		{"less than the floor earns", 14, 0, 5 * time.Second, 0},
		{"as much as the floor earns", 15, 0, 5 * time.Second, 0},
		{"a retry beyond", 16, 0, 5 * time.Second, 1},
		{"deposits count", 66, 500, 5 * time.Second, 1},
		{"a fraction of a retry is earned", 15, 0, 4900 * time.Millisecond, 0},
		{"a full bucket at once", 30, 0, 0, 30},
		{"more than there can be", 100, 100, 5 * time.Second, 30},
	}
	for _, tt := range tests {
		var h hop
		h.retries.Store(tt.retries)
		h.succeeded.Store(tt.succeeded)
		if got := h.burst(tt.elapsed, (&Drill{}).Allowance()); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestWorstSecond: by how many actions begin in a second, whenever it is.
func TestWorstSecond(t *testing.T) {
	var attempts tally
	at := func(n int, since time.Duration) {
		for range n {
			attempts.add(since)
		}
	}
	at(20, 999*time.Millisecond)
	at(10, time.Second)
	at(20, 1999*time.Millisecond)
	at(5, 2*time.Second)
	at(40, MaxEach+Deadline) // counts in all, and nowhere else
	tests := []struct {
		drill Drill
		want  float64
	}{
		{Drill{Rate: 10, Each: time.Second}, 3},
		{Drill{Rate: 10, Each: 3 * time.Second}, 3},
		{Drill{Rate: 20, Each: time.Minute}, 1.5},
		{Drill{Rate: 10, Each: 900 * time.Millisecond}, 95.0 / 9},
	}
	for _, tt := range tests {
		if got := tt.drill.worstSecond(&attempts); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt.drill, got, tt.want)
		}
	}
	at(31, MaxEach+Deadline-1)
	if got := (&Drill{Rate: 10, Each: time.Second}).worstSecond(&attempts); got != 3.1 {
		t.Errorf("in the last second: %v", got)
	}
}

// TestLatency: by nearest rank, failed actions included.
func TestLatency(t *testing.T) {
	var actions []action
	for i := range 200 {
		actions = append(actions, action{took: time.Duration(200-i) * time.Second})
	}
	if got := latencyOf(actions); got != (Latency{P50: 100, P99: 198}) {
		t.Errorf("got %+v", got)
	}
	one := []action{{err: errors.New("down"), took: time.Second}}
	if got := latencyOf(one); got != (Latency{1, 1}) {
		t.Errorf("of one: %+v", got)
	}
}

// TestQuietCounts: before the trouble nothing is counted.
func TestQuietCounts(t *testing.T) {
	var n *counts
	n.arrive(tierDatabase)
	n.hear(hopClient, ration.Event{Kind: ration.EventRetrying})
}
