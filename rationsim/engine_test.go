package rationsim

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/ration-go/ration"
)

// small is a scenario that a test changes.
func small() Scenario {
	return Scenario{
		Duration:   20 * time.Second,
		Rate:       200,
		Dependency: Dependency{Latency: Latency{P50: 10 * time.Millisecond, P99: 40 * time.Millisecond}},
	}
}

// unbounded retries at once and without a budget.
func unbounded() ration.Policy {
	return ration.Policy{
		Ceiling: ration.NoCeiling,
		Backoff: ration.NoBackoff,
		Budget:  ration.NoBudget,
	}
}

// patient waits for its one attempt as long as it takes.
func patient() ration.Policy {
	return ration.Policy{
		Attempts: 1, AttemptTimeout: ration.NoLimit, Deadline: ration.NoLimit,
	}
}

// skipUnderRace skips a long test in which the race detector has little to see:
// a simulation is one goroutine. TestSeedsDoNotDependOnCores has several.
func skipUnderRace(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("slow under the race detector, and has nothing for it")
	}
}

// run runs a simulation and checks that it conserves: what the calls say of
// themselves, by their events, is what the dependency and the report say.
func run(t *testing.T, s Scenario, p ration.Policy, seed uint64) *Report {
	t.Helper()
	attempts, ends := 0, 0
	p.OnEvent = ration.Listeners(p.OnEvent, func(ev ration.Event) {
		if ev.Kind == ration.EventAttempt {
			attempts++
		}
		if ev.Terminal() {
			ends++
		}
	})
	r, err := Run(s, Config{Name: "test", Policy: p}, seed)
	if err != nil {
		t.Fatal(err)
	}
	conserves(t, r)
	if attempts != r.Attempts || ends != r.Calls {
		t.Errorf("calls report %d attempts and %d ends, the dependency %d attempts of %d calls",
			attempts, ends, r.Attempts, r.Calls)
	}
	return r
}

// ran returns an engine that has run a topology.
func ran(t *testing.T, p Topology, seed uint64) *engine {
	t.Helper()
	e, err := newEngine(p, seed)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e
}

// topologyRun runs a topology and checks what holds of every report.
func topologyRun(t *testing.T, p Topology, seed uint64) *TopologyReport {
	t.Helper()
	r := ran(t, p, seed).report(seed)
	topologyConserves(t, r)
	return r
}

// conserves checks what holds of every report: each call ended once, and the
// timeline holds all there was.
func conserves(t *testing.T, r *Report) {
	t.Helper()
	var sum Second
	for _, s := range r.Timeline {
		sum.Offered += s.Offered
		sum.Attempts += s.Attempts
		sum.Succeeded += s.Succeeded
		sum.Failed += s.Failed
		sum.Refused += s.Refused
	}
	stopped := 0
	for _, n := range r.Stops {
		stopped += n
	}
	refused := r.Stops[ration.StopBudgetExhausted] + r.Stops[ration.StopUnavailable]
	for _, tt := range []struct {
		name      string
		got, want int
	}{
		{"offered", sum.Offered, r.Calls},
		{"stopped", stopped, r.Calls},
		{"succeeded and failed", r.Succeeded + r.Failed, r.Calls},
		{"attempts over time", sum.Attempts, r.Attempts},
		{"succeeded over time", sum.Succeeded, r.Succeeded},
		{"failed over time", sum.Failed, r.Failed},
		{"refused over time", sum.Refused, refused},
		{"stopped as succeeded", r.Stops[ration.StopSucceeded], r.Succeeded},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, tt.got, tt.want)
		}
	}
}

// Independent failures with nothing to hold retries back have a closed form:
// 1 + p + p² attempts per call, of which 1 - p³ succeed.
func TestIndependentFailures(t *testing.T) {
	skipUnderRace(t)
	for _, p := range []float64{0, 0.05, 0.3, 0.7, 1} {
		s := small()
		s.Duration = 5 * time.Minute
		s.Dependency.FailureRate = p
		r := run(t, s, unbounded(), 1)
		n := float64(r.Calls)
		if want := 1 + p + p*p; math.Abs(r.LoadMultiplier-want) > 5/math.Sqrt(n) {
			t.Errorf("failure rate %v: %v attempts per call, want %v", p, r.LoadMultiplier, want)
		}
		if want := 1 - p*p*p; math.Abs(r.Availability-want) > 5*math.Sqrt(want*(1-want)/n) {
			t.Errorf("failure rate %v: availability %v, want %v", p, r.Availability, want)
		}
	}
}

