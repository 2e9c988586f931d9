package rationconfig

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationconfig/strict"
)

// A fieldTest edits one setting. %s in its text is the setting, and the rest is what
// that needs beside it.
type fieldTest struct {
	text, old, new string
	get            func(p ration.Policy) any
	want           [2]any
}

// file returns a file with a setting.
func (tt fieldTest) file(setting string) string {
	return "budgets: {one: {}, two: {}}\npolicies: {p: " + fmt.Sprintf(tt.text, setting) + "}"
}

// fieldTests has each key below a policy.
var fieldTests = map[string]fieldTest{
	"preset":                 {"{preset: %s}", "default", "none", func(p ration.Policy) any { return p.Attempts }, [2]any{3, 1}},
	"attempts":               {"{attempts: %s}", "2", "5", func(p ration.Policy) any { return p.Attempts }, [2]any{2, 5}},
	"deadline":               {"{deadline: %s}", "1s", "none", func(p ration.Policy) any { return p.Deadline }, [2]any{time.Second, ration.NoLimit}},
	"attemptTimeout":         {"{attemptTimeout: %s}", "none", "2s", func(p ration.Policy) any { return p.AttemptTimeout }, [2]any{ration.NoLimit, 2 * time.Second}},
	"ceiling.enabled":        {"{ceiling: {enabled: %s}}", "true", "false", func(p ration.Policy) any { return p.Ceiling != ration.NoCeiling }, [2]any{true, false}},
	"ceiling.multiple":       {"{ceiling: {multiple: %s}}", "2", "4", func(p ration.Policy) any { return p.Ceiling.Multiple }, [2]any{2.0, 4.0}},
	"ceiling.quantile":       {"{ceiling: {quantile: %s}}", "0.5", "0.9", func(p ration.Policy) any { return p.Ceiling.Quantile }, [2]any{0.5, 0.9}},
	"ceiling.minimumSamples": {"{ceiling: {minimumSamples: %s}}", "5", "6", func(p ration.Policy) any { return p.Ceiling.MinimumSamples }, [2]any{5, 6}},
	"ceiling.floor":          {"{ceiling: {floor: %s}}", "1ms", "2ms", func(p ration.Policy) any { return p.Ceiling.Floor }, [2]any{time.Millisecond, 2 * time.Millisecond}},
	"backoff.enabled":        {"{backoff: {enabled: %s}}", "true", "false", func(p ration.Policy) any { return p.Backoff.Transient }, [2]any{100 * time.Millisecond, time.Duration(0)}},
	"backoff.transient":      {"{backoff: {transient: %s}}", "1ms", "2ms", func(p ration.Policy) any { return p.Backoff.Transient }, [2]any{time.Millisecond, 2 * time.Millisecond}},
	"backoff.throttled":      {"{backoff: {throttled: %s}}", "1ms", "2ms", func(p ration.Policy) any { return p.Backoff.Throttled }, [2]any{time.Millisecond, 2 * time.Millisecond}},
	"backoff.factor":         {"{backoff: {factor: %s}}", "3", "1.5", func(p ration.Policy) any { return p.Backoff.Factor }, [2]any{3.0, 1.5}},
	"backoff.max":            {"{backoff: {max: %s}}", "5s", "none", func(p ration.Policy) any { return p.Backoff.Max }, [2]any{5 * time.Second, ration.NoLimit}},
	"backoff.jitter":         {"{backoff: {jitter: %s}}", "none", "equal", func(p ration.Policy) any { return p.Backoff.Jitter }, [2]any{ration.NoJitter, ration.EqualJitter}},
	"backoff.measured.enabled": {"{backoff: {measured: {enabled: %s}}}", "true", "false",
		func(p ration.Policy) any { return p.Backoff.Measured != nil }, [2]any{true, false}},
	"backoff.measured.multiple": {"{backoff: {measured: {multiple: %s}}}", "2", "3",
		func(p ration.Policy) any { return p.Backoff.Measured.Multiple }, [2]any{2.0, 3.0}},
	"backoff.measured.minimumSamples": {"{backoff: {measured: {minimumSamples: %s}}}", "2", "3",
		func(p ration.Policy) any { return p.Backoff.Measured.MinimumSamples }, [2]any{2, 3}},
	"backoff.measured.spread": {"{backoff: {measured: {spread: %s}}}", "2", "3",
		func(p ration.Policy) any { return p.Backoff.Measured.Spread }, [2]any{2.0, 3.0}},
	"budget.enabled":          {"{budget: {enabled: %s}}", "false", "true", func(p ration.Policy) any { return p.Budget == ration.NoBudget }, [2]any{true, false}},
	"budget.fraction":         {"{budget: {fraction: %s}}", "20%", "0.3", nil, [2]any{0.2, 0.3}},
	"budget.minimumPerSecond": {"{budget: {minimumPerSecond: %s}}", "0", "7", nil, [2]any{0.0, 7.0}},
	"budget.shared":           {"{budget: {shared: %s}}", "one", "two", nil, [2]any{"one", "two"}},
	"breaker.enabled":         {"{breaker: {enabled: %s}}", "false", "true", func(p ration.Policy) any { return p.Breaker == ration.NoBreaker }, [2]any{true, false}},
	"breaker.consecutiveFailures": {"{breaker: {consecutiveFailures: %s, failureRatio: 1}}", "7", "none",
		func(p ration.Policy) any { return p.Breaker.ConsecutiveFailures }, [2]any{7, -1}},
	"breaker.failureRatio": {"{breaker: {failureRatio: %s}}", "0", "50%", func(p ration.Policy) any { return p.Breaker.FailureRatio }, [2]any{0.0, 0.5}},
	"breaker.window": {"{breaker: {failureRatio: 1, window: %s}}", "1s", "2s",
		func(p ration.Policy) any { return p.Breaker.Window }, [2]any{time.Second, 2 * time.Second}},
	"breaker.minimumCalls": {"{breaker: {failureRatio: 1, minimumCalls: %s}}", "8", "9",
		func(p ration.Policy) any { return p.Breaker.MinimumCalls }, [2]any{8, 9}},
	"breaker.break":          {"{breaker: {break: %s}}", "1s", "2s", func(p ration.Policy) any { return p.Breaker.Break }, [2]any{time.Second, 2 * time.Second}},
	"breaker.maxBreak":       {"{breaker: {maxBreak: %s}}", "60s", "70s", func(p ration.Policy) any { return p.Breaker.MaxBreak }, [2]any{time.Minute, 70 * time.Second}},
	"breaker.probes":         {"{breaker: {probes: %s}}", "2", "3", func(p ration.Policy) any { return p.Breaker.Probes }, [2]any{2, 3}},
	"breaker.probeSuccesses": {"{breaker: {probeSuccesses: %s}}", "3", "4", func(p ration.Policy) any { return p.Breaker.ProbeSuccesses }, [2]any{3, 4}},
}

