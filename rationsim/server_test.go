package rationsim

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/ration-go/ration"
)

const ms = time.Millisecond

// constant is work that always takes the same time.
func constant(d time.Duration) Latency { return Latency{P50: d, P99: d} }

// single makes one attempt, bounded by a timeout.
func single(timeout time.Duration) ration.Policy {
	return ration.Policy{Attempts: 1, AttemptTimeout: timeout, Ceiling: ration.NoCeiling}
}

// calls returns a topology in which calls arrive at the given times at the first
// of the services.
func calls(p ration.Policy, arrivals []time.Duration, services ...Service) Topology {
	return Topology{
		Duration: time.Minute,
		Entries:  []Entry{{Name: "users", To: services[0].Name, Policy: p, Load: Load{Trace: arrivals}}},
		Services: services,
	}
}

// latencyOf returns how long the calls of an entry took, in the order of their
// ends.
func latencyOf(t *testing.T, p Topology) []time.Duration {
	t.Helper()
	return ran(t, p, 1).edges[0].tally.latencies.exact
}

// Under overload, LIFO serves some of those who still wait, and FIFO those who
// have just given up.
func TestOrderUnderOverload(t *testing.T) {
	succeeded := func(order Order, drop bool) int {
		p := queueing(200, 10*ms, 1, 100, time.Minute)
		p.Entries[0].Policy = single(200 * ms)
		p.Services[0].Order, p.Services[0].DropExpired = order, drop
		return topologyRun(t, p, 1).Entries[0].Succeeded
	}
	fifo, lifo := succeeded(FIFO, false), succeeded(LIFO, false)
	if fifo > 500 || lifo < 3000 {
		t.Errorf("%d calls succeed first come first served, %d the other way round", fifo, lifo)
	}
	if drop := succeeded(FIFO, true); drop < 10*fifo {
		t.Errorf("%d calls succeed when what has expired is dropped, %d when not", drop, fifo)
	}
}

// What waited past its caller's patience costs no work.
func TestDropExpired(t *testing.T) {
	s := Service{Name: "one", Latency: constant(100 * ms), Concurrency: 1, Queue: 10}
	at := []time.Duration{0, 0, 0, 150 * ms}
	for _, drop := range []bool{false, true} {
		s.DropExpired = drop
		r := topologyRun(t, calls(single(130*ms), at, s), 1)
		got, x := r.Entries[0].Succeeded, r.Services[0]
		// Without: the second works till 200 ms for nobody, the third till 300 ms, and
		// so the fourth, that came at 150 ms, too. With: the second is at work when
		// it is given up, the third is dropped, and the fourth is served at 200 ms.
		want, wasted, expired := 1, 3, 0
		if drop {
			want, wasted, expired = 1, 2, 1
		}
		if got != want || x.Wasted != wasted || x.Expired != expired {
			t.Errorf("drop %v: %d succeed, %d wasted, %d expired, want %d, %d, %d",
				drop, got, x.Wasted, x.Expired, want, wasted, expired)
		}
	}
}