// In a total outage the budget funds what it holds and what its floor accrues.
func TestBudgetInAnOutage(t *testing.T) {
	s := small()
	s.Duration = time.Minute
	s.Dependency.Outages = []Outage{{For: time.Hour}}
	r := run(t, s, ration.Policy{Ceiling: ration.NoCeiling}, 1)
	retries := r.Attempts - r.Calls
	if most := 30 + 3*60 + 3; retries > most || retries < most-10 {
		t.Errorf("%d retries in a minute of outage, want about 30 + 3 × 60", retries)
	}
	if r.Stops[ration.StopBudgetExhausted] == 0 || r.Succeeded != 0 {
		t.Errorf("stops are %v", r.Stops)
	}
}

// In every stretch of the storm, retries are within capacity + floor × time +
// fraction × successes. A retry is paid for before its wait, which is under a
// second here, so the stretch in which they are paid begins one earlier.
func TestBudgetBoundsEveryStretch(t *testing.T) {
	s, configs, _ := Preset("trade")
	s.Duration = 2 * time.Minute
	r := run(t, s, configs[1].Policy, 1)
	tightest := math.Inf(1)
	for i := 1; i < len(r.Timeline); i++ {
		retries := 0
		tokens := 30 + 3 + 0.1*float64(r.Timeline[i-1].Succeeded)
		for _, second := range r.Timeline[i:] {
			retries += second.Attempts - second.Offered
			tokens += 3 + 0.1*float64(second.Succeeded)
			tightest = min(tightest, tokens-float64(retries))
		}
	}
	if tightest < 0 || tightest > 50 {
		t.Errorf("the tightest stretch leaves %v tokens, want some but few", tightest)
	}
}

func TestLoadIsTheSameForEveryPolicy(t *testing.T) {
	s := small()
	s.Dependency.FailureRate = 0.2
	a := run(t, s, unbounded(), 7)
	b := run(t, s, ration.Policy{Attempts: 1}, 7)
	for i := range int(s.Duration / time.Second) {
		if a.Timeline[i].Offered != b.Timeline[i].Offered {
			t.Errorf("second %d: %d and %d calls", i, a.Timeline[i].Offered, b.Timeline[i].Offered)
		}
	}
	if n, mean := float64(a.Calls), 4000.0; math.Abs(n-mean) > 5*math.Sqrt(mean) {
		t.Errorf("%v calls, want about %v", n, mean)
	}
}

func TestLatencyQuantiles(t *testing.T) {
	l := Latency{P50: 20 * time.Millisecond, P99: 200 * time.Millisecond}
	d := newServer(Service{Latency: l}, 0, 1)
	if got := exp(d.sampler.mu); math.Abs(got/float64(l.P50)-1) > 1e-14 {
		t.Errorf("median %v, want %v", got, l.P50)
	}
	if got := exp(d.sampler.mu + d.sampler.sigma*normal(0.99)); math.Abs(got/float64(l.P99)-1) > 1e-14 {
		t.Errorf("99th percentile %v, want %v", got, l.P99)
	}
	const n = 100_000
	sample := make([]time.Duration, n)
	for i := range sample {
		sample[i] = d.takes(&d.replicas[0], uint64(i), 1, 0)
	}
	slices.Sort(sample)
	for _, tt := range []struct {
		q    float64
		want time.Duration
	}{{0.5, l.P50}, {0.99, l.P99}} {
		below, _ := slices.BinarySearch(sample, tt.want)
		sigma := math.Sqrt(tt.q * (1 - tt.q) / n)
		if share := float64(below) / n; math.Abs(share-tt.q) > 5*sigma {
			t.Errorf("%v of the sample is below %v, want %v", share, tt.want, tt.q)
		}
	}
}

func TestConstantLatency(t *testing.T) {
	s := small()
	s.Dependency.Latency = Latency{P50: 10 * time.Millisecond, P99: 10 * time.Millisecond}
	r := run(t, s, ration.Policy{}, 1)
	if ms := 10 * time.Millisecond; r.Latency.P50 != ms || r.Latency.Max != ms {
		t.Errorf("latencies are %+v, want all %v", *r.Latency, ms)
	}
}