// bucketTests read a bucket where it is used, on an executor and on one of its keys.
var bucketTests = map[string]func(b *ration.Budget) any{
	"budget.fraction":         func(b *ration.Budget) any { return b.Fraction() },
	"budget.minimumPerSecond": func(b *ration.Budget) any { return b.MinimumPerSecond() },
	"budget.shared":           func(b *ration.Budget) any { return b.Name() },
}

// TestReloadEveryField: each setting is edited, reloaded and read back from the
// executor that was there before. A field without a row fails.
func TestReloadEveryField(t *testing.T) {
	for _, key := range leaves("", reflect.TypeFor[Policy]()) {
		t.Run(key, func(t *testing.T) {
			tt, ok := fieldTests[key]
			if !ok {
				t.Fatal("has no row in this test")
			}
			names := write(t, tt.file(tt.old))
			s, err := quietLoader().Load(names...)
			must(t, err)
			e := executor(t, s, "p")
			k := e.For("key")
			for i, setting := range []string{tt.old, tt.new} {
				rewrite(t, names[0], tt.file(setting))
				must(t, s.Reload())
				for _, e := range []*ration.Executor{e, k} {
					var got any
					if get := bucketTests[key]; get != nil {
						got = get(e.Budget())
					} else {
						got = tt.get(e.Policy())
					}
					if got != tt.want[i] {
						t.Errorf("%s of %q: got %v, want %v", setting, e.Key(), got, tt.want[i])
					}
				}
			}
			if st := s.Status(); st.Reloads != 1 || st.Failures != 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// leaves returns the paths of all keys below a struct that hold no section.
func leaves(path string, s reflect.Type) (keys []string) {
	for i := range s.NumField() {
		f := s.Field(i)
		key := path + strict.Key(f.Name)
		if _, isSection := sectionSwitch(reflect.New(f.Type.Elem()).Elem()); isSection {
			keys = append(keys, leaves(key+".", f.Type.Elem())...)
			continue
		}
		keys = append(keys, key)
	}
	return keys
}