// A caller that gives up ends the work, the calls made for it and theirs, if the
// services cancel, and frees their places.
func TestCancelledWork(t *testing.T) {
	chain := func(cancels bool) []Service {
		return []Service{
			{
				Name: "top", Latency: constant(10 * ms), CancelsWork: cancels, Concurrency: 1, Queue: 5,
				Calls: []Edge{{To: "middle", Policy: single(ration.NoLimit)}},
			},
			{
				Name: "middle", Latency: constant(10 * ms), CancelsWork: cancels,
				Calls: []Edge{{To: "bottom", Policy: single(ration.NoLimit)}},
			},
			{Name: "bottom", Latency: constant(time.Second), CancelsWork: cancels},
		}
	}
	at := []time.Duration{0, 50 * ms}
	r := topologyRun(t, calls(single(100*ms), at, chain(true)...), 1)
	if top, bottom := r.Services[0], r.Services[2]; top.Canceled != 2 || bottom.Canceled != 2 {
		t.Errorf("cancelled %d at the top and %d at the bottom, want 2", top.Canceled, bottom.Canceled)
	}
	if d := r.Edges[1]; d.Canceled != 2 || d.Failed != 0 || d.Stops[ration.StopCanceled] != 2 {
		t.Errorf("the calls to the bottom were %+v", d.Stops)
	}
	if busy := r.Services[2].Timeline[0].Busy; math.Abs(busy-0.11) > 1e-9 { // 80 ms and 30 ms
		t.Errorf("the bottom was busy for %v s, want 0.11", busy)
	}
	r = topologyRun(t, calls(single(100*ms), at, chain(false)...), 1)
	if top, bottom := r.Services[0], r.Services[2]; top.Wasted != 2 || bottom.Succeeded != 2 {
		t.Errorf("%d wasted at the top, %d served at the bottom, want 2", top.Wasted, bottom.Succeeded)
	}
}

// The deadline of an attempt bounds the calls made for it, where the service
// keeps it: a retry for which there is no time is not made.
func TestDeadlineTravels(t *testing.T) {
	retrying := ration.Policy{
		Ceiling: ration.NoCeiling, Backoff: ration.ConstantBackoff(60 * ms), Budget: ration.NoBudget,
	}
	for _, keeps := range []bool{false, true} {
		top := Service{
			Name: "top", Latency: constant(10 * ms), KeepsDeadline: keeps,
			Calls: []Edge{{To: "bottom", Policy: retrying}},
		}
		bottom := Service{Name: "bottom", Latency: constant(10 * ms), FailureRate: 1}
		r := topologyRun(t, calls(single(100*ms), []time.Duration{0}, top, bottom), 1)
		want, attempts := ration.StopAttemptsExhausted, 3
		if keeps { // a second attempt ends at 90 ms, and the third would begin at 150 ms
			want, attempts = ration.StopDeadlineExceeded, 2
		}
		if d := r.Edges[0]; d.Stops[want] != 1 || d.Attempts != attempts {
			t.Errorf("keeps %v: %v after %d attempts", keeps, d.Stops, d.Attempts)
		}
	}
}

// The values that travel with a request are read by the real code.
func TestRequestIsAContext(t *testing.T) {
	e := &engine{now: 3 * time.Second}
	r := e.newRequest()
	r.server = &server{Service: Service{KeepsDeadline: true}}
	r.until, r.nested, r.criticality = 5*time.Second, true, sheddable
	ctx := r.context()
	if !ration.IsNestedRetry(ctx) || ration.CriticalityOf(ctx) != ration.Sheddable {
		t.Error("the marks do not travel")
	}
	if d, ok := ctx.Deadline(); !ok || d != epoch.Add(5*time.Second) || ctx.Err() != nil {
		t.Errorf("deadline %v, %v, error %v", d, ok, ctx.Err())
	}
	e.now = 5 * time.Second
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("past its deadline the error is %v", ctx.Err())
	}
	ration.GiveUpOf(ctx).Mark()
	if !r.giveUp.Marked() {
		t.Error("the mark of having given up does not arrive")
	}
	r.nested = false
	if ration.GiveUpOf(r.context()) != nil || ration.IsNestedRetry(r.context()) {
		t.Error("a request that nobody retries is marked")
	}
	e.freeRequest(r)
	if r.giveUp.Marked() {
		t.Error("a mark outlives its request")
	}
}