func TestOverlappingBrownoutsMultiply(t *testing.T) {
	d := newServer(Service{
		Latency: Latency{P50: time.Second, P99: time.Second},
		Brownouts: []Brownout{
			{From: 10 * time.Second, For: 20 * time.Second, Slower: 2},
			{From: 20 * time.Second, For: 20 * time.Second, Slower: 3},
		},
	}, 0, 1)
	for _, tt := range []struct{ at, want time.Duration }{
		{0, time.Second},
		{10 * time.Second, 2 * time.Second},
		{20 * time.Second, 6 * time.Second},
		{30 * time.Second, 3 * time.Second},
		{40*time.Second - 1, 3 * time.Second},
		{40 * time.Second, time.Second},
	} {
		if got := d.takes(&d.replicas[0], 1, 1, tt.at); got != tt.want {
			t.Errorf("at %v an attempt takes %v, want %v", tt.at, got, tt.want)
		}
	}
}

// A single server with Poisson arrivals and constant work is an M/D/1 queue:
// the mean wait is rho × work / 2(1 - rho).
func TestQueueAgainstItsClosedForm(t *testing.T) {
	const work, rho = 10 * time.Millisecond, 0.7
	s := Scenario{
		Duration: 30 * time.Minute,
		Rate:     rho / work.Seconds(),
		Dependency: Dependency{
			Latency:     Latency{P50: work, P99: work},
			Concurrency: 1,
			Queue:       1_000_000,
		},
	}
	e := ran(t, s.topology(patient()), 1)
	var sum time.Duration
	for _, l := range e.edges[0].tally.latencies.exact {
		sum += l - work
	}
	mean := sum.Seconds() / float64(e.edges[0].tally.latencies.count)
	want := rho * work.Seconds() / (2 * (1 - rho))
	if math.Abs(mean/want-1) > 0.05 {
		t.Errorf("the mean wait is %v s, want %v s", mean, want)
	}
}

// By Little's law the work in progress is the arrivals per second times the mean
// work, which of a log-normal is exp(mu + sigma²/2).
func TestOfferedLoad(t *testing.T) {
	s := small()
	s.Duration = 10 * time.Minute
	r := topologyRun(t, s.topology(patient()), 1)
	busy := 0.0
	for _, second := range r.Services[0].Timeline {
		busy += second.Busy
	}
	d := newSampler(s.Dependency.Latency)
	mean := time.Duration(math.Exp(d.mu + d.sigma*d.sigma/2))
	want := s.Rate * mean.Seconds()
	if got := busy / s.Duration.Seconds(); math.Abs(got/want-1) > 0.02 {
		t.Errorf("%v attempts are worked on at a time, want %v", got, want)
	}
}

// What is beyond the queue is shed, and work that was given up is still done.
func TestCapacity(t *testing.T) {
	s := small()
	s.Duration = 10 * time.Second
	s.Rate = 1000
	s.Dependency.Latency = Latency{P50: 100 * time.Millisecond, P99: 100 * time.Millisecond}
	s.Dependency.Concurrency, s.Dependency.Queue = 10, 5
	r := run(t, s, ration.Policy{Attempts: 1}, 1)
	if r.Succeeded < 990 || r.Succeeded > 1015 {
		t.Errorf("%d calls served, want about 100 a second for 10 s and those in flight", r.Succeeded)
	}
	accepted := 0
	given := run(t, s, ration.Policy{
		Attempts: 1, AttemptTimeout: 50 * time.Millisecond, Ceiling: ration.NoCeiling,
		OnEvent: func(ev ration.Event) {
			if ev.Kind == ration.EventAttempt && errors.Is(ev.Err, context.DeadlineExceeded) {
				accepted++
			}
		},
	}, 1)
	if given.Succeeded != 0 {
		t.Errorf("%d calls succeeded within half the time that the work takes", given.Succeeded)
	}
	if accepted < 990 || accepted > 1015 {
		t.Errorf("%d attempts accepted, want no more for being given up halfway", accepted)
	}
}

