package rationotel_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationotel"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func failed(kind ration.VerdictKind) ration.Outcome {
	return ration.Outcome{Verdict: ration.Verdict{Kind: kind}, Err: errDown}
}

var (
	succeeded = ration.Outcome{}
	transient = failed(ration.VerdictTransient)
	permanent = failed(ration.VerdictPermanent)
)

// play makes one call at the given time, whose attempts take a second each and come
// to the outcomes given. It is abandoned if they do not end it.
func play(ctx context.Context, e *ration.Executor, now time.Time, outcomes ...ration.Outcome) {
	call := e.Begin(ctx, now)
	defer func() { call.Abandon(now) }()
	for _, o := range outcomes {
		for d := call.Decision(); d.Action == ration.ActWait; d = call.Decision() {
			now = d.At
			call.Next(now, ration.Outcome{}, 1)
		}
		now = now.Add(time.Second)
		call.Next(now, o, 1)
	}
}

// plain is a policy without what is measured of time.
func plain(name string) ration.Policy {
	return ration.Policy{Name: name, Ceiling: ration.NoCeiling}
}

// Every way to end has its outcome, and every attempt its verdict.
func TestOutcomesAndVerdicts(t *testing.T) {
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	drained, err := ration.NewBudget(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	for drained.Withdraw(epoch, ration.Critical) {
	}
	open := ration.Policy{Breaker: &ration.BreakerSettings{ConsecutiveFailures: 1}}
	limited := failed(ration.VerdictThrottled)
	limited.Verdict.SelfImposed = true
	for _, tc := range []struct {
		outcome  string
		policy   ration.Policy
		ctx      context.Context
		outcomes []ration.Outcome
		verdicts map[string]int
		reason   string
	}{
		{outcome: "succeeded", outcomes: []ration.Outcome{transient, succeeded},
			verdicts: map[string]int{"transient": 1, "ok": 1}},
		{outcome: "permanent", outcomes: []ration.Outcome{permanent},
			verdicts: map[string]int{"permanent": 1}},
		{outcome: "attempts_exhausted", policy: ration.Policy{Attempts: 1},
			outcomes: []ration.Outcome{failed(ration.VerdictThrottled)},
			verdicts: map[string]int{"throttled": 1}},
		{outcome: "attempts_exhausted", policy: ration.Policy{Attempts: 1},
			outcomes: []ration.Outcome{limited}, verdicts: map[string]int{}},
		{outcome: "deadline_exceeded", policy: ration.Policy{Deadline: 2 * time.Second, AttemptTimeout: ration.NoLimit},
			outcomes: []ration.Outcome{transient, transient},
			verdicts: map[string]int{"transient": 2}},
		{outcome: "budget_exhausted", policy: ration.Policy{Budget: drained},
			outcomes: []ration.Outcome{transient}, reason: "budget_exhausted",
			verdicts: map[string]int{"transient": 1}},
		{outcome: "dependency_unavailable", policy: open,
			outcomes: []ration.Outcome{transient}, reason: "dependency_unavailable",
			verdicts: map[string]int{"transient": 1}},
		{outcome: "canceled", ctx: canceled, verdicts: map[string]int{}},
		{outcome: "abandoned", verdicts: map[string]int{"abandoned": 1}},
		{outcome: "abandoned", outcomes: []ration.Outcome{transient},
			verdicts: map[string]int{"transient": 1}},
	} {
		t.Run(tc.outcome, func(t *testing.T) {
			m := attach(t)
			if tc.ctx == nil {
				tc.ctx = context.Background()
			}
			tc.policy.Name, tc.policy.Ceiling = "policy", ration.NoCeiling
			play(tc.ctx, ration.MustNew(tc.policy), epoch, tc.outcomes...)
			got := m.collect(t)
			for _, metric := range []string{"nresilience.calls", "nresilience.call.duration"} {
				if all, n := got.sum(metric), got.sum(metric, "nresilience.policy", "policy",
					"nresilience.outcome", tc.outcome); n != 1 || all != 1 {
					t.Errorf("%s: %d, %d in all; want 1", metric, n, all)
				}
			}
			attempts := 0
			for verdict, want := range tc.verdicts {
				attempts += want
				if n := got.sum("nresilience.attempts", "nresilience.verdict", verdict); n != want {
					t.Errorf("%d attempts %s, want %d", n, verdict, want)
				}
			}
			if n := got.sum("nresilience.attempts"); n != attempts {
				t.Errorf("%d attempts, want %d", n, attempts)
			}
			rejections := got.sum("nresilience.rejections")
			if tc.reason == "" && rejections != 0 || tc.reason != "" &&
				got.sum("nresilience.rejections", "nresilience.reason", tc.reason) != 1 {
				t.Errorf("%d rejections, want reason %q", rejections, tc.reason)
			}
		})
	}
}

// A hook that panics ends a call before its first attempt.
func TestAbandonedWithoutAnAttempt(t *testing.T) {
	m := attach(t)
	p := plain("hook")
	p.BeforeAttempt = func(context.Context, int) error { panic("oops") }
	func() {
		defer func() { _ = recover() }()
		_ = ration.MustNew(p).Run(context.Background(), func(context.Context) error { return nil })
	}()
	got := m.collect(t)
	if calls, attempts := got.sum("nresilience.calls"), got.sum("nresilience.attempts"); calls != 1 || attempts != 0 {
		t.Errorf("%d calls and %d attempts, want 1 and 0", calls, attempts)
	}
}

func TestDurations(t *testing.T) {
	m := attach(t)
	p := plain("slow")
	p.Backoff = ration.ConstantBackoff(4 * time.Second)
	play(context.Background(), ration.MustNew(p), epoch, transient, succeeded)
	for name, want := range map[string]float64{
		"nresilience.call.duration":    6, // 1 s, 4 s, 1 s
		"nresilience.attempt.duration": 2,
	} {
		sum := 0.0
		for _, h := range m.histogram(t, name) {
			sum += h.Sum
			if h.Bounds[0] != 0.001 || h.Bounds[len(h.Bounds)-1] != 30 {
				t.Errorf("%s: buckets %v", name, h.Bounds)
			}
		}
		if sum != want {
			t.Errorf("%s: %v s, want %v", name, sum, want)
		}
	}
}

func (m *meter) histogram(t *testing.T, name string) []metricdata.HistogramDataPoint[float64] {
	t.Helper()
	for _, x := range m.metrics(t) {
		if x.Name == name {
			return x.Data.(metricdata.Histogram[float64]).DataPoints
		}
	}
	t.Fatalf("no %s", name)
	return nil
}

// The measured terms are recorded when they come into force.
func TestMeasuredTerms(t *testing.T) {
	m := attach(t)
	e := ration.MustNew(ration.Policy{
		Name: "measured", Backoff: ration.Backoff{Measured: &ration.MeasuredBase{}},
	})
	for i := range 30 {
		play(context.Background(), e, epoch.Add(time.Duration(i)*time.Second), succeeded)
	}
	play(context.Background(), e, epoch.Add(time.Minute), transient, succeeded)
	got := m.collect(t)
	for _, name := range []string{"nresilience.attempt.ceiling", "nresilience.backoff.base"} {
		if got.sum(name, "nresilience.policy", "measured") == 0 {
			t.Errorf("no %s", name)
		}
	}
}

func TestNestedRetries(t *testing.T) {
	m := attach(t)
	e := ration.MustNew(plain("inner"))
	play(ration.WithNestedRetry(context.Background()), e, epoch, succeeded)
	play(context.Background(), e, epoch, succeeded)
	if n := m.collect(t).sum("nresilience.nested_retries", "nresilience.policy", "inner"); n != 1 {
		t.Errorf("%d nested retries, want 1", n)
	}
}

// A counter is there, at zero, from the first that is heard of its policy, and even
// before that if metrics are collected: who computes rates sees the first increment.
func TestCountersBeginAtZero(t *testing.T) {
	m := attach(t)
	e := ration.MustNew(plain("idle"))
	got := m.collect(t)
	for _, name := range []string{
		"nresilience.calls", "nresilience.attempts", "nresilience.rejections",
		"nresilience.nested_retries", "nresilience.local_refusals",
	} {
		found := got.of(name, "nresilience.policy", "idle")
		if len(found) == 0 || got.sum(name) != 0 {
			t.Errorf("%s: %v, want zeros", name, found)
		}
	}
	e.Key()
}

func TestUnnamedPolicy(t *testing.T) {
	m := attach(t)
	play(context.Background(), ration.MustNew(plain("")), epoch, succeeded)
	if n := m.collect(t).sum("nresilience.calls", "nresilience.policy", "(unnamed)"); n != 1 {
		t.Errorf("%d calls of (unnamed), want 1", n)
	}
}

// Executors are heard that were made before, those that are Unlisted are not, and
// nothing is once it is stopped.
func TestAttachAndStop(t *testing.T) {
	before := ration.MustNew(plain("before"))
	m := newMeter()
	stop, err := rationotel.Attach(rationotel.Options{MeterProvider: m.provider})
	if err != nil {
		t.Fatal(err)
	}
	p := plain("unlisted")
	p.Unlisted = true
	play(context.Background(), before, epoch, succeeded)
	play(context.Background(), ration.MustNew(p), epoch, succeeded)
	stop()
	stop() // again is harmless
	play(context.Background(), before, epoch, succeeded)
	got := m.collect(t)
	if n := got.sum("nresilience.calls"); n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
	if n := len(got["nresilience.budget.utilization"]); n != 0 {
		t.Errorf("%d budgets are observed after stop", n)
	}
}

func TestGlobalProvider(t *testing.T) {
	m := newMeter()
	old := otel.GetMeterProvider()
	otel.SetMeterProvider(m.provider)
	t.Cleanup(func() { otel.SetMeterProvider(old) })
	stop, err := rationotel.Attach(rationotel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	play(context.Background(), ration.MustNew(plain("global")), epoch, succeeded)
	if n := m.collect(t).sum("nresilience.calls"); n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
}

// refusing is a provider whose instruments cannot be made.
type refusing struct{ noop.MeterProvider }

func (refusing) Meter(string, ...metric.MeterOption) metric.Meter { return refusingMeter{} }

type refusingMeter struct{ noop.Meter }

var errRefused = errors.New("no more instruments")

func (refusingMeter) Int64Counter(string, ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return noop.Int64Counter{}, errRefused
}

func TestAttachFails(t *testing.T) {
	if _, err := rationotel.Attach(rationotel.Options{MeterProvider: refusing{}}); !errors.Is(err, errRefused) {
		t.Errorf("Attach: %v", err)
	}
	if _, err := rationotel.Reloads(refusing{}, "x"); !errors.Is(err, errRefused) {
		t.Errorf("Reloads: %v", err)
	}
}

// Calls and collections may run at once, and none is lost.
func TestConcurrentUse(t *testing.T) {
	m := attach(t, func(o *rationotel.Options) { o.MaxKeys = 5 })
	e := ration.MustNew(plain("shared"))
	const goroutines, calls = 8, 200
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for i := range calls {
				play(context.Background(), e.For(string(rune('a'+(g+i)%10))), epoch, transient, succeeded)
			}
		})
	}
	for range 10 {
		m.collect(t)
	}
	all.Wait()
	got := m.collect(t)
	if n := got.sum("nresilience.calls"); n != goroutines*calls {
		t.Errorf("%d calls, want %d", n, goroutines*calls)
	}
}