// Sequential calls take the sum of their times, parallel ones the longest; a
// request is as slow as what it waits for, and holds its place meanwhile.
func TestCallsOfARequest(t *testing.T) {
	leaf := func(name string, d time.Duration) Service { return Service{Name: name, Latency: constant(d)} }
	edge := func(to string, times int) Edge { return Edge{To: to, Times: times, Policy: patient()} }
	for _, tt := range []struct {
		name     string
		parallel bool
		want     time.Duration
	}{{"in sequence", false, 10*ms + 2*20*ms + 50*ms}, {"in parallel", true, 10*ms + 50*ms}} {
		top := Service{
			Name: "top", Latency: constant(10 * ms), Parallel: tt.parallel, Concurrency: 1, Queue: 1,
			Calls: []Edge{edge("a", 2), edge("b", 0)},
		}
		p := calls(patient(), []time.Duration{0, 0}, top, leaf("a", 20*ms), leaf("b", 50*ms))
		if got := latencyOf(t, p); !slices.Equal(got, []time.Duration{tt.want, 2 * tt.want}) {
			t.Errorf("%s: calls take %v, want %v and twice that", tt.name, got, tt.want)
		}
		r := topologyRun(t, p, 1)
		if r.Edges[0].Calls != 4 || r.Edges[1].Calls != 2 {
			t.Errorf("%s: %d and %d calls", tt.name, r.Edges[0].Calls, r.Edges[1].Calls)
		}
	}
}

// A failed call fails the request, and spares the calls that come after it,
// unless it is optional.
func TestOptionalCalls(t *testing.T) {
	for _, parallel := range []bool{false, true} {
		for _, optional := range []bool{false, true} {
			top := Service{
				Name: "top", Latency: constant(10 * ms), Parallel: parallel,
				Calls: []Edge{
					{To: "bad", Policy: single(time.Second), Optional: optional},
					{To: "good", Policy: single(time.Second)},
				},
			}
			bad := Service{Name: "bad", Latency: constant(ms), FailureRate: 1}
			good := Service{Name: "good", Latency: constant(ms)}
			r := topologyRun(t, calls(single(time.Second), []time.Duration{0}, top, bad, good), 1)
			wantGood := 1
			if !parallel && !optional {
				wantGood = 0
			}
			if ok := r.Entries[0].Succeeded == 1; ok != optional || r.Services[2].Received != wantGood {
				t.Errorf("parallel %v, optional %v: succeeded %v, %d calls to the good one",
					parallel, optional, ok, r.Services[2].Received)
			}
		}
	}
}

// A request holds its place while it waits for its calls, so that a service fills
// up that has little to do itself.
func TestCongestionTravelsUpwards(t *testing.T) {
	top := Service{
		Name: "top", Latency: constant(ms), Concurrency: 10, Queue: 0,
		Calls: []Edge{{To: "slow", Policy: patient()}},
	}
	slow := Service{Name: "slow", Latency: constant(time.Second), Concurrency: 100}
	p := calls(single(ration.NoLimit), nil, top, slow)
	p.Entries[0].Load = Load{Rate: 100}
	p.Duration = 20 * time.Second
	r := topologyRun(t, p, 1)
	if got := float64(r.Services[0].Succeeded) / 20; math.Abs(got-10) > 0.6 {
		t.Errorf("%v calls a second get through, want the 10 that the top can hold", got)
	}
	if u := r.Services[0].Timeline[10].Utilization; u < 0.9 || u > 1 {
		t.Errorf("utilization is %v", u)
	}
}

// A rate limit answers 429 with its hint, which the policy waits for.
func TestRateLimit(t *testing.T) {
	s := Service{
		Name: "limited", Latency: constant(10 * ms),
		RateLimit: &RateLimit{PerSecond: 1, Burst: 2, RetryAfter: 1500 * ms},
	}
	p := calls(ration.Policy{Ceiling: ration.NoCeiling}, []time.Duration{0, 0, 0}, s)
	if got := latencyOf(t, p); !slices.Equal(got, []time.Duration{10 * ms, 10 * ms, 1510 * ms}) {
		t.Errorf("calls take %v", got)
	}
	r := topologyRun(t, p, 1)
	if r.Services[0].Throttled != 1 || r.Entries[0].Throttled != 1 || r.Entries[0].Succeeded != 3 {
		t.Errorf("throttled %d, succeeded %d", r.Services[0].Throttled, r.Entries[0].Succeeded)
	}
}