func TestFull(t *testing.T) {
	for _, tt := range []struct {
		concurrency, queue int
		busy, waiting      int
		want               bool
	}{
		{0, 0, 100, 0, false},
		{2, 0, 1, 0, false},
		{2, 0, 2, 0, true},
		{2, 1, 2, 0, false},
		{2, 1, 2, 1, true},
	} {
		d := newServer(Service{Concurrency: tt.concurrency, Queue: tt.queue}, 0, 1)
		x := &d.replicas[0]
		x.busy = tt.busy
		for range tt.waiting {
			x.queue.push(&request{})
		}
		if got := d.full(x); got != tt.want {
			t.Errorf("%+v: full is %v", tt, got)
		}
	}
}

// First in, first out, or last in, also when some leave from the middle.
func TestQueueOrder(t *testing.T) {
	for _, order := range []Order{FIFO, LIFO} {
		var q queue
		var want []*request
		for step := range 20_000 {
			if step%4 != 3 || q.len == 0 {
				r := &request{}
				q.push(r)
				want = append(want, r)
				continue
			}
			for range min(q.len, step%3) {
				i := 0
				if order == LIFO {
					i = len(want) - 1
				}
				if step%2 == 0 {
					i = len(want) / 2
					q.remove(want[i])
				} else if got := q.pop(order); got != want[i] {
					t.Fatalf("%v, step %d: not the one that is next", order, step)
				}
				want = slices.Delete(want, i, i+1)
			}
		}
		if q.len != len(want) || len(want) < 1000 {
			t.Errorf("%v: %d are left, want %d", order, q.len, len(want))
		}
	}
}

func TestBreakerOpens(t *testing.T) {
	s := small()
	s.Dependency.Outages = []Outage{{From: 5 * time.Second, For: 5 * time.Second}}
	r := run(t, s, ration.Policy{Breaker: &ration.BreakerSettings{}}, 1)
	if r.BreakerOpens == 0 || r.Stops[ration.StopUnavailable] == 0 {
		t.Errorf("the breaker opened %d times; stops are %v", r.BreakerOpens, r.Stops)
	}
	if r.Attempts >= r.Calls {
		t.Errorf("%d attempts for %d calls, though an open breaker sends none", r.Attempts, r.Calls)
	}
}

