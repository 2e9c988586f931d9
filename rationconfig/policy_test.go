package rationconfig

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationconfig/strict"
)

// A file has one policy at the top, for these tests.
type single struct{ Policy Policy }

func readPolicy(t *testing.T, text string) (*Policy, error) {
	t.Helper()
	d, err := strict.Read("f", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var f single
	d.Decode(&f)
	if d.Err() == nil {
		f.Policy.Check(d, "policy")
	}
	return &f.Policy, d.Err()
}

func TestBuild(t *testing.T) {
	tests := []struct {
		name, text string
		want       ration.Policy
	}{
		{"nothing", "{}", ration.Policy{}},
		{"numbers", "{attempts: 5, deadline: 1s, attemptTimeout: 2s}",
			ration.Policy{Attempts: 5, Deadline: time.Second, AttemptTimeout: 2 * time.Second}},
		{"no bounds", "{deadline: none, attemptTimeout: none, backoff: {max: none}}", ration.Policy{
			Deadline: ration.NoLimit, AttemptTimeout: ration.NoLimit, Backoff: ration.Backoff{Max: ration.NoLimit}}},
		{"everything off", "{ceiling: {enabled: false}, backoff: {enabled: false}, budget: {enabled: false}, " +
			"breaker: {enabled: false}}", ration.Policy{Ceiling: ration.NoCeiling, Backoff: ration.NoBackoff,
			Budget: ration.NoBudget, Breaker: ration.NoBreaker}},
		{"everything on", "{ceiling: {enabled: true}, backoff: {enabled: true, measured: {enabled: true}}, " +
			"budget: {enabled: true}, breaker: {enabled: true}}", ration.Policy{
			Backoff: ration.Backoff{Measured: &ration.MeasuredBase{}}, Breaker: &ration.BreakerSettings{}}},
		{"empty sections", "{ceiling: {}, backoff: {measured: {}}, budget: {}, breaker: {}}", ration.Policy{
			Backoff: ration.Backoff{Measured: &ration.MeasuredBase{}}, Breaker: &ration.BreakerSettings{}}},
		{"measured off", "{backoff: {measured: {enabled: false}}}", ration.Policy{}},
		{"ceiling", "{ceiling: {multiple: 2, quantile: 0.5, minimumSamples: 3, floor: 4ms}}", ration.Policy{
			Ceiling: &ration.Ceiling{Multiple: 2, Quantile: 0.5, MinimumSamples: 3, Floor: 4 * time.Millisecond}}},
		{"backoff", "{backoff: {transient: 1ms, throttled: 2ms, factor: 3, max: 4s, jitter: none, " +
			"measured: {multiple: 5, minimumSamples: 6, spread: 7}}}", ration.Policy{
			Backoff: ration.Backoff{Transient: time.Millisecond, Throttled: 2 * time.Millisecond, Factor: 3,
				Max: 4 * time.Second, Jitter: ration.NoJitter,
				Measured: &ration.MeasuredBase{Multiple: 5, MinimumSamples: 6, Spread: 7}}}},
		{"breaker", "{breaker: {consecutiveFailures: none, failureRatio: 20%, window: 2s, minimumCalls: 3, " +
			"break: 4s, maxBreak: 5s, probes: 6, probeSuccesses: 7}}", ration.Policy{
			Breaker: &ration.BreakerSettings{ConsecutiveFailures: -1, FailureRatio: 0.2, Window: 2 * time.Second,
				MinimumCalls: 3, Break: 4 * time.Second, MaxBreak: 5 * time.Second, Probes: 6, ProbeSuccesses: 7}}},
		{"equal jitter", "{backoff: {jitter: equal}}", ration.Policy{
			Backoff: ration.Backoff{Jitter: ration.EqualJitter}}},
		{"full jitter", "{backoff: {jitter: full}}", ration.Policy{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := readPolicy(t, "policy: "+tt.text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Build()
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
			// Off is a sentinel, and not what it looks like.
			if (got.Budget == ration.NoBudget) != (tt.want.Budget == ration.NoBudget) ||
				(got.Ceiling == ration.NoCeiling) != (tt.want.Ceiling == ration.NoCeiling) ||
				(got.Breaker == ration.NoBreaker) != (tt.want.Breaker == ration.NoBreaker) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// TestBuildBudget: a number that is not given is the default, and two policies that
// are built have two buckets.
func TestBuildBudget(t *testing.T) {
	for text, want := range map[string][2]float64{
		"{fraction: 20%, minimumPerSecond: 0}": {0.2, 0},
		"{fraction: 0.5}":                      {0.5, ration.DefaultBudgetMinimumPerSecond},
		"{minimumPerSecond: 10}":               {ration.DefaultBudgetFraction, 10},
	} {
		p, err := readPolicy(t, "policy: {budget: "+text+"}")
		if err != nil {
			t.Fatal(err)
		}
		one, _ := p.Build()
		two, _ := p.Build()
		if got := [2]float64{one.Budget.Fraction(), one.Budget.MinimumPerSecond()}; got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
		if one.Budget == two.Budget {
			t.Errorf("%s: two policies share a bucket", text)
		}
	}
}

// TestFields: the keys are the fields of the core's structs. A field that is added
// there is added here, or is left out with a reason.
func TestFields(t *testing.T) {
	tests := []struct {
		file, core reflect.Type
		leftOut    []string
	}{
		// Functions cannot stand in a file, the name stands above the policy, and
		// what is listed is up to the program.
		{reflect.TypeFor[Policy](), reflect.TypeFor[ration.Policy](),
			[]string{"Name", "Classify", "BeforeAttempt", "Admit", "OnEvent", "Unlisted"}},
		{reflect.TypeFor[Backoff](), reflect.TypeFor[ration.Backoff](), []string{"Custom"}},
		{reflect.TypeFor[Ceiling](), reflect.TypeFor[ration.Ceiling](), nil},
		{reflect.TypeFor[Measured](), reflect.TypeFor[ration.MeasuredBase](), nil},
		{reflect.TypeFor[Breaker](), reflect.TypeFor[ration.BreakerSettings](), nil},
	}
	for _, tt := range tests {
		var want []string
		for i := range tt.core.NumField() {
			if f := tt.core.Field(i); f.IsExported() && !slices.Contains(tt.leftOut, f.Name) {
				want = append(want, f.Name)
			}
		}
		var got []string
		for i := range tt.file.NumField() {
			if name := tt.file.Field(i).Name; name != "Enabled" && name != "Preset" {
				got = append(got, name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v has the fields %q, %v %q", tt.file, got, tt.core, want)
		}
	}
}

// TestCoreWords: what the core finds is told in the words of the file, with nothing
// of Go left in it.
func TestCoreWords(t *testing.T) {
	tests := []struct{ text, want string }{
		{"{attemptTimeout: 60ms, ceiling: {floor: 60ms}}",
			"f:1: policy.ceiling.floor: 60ms is not below attemptTimeout 60ms, so the ceiling can never bind"},
		{"{budget: {shared: b}}", "f:1: policy.budget.shared: names a budget, and there are none outside a file of policies"},
		{"{breaker: {maxBreak: 1s, break: 90s}}", "f:1: policy.breaker.maxBreak: 1s is below break 1m30s"},
	}
	for _, tt := range tests {
		_, err := readPolicy(t, "policy: "+tt.text)
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: got %v, want %s", tt.text, err, tt.want)
		}
	}
}

// FuzzPolicy: a policy that Check finds in order is one that the core takes.
func FuzzPolicy(f *testing.F) {
	f.Add("{attempts: 1, deadline: 1s, attemptTimeout: none, ceiling: {floor: 1ms}}")
	f.Add("{backoff: {max: 1ms, transient: 1h, measured: {}}, budget: {fraction: 1e-9}}")
	f.Add("{breaker: {failureRatio: 1, window: 1ms, break: 1ns, maxBreak: 9999h}}")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := strict.Read("f", strings.NewReader("policy: "+text))
		if err != nil {
			return
		}
		var file single
		d.Decode(&file)
		if d.Err() != nil {
			return
		}
		file.Policy.Check(d, "policy")
		var refused *strict.Error
		if err := d.Err(); errors.As(err, &refused) {
			return
		}
		p, err := file.Policy.Build()
		if err == nil {
			_, err = ration.New(p)
		}
		if err != nil {
			t.Error(err)
		}
	})
}