func TestBadReplica(t *testing.T) {
	p := queueing(1000, ms, 0, 0, 30*time.Second)
	p.Entries[0].Policy = single(time.Second)
	p.Services[0].Replicas = 4
	p.Services[0].Bad = []BadReplica{{Replica: 2, From: 10 * time.Second, For: 10 * time.Second, FailureRate: 0.5}}
	r := topologyRun(t, p, 1)
	failed := func(from, to int) (n float64) {
		for _, s := range r.Services[0].Timeline[from:to] {
			n += float64(s.Failed)
		}
		return n
	}
	within5(t, "failures while it is bad", failed(10, 20), 10_000/4*0.5)
	if failed(0, 10)+failed(21, 30) > 0 {
		t.Error("it fails before or after it is bad")
	}
}

// A cold replica is slow at first, and the faster the more it has done.
func TestColdAfterAnOutage(t *testing.T) {
	s := newServer(Service{
		Latency: constant(10 * ms),
		Outages: []Outage{{time.Second, time.Second}},
		Cold:    &Cold{Slower: 9, HalfLife: 100},
	}, 0, 1)
	x := &s.replicas[0]
	for _, tt := range []struct {
		at     time.Duration
		warmed int
		want   time.Duration
	}{
		{0, 0, 10 * ms},
		{2 * time.Second, 0, 90 * ms},
		{3 * time.Second, 100, 50 * ms},
		{3 * time.Second, 200, 30 * ms},
		{3 * time.Second, 1_000_000, 10 * ms},
	} {
		s.takes(x, 1, 1, tt.at)
		x.warmed = tt.warmed
		if got := s.takes(x, 1, 1, tt.at); (got - tt.want).Abs() > time.Microsecond {
			t.Errorf("at %v, warmed by %d: %v, want %v", tt.at, tt.warmed, got, tt.want)
		}
	}
}

func TestFailuresAddUp(t *testing.T) {
	s := newServer(Service{
		FailureRate: 0.5,
		Failures:    []Failing{{From: time.Second, For: time.Second, Rate: 0.5}},
	}, 0, 1)
	for _, tt := range []struct {
		at   time.Duration
		want float64
	}{{0, 0.5}, {time.Second, 0.75}, {2 * time.Second, 0.5}} {
		failed := 0
		const n = 40_000
		for i := range uint64(n) {
			if s.fails(&s.replicas[0], i, 1, tt.at) {
				failed++
			}
		}
		if got := float64(failed) / n; math.Abs(got-tt.want) > 0.015 {
			t.Errorf("at %v %v fail, want %v", tt.at, got, tt.want)
		}
	}
}

func TestQuantilesOfAHistogram(t *testing.T) {
	s := newSampler(Latency{Quantiles: []Quantile{{0.5, 10 * ms}, {0.9, 50 * ms}, {0.99, 50 * ms}}})
	for _, tt := range []struct {
		u    float64
		want time.Duration
	}{
		{0, 0}, {0.25, 5 * ms}, {0.5, 10 * ms}, {0.7, 30 * ms}, {0.95, 50 * ms}, {0.999, 50 * ms},
	} {
		if got := time.Duration(s.sample(tt.u)); (got - tt.want).Abs() > time.Microsecond {
			t.Errorf("the %v quantile is %v, want %v", tt.u, got, tt.want)
		}
	}
	from := newSampler(Latency{Quantiles: []Quantile{{0, 4 * ms}, {1, 8 * ms}}})
	if got := time.Duration(from.sample(0)); got != 4*ms {
		t.Errorf("the quantile 0 is %v, want 4ms", got)
	}
	if got := time.Duration(from.sample(0.5)); got != 6*ms {
		t.Errorf("the median is %v, want 6ms", got)
	}
}