// The impairment ends at 10 s and the arrivals at 20 s.
func TestRecovery(t *testing.T) {
	const s = time.Second
	type fates map[time.Duration]bool // whether the call that arrives then fails
	for name, tt := range map[string]struct {
		fates fates
		want  time.Duration
		ok    bool
	}{
		"no calls":         {},
		"at once":          {fates{10 * s: false}, 0, true},
		"with a delay":     {fates{13 * s: false}, 3 * s, true},
		"before it":        {fates{9 * s: false, 19*s + 1: false}, 0, false},
		"a straggler":      {fates{10 * s: true, 11 * s: false, 12 * s: false}, s, true},
		"within a second":  {fates{10 * s: false, 11*s - 1: true, 14 * s: false}, 4 * s, true},
		"after a second":   {fates{10 * s: false, 11 * s: true}, 0, true},
		"a later fault":    {fates{10 * s: false, 15 * s: true, 16 * s: false}, 0, true},
		"failures alone":   {fates{10 * s: true, 15 * s: true}, 0, false},
		"at the last":      {fates{10 * s: true, 19 * s: false}, 9 * s, true},
		"too late to tell": {fates{10 * s: true, 19*s + 1: false}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			var y entryTally
			y.init(Topology{
				Duration: 20 * s,
				Services: []Service{{Outages: []Outage{{0, 10 * s}}}},
			})
			for at, failed := range tt.fates {
				y.ended(at, critical, !failed)
			}
			if got, ok := y.recovery(); got != tt.want || ok != tt.ok {
				t.Errorf("recovered after %v, %v, want %v, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

// A worst second must be a storm, and neither the luck of the arrivals nor the
// fraction of a second at their end.
func TestAmplification(t *testing.T) {
	const s = time.Second
	for name, tt := range map[string]struct {
		rate     float64
		end      time.Duration
		timeline []EdgeSecond
		want     float64
	}{
		"even":            {10, 2 * s, []EdgeSecond{{Offered: 10}, {Offered: 10, Attempts: 20}}, 2},
		"busy":            {10, s, []EdgeSecond{{Offered: 20, Attempts: 20}}, 1},
		"quiet":           {10, s, []EdgeSecond{{Offered: 2, Attempts: 11}}, 1.1},
		"broken":          {10, s + 1, []EdgeSecond{{}, {Offered: 1, Attempts: 5}}, 0.5},
		"after arrivals":  {10, s, []EdgeSecond{{Offered: 10, Attempts: 10}, {Attempts: 50}}, 1},
		"seldom":          {0.1, s, []EdgeSecond{{Offered: 0, Attempts: 1}}, 1},
		"nothing arrives": {10, s, []EdgeSecond{{}}, 0},
	} {
		d := &edge{tally: edgeTally{timeline: tt.timeline}}
		e := &engine{
			topology: Topology{Duration: tt.end},
			entries:  []*entry{{edge: d, load: Load{Rate: tt.rate}}},
		}
		sent := func(k int) int { return at(tt.timeline, k).Attempts }
		if got := e.amplification([]float64{1}, sent); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	calm := small()
	calm.Duration = 5*time.Minute + time.Second/20
	if r := run(t, calm, ration.Policy{}, 1); r.Amplification > 1.005 {
		t.Errorf("amplification %v without a failure", r.Amplification)
	}
}

// Calls that outlast all clocks end all the same, and do not fill the timeline.
func TestTimeGoesNoFurther(t *testing.T) {
	s := Scenario{Duration: time.Second, Rate: 5, Dependency: Dependency{
		Latency:   Latency{P50: longest, P99: longest},
		Brownouts: []Brownout{{For: longest, Slower: maxSlower}},
	}}
	r := run(t, s, ration.Policy{
		Deadline:       ration.NoLimit,
		AttemptTimeout: 1 << 62,
		Ceiling:        ration.NoCeiling,
		Backoff:        ration.ConstantBackoff(1 << 62),
	}, 1)
	if r.Calls == 0 || len(r.Timeline) > 3602 {
		t.Errorf("%d calls on a timeline of %d seconds", r.Calls, len(r.Timeline))
	}
}

// The five-minute storm must stay within its memory: design says 200 MB.
func TestStormMemory(t *testing.T) {
	skipUnderRace(t)
	s, configs, _ := Preset("trade")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Run(s, configs[0], 1); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if total := after.TotalAlloc - before.TotalAlloc; total > 200<<20 {
		t.Errorf("the storm allocated %d MB in all", total>>20)
	}
}

func FuzzRun(f *testing.F) {
	const ms = int64(time.Millisecond)
	f.Add(uint64(1), 50.0, 0.2, 2.0, 5*ms, 50*ms, uint8(3), uint8(2), uint8(3), uint8(0))
	f.Add(uint64(9), 1.0, 1.0, 100.0, int64(1), int64(1), uint8(0), uint8(0), uint8(1), uint8(255))
	f.Add(uint64(7), 300.0, 0.0, 1e6, 50*ms, int64(longest), uint8(0), uint8(0), uint8(9), uint8(7))
	f.Fuzz(func(t *testing.T, seed uint64, rate, failures, slower float64, p50, p99 int64,
		servers, queue, attempts, without uint8,
	) {
		s := Scenario{Duration: 3 * time.Second, Rate: rate, Dependency: Dependency{
			Latency:     Latency{P50: time.Duration(p50), P99: time.Duration(p99)},
			FailureRate: failures,
			Brownouts:   []Brownout{{From: time.Second, For: time.Second, Slower: slower}},
			Outages:     []Outage{{From: 1500 * time.Millisecond, For: 200 * time.Millisecond}},
			Concurrency: int(servers),
			Queue:       int(queue),
		}}
		if s.Check() != nil || rate > 2000 {
			return
		}
		p := ration.Policy{
			Attempts:       int(attempts),
			AttemptTimeout: 100 * time.Millisecond,
			Breaker:        &ration.BreakerSettings{},
		}
		if without&1 != 0 {
			p.Budget = ration.NoBudget
		}
		if without&2 != 0 {
			p.Backoff = ration.NoBackoff
		}
		if without&4 != 0 {
			p.Deadline, p.AttemptTimeout = ration.NoLimit, ration.NoLimit
		}
		if without&8 != 0 {
			p.Breaker = nil
		}
		run(t, s, p, seed)
	})
}

func BenchmarkStorm(b *testing.B) {
	s, configs, _ := Preset("trade")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Run(s, configs[0], 1); err != nil {
			b.Fatal(err)
		}
	}
}