func TestReloads(t *testing.T) {
	m := newMeter()
	report, err := rationotel.Reloads(m.provider, "policies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	expect := func(ok, failed, failing int) {
		t.Helper()
		got := m.collect(t)
		for _, x := range []struct {
			name  string
			pairs []string
			want  int
		}{
			{"ration.config.reloads", []string{"ration.outcome", "ok"}, ok},
			{"ration.config.reloads", []string{"ration.outcome", "failed"}, failed},
			{"ration.config.failing", nil, failing},
		} {
			pairs := append(x.pairs, "ration.config", "policies.yaml")
			if len(got.of(x.name, pairs...)) != 1 || got.sum(x.name, pairs...) != x.want {
				t.Errorf("%s %v: %v, want %d", x.name, pairs, got.of(x.name, pairs...), x.want)
			}
		}
	}
	expect(0, 0, 0)
	report(errDown)
	expect(0, 1, 1)
	report(nil)
	expect(1, 1, 0)
}

// keysOf returns the keys that a metric reports, each once.
func keysOf(s samples, name string) map[string]bool {
	keys := make(map[string]bool)
	for _, x := range s[name] {
		if v, ok := x.attrs.Value(attribute.Key("nresilience.key")); ok {
			keys[v.AsString()] = true
		}
	}
	return keys
}
