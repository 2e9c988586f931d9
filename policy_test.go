package ration

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// problems returns what is wrong with a policy.
func problems(t *testing.T, p Policy) []string {
	t.Helper()
	_, err := New(p)
	if err == nil {
		return nil
	}
	var config *ConfigError
	if !errors.As(err, &config) || len(config.Problems) == 0 || config.Policy != p.Name {
		t.Fatalf("%v is no ConfigError of policy %q", err, p.Name)
	}
	if want := "; "; !strings.HasPrefix(err.Error(), "ration: invalid policy") ||
		!strings.HasSuffix(err.Error(), strings.Join(config.Problems, want)) {
		t.Errorf("%q does not tell every problem", err)
	}
	return config.Problems
}

func withBackoff(b Backoff) Policy           { return Policy{Backoff: b} }
func withMeasured(m MeasuredBase) Policy     { return Policy{Backoff: Backoff{Measured: &m}} }
func withCeiling(c Ceiling) Policy           { return Policy{Ceiling: &c} }
func withBreaker(s BreakerSettings) Policy   { return Policy{Breaker: &s} }
func withRatio(s BreakerSettings) Policy     { s.FailureRatio = 0.5; return Policy{Breaker: &s} }
func customBackoff(b Backoff) Policy         { b.Custom = waitNone; return withBackoff(b) }
func waitNone(Next) time.Duration            { return 0 }
func withoutBackoff(f func(*Backoff)) Policy { b := NoBackoff; f(&b); return withBackoff(b) }

const negative = -time.Millisecond

var nan, infinity = math.NaN(), math.Inf(1)

// badPolicies have one problem each, which names the field, then its value, and
// says what would be right.
var badPolicies = []struct {
	field, value, advice string
	p                    Policy
}{
	{"Attempts", "-1", "0 means the default", Policy{Attempts: -1}},
	{"Attempts", "-9223372036854775808", "0 means the default", Policy{Attempts: math.MinInt}},
	{"Deadline", "-1ms", "NoLimit none", Policy{Deadline: negative}},
	{"Deadline", "-2ns", "NoLimit none", Policy{Deadline: NoLimit - 1}},
	{"AttemptTimeout", "-1ms", "NoLimit none", Policy{AttemptTimeout: negative}},

	{"Backoff.Transient", "-1ms", "0 means the default", withBackoff(Backoff{Transient: negative})},
	{"Backoff.Transient", "-1ns", "0 means the default", withBackoff(Backoff{Transient: NoLimit})},
	{"Backoff.Throttled", "-1ms", "0 means the default", withBackoff(Backoff{Throttled: negative})},
	{"Backoff.Transient", "-1s", "0 means the default",
		withBackoff(Backoff{Transient: -second, Throttled: second})},
	{"Backoff.Factor", "-2", "0 means the default", withBackoff(Backoff{Factor: -2})},
	{"Backoff.Factor", "NaN", "0 means the default", withBackoff(Backoff{Factor: nan})},
	{"Backoff.Factor", "+Inf", "0 means the default", withBackoff(Backoff{Factor: infinity})},
	{"Backoff.Max", "-1ms", "NoLimit none", withBackoff(Backoff{Max: negative})},
	{"Backoff.Jitter", "-1", "EqualJitter", withBackoff(Backoff{Jitter: -1})},
	{"Backoff.Jitter", "3", "EqualJitter", withBackoff(Backoff{Jitter: 3})},
	{"Backoff.Measured", "has no effect", "remove one",
		customBackoff(Backoff{Measured: &MeasuredBase{}})},
	{"Backoff.Measured.Multiple", "-1", "0 means the default",
		withMeasured(MeasuredBase{Multiple: -1})},
	{"Backoff.Measured.Multiple", "NaN", "0 means the default",
		withMeasured(MeasuredBase{Multiple: nan})},
	{"Backoff.Measured.Multiple", "+Inf", "0 means the default",
		withMeasured(MeasuredBase{Multiple: infinity})},
	{"Backoff.Measured.MinimumSamples", "-1", "0 means the default",
		withMeasured(MeasuredBase{MinimumSamples: -1})},
	{"Backoff.Measured.Spread", "1", "0 means the default", withMeasured(MeasuredBase{Spread: 1})},
	{"Backoff.Measured.Spread", "0.5", "0 means the default", withMeasured(MeasuredBase{Spread: 0.5})},
	{"Backoff.Measured.Spread", "-10", "0 means the default", withMeasured(MeasuredBase{Spread: -10})},
	{"Backoff.Measured.Spread", "NaN", "0 means the default", withMeasured(MeasuredBase{Spread: nan})},
	{"Backoff.Measured.Spread", "+Inf", "0 means the default",
		withMeasured(MeasuredBase{Spread: infinity})},
	{"Backoff", "is NoBackoff", "start from Backoff{}",
		withoutBackoff(func(b *Backoff) { b.Transient = second })},
	{"Backoff", "is NoBackoff", "start from Backoff{}",
		withoutBackoff(func(b *Backoff) { b.Throttled = second })},
	{"Backoff", "is NoBackoff", "start from Backoff{}",
		withoutBackoff(func(b *Backoff) { b.Factor = 2 })},
	{"Backoff", "is NoBackoff", "start from Backoff{}",
		withoutBackoff(func(b *Backoff) { b.Custom = waitNone })},
	{"Backoff", "is NoBackoff", "start from Backoff{}",
		withoutBackoff(func(b *Backoff) { b.Measured = &MeasuredBase{} })},

	{"Ceiling.Multiple", "1", "NoCeiling", withCeiling(Ceiling{Multiple: 1})},
	{"Ceiling.Multiple", "-3", "NoCeiling", withCeiling(Ceiling{Multiple: -3})},
	{"Ceiling.Multiple", "1e+06", "NoCeiling", withCeiling(Ceiling{Multiple: 1e6})},
	{"Ceiling.Multiple", "NaN", "NoCeiling", withCeiling(Ceiling{Multiple: nan})},
	{"Ceiling.Multiple", "+Inf", "NoCeiling", withCeiling(Ceiling{Multiple: infinity})},
	{"Ceiling.Quantile", "0.49", "[0.5, 0.99]", withCeiling(Ceiling{Quantile: 0.49})},
	{"Ceiling.Quantile", "0.991", "[0.5, 0.99]", withCeiling(Ceiling{Quantile: 0.991})},
	{"Ceiling.Quantile", "95", "[0.5, 0.99]", withCeiling(Ceiling{Quantile: 95})},
	{"Ceiling.Quantile", "NaN", "[0.5, 0.99]", withCeiling(Ceiling{Quantile: nan})},
	{"Ceiling.MinimumSamples", "-1", "0 means the default", withCeiling(Ceiling{MinimumSamples: -1})},
	{"Ceiling.Floor", "-1ms", "0 means the default", withCeiling(Ceiling{Floor: negative})},
	{"Ceiling.Floor", "10s", "AttemptTimeout 10s", withCeiling(Ceiling{Floor: 10 * second})},
	{"Ceiling.Floor", "1s", "AttemptTimeout 1s",
		Policy{AttemptTimeout: second, Ceiling: &Ceiling{Floor: second}}},

	{"Breaker.ConsecutiveFailures", "-1", "NoBreaker",
		withBreaker(BreakerSettings{ConsecutiveFailures: -1})},
	{"Breaker.FailureRatio", "-0.1", "(0, 1]", withBreaker(BreakerSettings{FailureRatio: -0.1})},
	{"Breaker.FailureRatio", "1.01", "(0, 1]", withBreaker(BreakerSettings{FailureRatio: 1.01})},
	{"Breaker.FailureRatio", "NaN", "(0, 1]", withBreaker(BreakerSettings{FailureRatio: nan})},
	{"Breaker.FailureRatio", "+Inf", "(0, 1]", withBreaker(BreakerSettings{FailureRatio: infinity})},
	{"Breaker.Window", "1m0s", "FailureRatio", withBreaker(BreakerSettings{Window: minute})},
	{"Breaker.Window", "-1ms", "0 means the default", withRatio(BreakerSettings{Window: negative})},
	{"Breaker.Window", "9.999999ms", "10ms",
		withRatio(BreakerSettings{Window: 10*time.Millisecond - 1})},
	{"Breaker.Window", "0s and MinimumCalls 9", "FailureRatio",
		withBreaker(BreakerSettings{MinimumCalls: 9})},
	{"Breaker.MinimumCalls", "-1", "0 means the default",
		withRatio(BreakerSettings{MinimumCalls: -1})},
	{"Breaker.Break", "-1ms", "0 means the default", withBreaker(BreakerSettings{Break: negative})},
	{"Breaker.MaxBreak", "-1ms", "0 means the default",
		withBreaker(BreakerSettings{MaxBreak: negative})},
	{"Breaker.MaxBreak", "1s", "Break 2s",
		withBreaker(BreakerSettings{Break: 2 * second, MaxBreak: second})},
	{"Breaker.Probes", "-1", "0 means the default", withBreaker(BreakerSettings{Probes: -1})},
	{"Breaker.ProbeSuccesses", "-1", "0 means the default",
		withBreaker(BreakerSettings{ProbeSuccesses: -1})},

	{"Budget", "is a zero Budget", "NewBudget", Policy{Budget: &Budget{}}},
}

func TestPolicyProblems(t *testing.T) {
	for _, tt := range badPolicies {
		got := problems(t, tt.p)
		if len(got) != 1 || !strings.HasPrefix(got[0], tt.field+" "+tt.value) ||
			!strings.Contains(got[0], tt.advice) {
			t.Errorf("%q, want one problem: %q %q ... %q", got, tt.field, tt.value, tt.advice)
		}
	}
}

// Every field that holds a number has a wrong value among those above.
func TestPolicyProblemsAreComplete(t *testing.T) {
	for path, v := range map[string]any{
		"": Policy{}, "Backoff.": Backoff{}, "Backoff.Measured.": MeasuredBase{},
		"Ceiling.": Ceiling{}, "Breaker.": BreakerSettings{},
	} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			switch f.Type.Kind() {
			case reflect.Int, reflect.Int64, reflect.Float64:
			default:
				continue
			}
			tried := false
			for _, tt := range badPolicies {
				tried = tried || tt.field == path+f.Name
			}
			if !tried {
				t.Errorf("nothing wrong was tried in %s%s", path, f.Name)
			}
		}
	}
}

// Everything that is wrong is told at once, in Update as in New.
func TestPolicyTellsEveryProblem(t *testing.T) {
	p := Policy{
		Name:           "all wrong",
		Attempts:       -1,
		Deadline:       negative,
		AttemptTimeout: negative,
		Ceiling:        &Ceiling{Multiple: 1, Quantile: 2, MinimumSamples: -1, Floor: negative},
		Backoff: Backoff{Transient: negative, Throttled: negative, Factor: -1, Max: negative, Jitter: 9,
			Measured: &MeasuredBase{Multiple: -1, MinimumSamples: -1, Spread: -1}, Custom: waitNone},
		Budget: &Budget{},
		Breaker: &BreakerSettings{ConsecutiveFailures: -1, FailureRatio: 7, Window: 1, MinimumCalls: -1,
			Break: negative, MaxBreak: negative, Probes: -1, ProbeSuccesses: -1},
	}
	got := problems(t, p)
	if len(got) != 24 {
		t.Errorf("%d problems, want 24:\n%s", len(got), strings.Join(got, "\n"))
	}
	sorted := slices.Clone(got)
	slices.Sort(sorted)
	if len(slices.Compact(sorted)) != len(got) {
		t.Errorf("a problem is told twice:\n%s", strings.Join(got, "\n"))
	}
	e := MustNew(Policy{Name: "before"})
	err := e.Update(p)
	var config *ConfigError
	if !errors.As(err, &config) || !slices.Equal(config.Problems, got) {
		t.Errorf("Update tells %v", err)
	}
	if !strings.HasPrefix(err.Error(), `ration: invalid policy "all wrong": Attempts -1 is`) {
		t.Errorf("the message is %q", err)
	}
	if e.Policy().Name != "before" {
		t.Error("an invalid policy was put in force")
	}
}

func TestMustNewPanics(t *testing.T) {
	defer func() {
		var config *ConfigError
		if err, ok := recover().(error); !ok || !errors.As(err, &config) {
			t.Errorf("recovered %v, want a ConfigError", err)
		}
	}()
	MustNew(Policy{Attempts: -1})
}

// What is at the edge of a range is in it.
func TestPolicyAccepts(t *testing.T) {
	for i, p := range []Policy{
		{},
		{Attempts: 1},
		{Attempts: math.MaxInt},
		{Deadline: NoLimit, AttemptTimeout: NoLimit},
		{Deadline: maxDuration, AttemptTimeout: maxDuration},
		{Deadline: 1, AttemptTimeout: 1},
		{AttemptTimeout: hour, Deadline: second},
		{Ceiling: NoCeiling, Budget: NoBudget, Breaker: NoBreaker, Backoff: NoBackoff},
		{Ceiling: NoCeiling, AttemptTimeout: 1},
		withoutBackoff(func(b *Backoff) { b.Max = second }),
		withBackoff(Backoff{Max: NoLimit}),
		withBackoff(Backoff{Max: 1, Transient: hour}),
		withBackoff(Backoff{Factor: math.SmallestNonzeroFloat64}),
		withBackoff(Backoff{Factor: math.MaxFloat64}),
		withBackoff(ConstantBackoff(maxDuration)),
		withMeasured(MeasuredBase{Spread: math.Nextafter(1, 2), Multiple: 1e-300}),
		withCeiling(Ceiling{}),
		withCeiling(Ceiling{Multiple: math.Nextafter(1, 2), Quantile: 0.5}),
		withCeiling(Ceiling{Multiple: 999_999, Quantile: 0.99}),
		withCeiling(Ceiling{Floor: 10*second - 1}),
		{AttemptTimeout: NoLimit, Ceiling: &Ceiling{Floor: hour}},
		{AttemptTimeout: time.Millisecond, Ceiling: &Ceiling{}},
		withBreaker(BreakerSettings{}),
		withRatio(BreakerSettings{ConsecutiveFailures: -1, MinimumCalls: 1}),
		withRatio(BreakerSettings{Window: 10 * time.Millisecond}),
		withBreaker(BreakerSettings{FailureRatio: 1}),
		withBreaker(BreakerSettings{FailureRatio: math.SmallestNonzeroFloat64}),
		withBreaker(BreakerSettings{Break: second, MaxBreak: second}),
		withBreaker(BreakerSettings{Break: hour}),
		withBreaker(BreakerSettings{MaxBreak: 1}),
		withBreaker(BreakerSettings{Break: 1}),
	} {
		if got := problems(t, p); got != nil {
			t.Errorf("policy %d: %q", i, got)
		}
	}
}

// A default gives way to what is written beside it.
func TestPolicyDefaultsGiveWay(t *testing.T) {
	for _, tt := range []struct {
		s                 BreakerSettings
		length, maxLength time.Duration
	}{
		{BreakerSettings{}, 15 * second, 2 * minute},
		{BreakerSettings{MaxBreak: 5 * second}, 5 * second, 5 * second},
		{BreakerSettings{MaxBreak: hour}, 15 * second, hour},
		{BreakerSettings{Break: 5 * minute}, 5 * minute, 5 * minute},
		{BreakerSettings{Break: second}, second, 2 * minute},
		{BreakerSettings{Break: second, MaxBreak: 3 * second}, second, 3 * second},
	} {
		if got := tt.s.withDefaults(); got.Break != tt.length || got.MaxBreak != tt.maxLength {
			t.Errorf("%+v: %v up to %v, want %v up to %v", tt.s, got.Break, got.MaxBreak, tt.length,
				tt.maxLength)
		}
	}
	for _, tt := range []struct {
		b    Backoff
		want time.Duration
	}{
		{Backoff{}, 30 * second},
		{Backoff{Transient: 40 * second}, 40 * second},
		{Backoff{Throttled: minute, Transient: 40 * second}, minute},
		{Backoff{Transient: hour, Max: second}, second},
		{Backoff{Transient: hour, Max: NoLimit}, NoLimit},
		{ConstantBackoff(minute), minute},
		{NoBackoff, 30 * second},
	} {
		if got := tt.b.withDefaults().Max; got != tt.want {
			t.Errorf("%+v: a cap of %v, want %v", tt.b, got, tt.want)
		}
	}
}

// documented finds the defaults in the comments of a field: what 0 means, and
// in a comment on two fields, what it means for the second.
var documented = regexp.MustCompile(
	`\b0 = (\d[\d.]*(?: (?:ms|s|min))?)(?: and (\d[\d.]* (?:s|min)))?\b`)

// Every default that a comment promises is the one that applies. The comments
// are where people look.
func TestDocumentedDefaults(t *testing.T) {
	s, err := Policy{
		Backoff: Backoff{Measured: &MeasuredBase{}},
		Ceiling: &Ceiling{},
		Breaker: &BreakerSettings{FailureRatio: 0.5},
	}.resolve()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for file, structs := range map[string]map[string]any{
		"policy.go":  {"Policy": s.Policy},
		"backoff.go": {"Backoff": s.Backoff, "MeasuredBase": *s.Backoff.Measured},
		"ceiling.go": {"Ceiling": *s.ceiling},
		"breaker.go": {"BreakerSettings": *s.breaker},
	} {
		parsed, err := parser.ParseFile(gotoken.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if ok && structs[spec.Name.Name] != nil {
				found += checkDefaults(t, spec, reflect.ValueOf(structs[spec.Name.Name]))
			}
			return true
		})
	}
	if found != 21 {
		t.Errorf("%d defaults are documented, want 21: read them again, and correct this", found)
	}
}

func checkDefaults(t *testing.T, spec *ast.TypeSpec, resolved reflect.Value) (found int) {
	t.Helper()
	fields := spec.Type.(*ast.StructType).Fields.List
	for i, f := range fields {
		text := strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
		match := documented.FindStringSubmatch(text)
		for j, want := range match[min(1, len(match)):] {
			if want == "" {
				continue
			}
			name := fields[i+j].Names[0].Name
			found++
			if got := resolved.FieldByName(name); !means(t, want, got) {
				t.Errorf("%s.%s: the comment says %s, it is %v", spec.Name, name, want, got)
			}
		}
	}
	return found
}

// means reports whether a value is what a comment calls it.
func means(t *testing.T, text string, v reflect.Value) bool {
	t.Helper()
	if d, ok := v.Interface().(time.Duration); ok {
		text = strings.ReplaceAll(strings.Replace(text, "min", "m", 1), " ", "")
		want, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		return d == want
	}
	want, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	if v.CanInt() {
		return float64(v.Int()) == want
	}
	return v.Float() == want
}

// The defaults that have a name are those in force, and those in the page.
func TestNamedDefaults(t *testing.T) {
	p := MustNew(Policy{}).Policy()
	b := MustNew(Policy{}).Budget()
	for _, tt := range []struct {
		name      string
		got, want any
	}{
		{"Attempts", p.Attempts, DefaultAttempts},
		{"Deadline", p.Deadline, DefaultDeadline},
		{"AttemptTimeout", p.AttemptTimeout, DefaultAttemptTimeout},
		{"Backoff.Transient", p.Backoff.Transient, DefaultTransientBase},
		{"Backoff.Throttled", p.Backoff.Throttled, DefaultThrottledBase},
		{"Backoff.Factor", p.Backoff.Factor, DefaultBackoffFactor},
		{"Backoff.Max", p.Backoff.Max, DefaultBackoffMax},
		{"Backoff.Jitter", p.Backoff.Jitter, FullJitter},
		{"Budget.Fraction", b.Fraction(), DefaultBudgetFraction},
		{"Budget.MinimumPerSecond", b.MinimumPerSecond(), float64(DefaultBudgetMinimumPerSecond)},
		{"Budget.Capacity", b.Capacity(), float64(10 * DefaultBudgetMinimumPerSecond)},
		{"Budget", p.Budget, (*Budget)(nil)},
		{"Breaker", p.Breaker, (*BreakerSettings)(nil)},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, tt.got, tt.want)
		}
	}
	page, err := os.ReadFile("docs/retry-budget.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		fmt.Sprintf("| Each successful attempt deposits | %v token |", b.Fraction()),
		fmt.Sprintf("| The floor refills | %v tokens per second |", b.MinimumPerSecond()),
		fmt.Sprintf("| 10 seconds of the floor: %v tokens,", b.Capacity()),
	} {
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/retry-budget.md does not say %q", row)
		}
	}
}

// What Policy returns makes an executor that does the same.
func TestPolicyRoundTrip(t *testing.T) {
	r := newStateRand(8)
	accepted := 0
	for range rounds(20_000) {
		if roundTrips(t, randomScript(r, 60)) {
			accepted++
		}
	}
	if accepted < rounds(4000) {
		t.Errorf("only %d policies were accepted", accepted)
	}
}

func FuzzPolicy(f *testing.F) {
	r := newStateRand(9)
	for range 10 {
		f.Add([]byte(randomScript(r, 60)))
	}
	f.Fuzz(func(t *testing.T, data []byte) { roundTrips(t, data) })
}

// roundTrips makes a policy of a script and, if it is accepted, checks that
// what comes back means the same, and that what is in force makes sense.
func roundTrips(t *testing.T, s stateScript) bool {
	t.Helper()
	p := scriptedPolicy(&s)
	e, err := New(p)
	if err != nil {
		return false
	}
	first := e.root.settings.Load()
	again, err := New(e.Policy())
	if err != nil {
		t.Fatalf("%v\nof %+v\nmade from %+v", err, e.Policy(), p)
	}
	if back := again.root.settings.Load(); !reflect.DeepEqual(first, back) {
		t.Fatalf("%+v\nis not\n%+v", back, first)
	}
	if c := first.ceiling; c != nil {
		if first.AttemptTimeout > 0 && c.Floor >= first.AttemptTimeout {
			t.Fatalf("a ceiling that cannot bind: %+v below %v", c, first.AttemptTimeout)
		}
	}
	if b := first.breaker; b != nil {
		if b.Break <= 0 || b.Break > b.MaxBreak || b.Probes < 1 || b.ProbeSuccesses < 1 ||
			first.lease <= 0 {
			t.Fatalf("a breaker that makes no sense: %+v, lease %v", b, first.lease)
		}
	}
	if first.Attempts < 1 || first.Deadline == 0 || first.AttemptTimeout == 0 ||
		first.Backoff.Max == 0 {
		t.Fatalf("something without a value: %+v", first)
	}
	return true
}

func scriptedPolicy(s *stateScript) Policy {
	durations := []time.Duration{0, 0, 0, 0, 1, 40 * time.Millisecond, 50 * time.Millisecond, second,
		10 * second, 15 * second, 30 * second, 2 * minute, hour, maxDuration, NoLimit, negative}
	floats := []float64{0, 0, 0, 0, 0.5, 0.9, 1, 2, 10, 1e308, 1e-308, -1, nan}
	ints := []int{0, 0, 0, 1, 2, 20, math.MaxInt, -1}
	d := func() time.Duration { return durations[s.below(len(durations))] }
	x := func() float64 { return floats[s.below(len(floats))] }
	n := func() int { return ints[s.below(len(ints))] }
	maybe := func() bool { return s.next() < 128 }
	p := Policy{Attempts: n(), Deadline: d(), AttemptTimeout: d()}
	switch s.below(3) {
	case 0:
		p.Backoff = NoBackoff
		if maybe() {
			p.Backoff.Max = d()
		}
	case 1:
		p.Backoff = Backoff{Transient: d(), Throttled: d(), Factor: x(), Max: d(), Jitter: Jitter(n())}
		if maybe() {
			p.Backoff.Measured = &MeasuredBase{Multiple: x(), MinimumSamples: n(), Spread: x()}
		}
	}
	switch s.below(3) {
	case 0:
		p.Ceiling = NoCeiling
	case 1:
		p.Ceiling = &Ceiling{Multiple: x(), Quantile: x(), MinimumSamples: n(), Floor: d()}
	}
	switch s.below(3) {
	case 0:
		p.Breaker = NoBreaker
	case 1:
		p.Breaker = &BreakerSettings{ConsecutiveFailures: n(), Break: d(), MaxBreak: d(), Probes: n(),
			ProbeSuccesses: n()}
		if maybe() {
			p.Breaker.FailureRatio, p.Breaker.Window, p.Breaker.MinimumCalls = x(), d(), n()
		}
	}
	if maybe() {
		p.Budget = NoBudget
	}
	return p
}

// fullPolicy has something in every field that is not a function.
func fullPolicy() Policy {
	return Policy{
		Name:     "full",
		Attempts: 2,
		Deadline: minute,
		Ceiling:  &Ceiling{Multiple: 4},
		Backoff:  Backoff{Transient: 1, Throttled: 1, Measured: &MeasuredBase{Multiple: 2}},
		Breaker:  &BreakerSettings{ConsecutiveFailures: 3},
	}
}

// exercise drives calls of every kind through e.
func exercise(t *testing.T, e *Executor, now time.Time) {
	t.Helper()
	for _, e := range []*Executor{e, e.For("key"), e.Once()} {
		for i := range 60 {
			call := e.Begin(t.Context(), now)
			for d := call.Decision(); d.Action != ActStop; {
				o := Outcome{}
				switch {
				case d.Action != ActAttempt:
				case i >= 50: // for long enough to open the breaker
					o = Outcome{Err: errBackoff, Verdict: transientVerdict}
				case i%3 != 0:
					o = Outcome{Err: errBackoff, Verdict: Verdict{Kind: VerdictKind(i % 4)}}
				}
				now = now.Add(time.Millisecond)
				d = call.Next(now, o, 0.5)
			}
		}
	}
}

// A policy is a value: making an executor of it, running that and updating it
// change nothing that can be reached from the policy.
func TestPolicyIsOnlyRead(t *testing.T) {
	p := fullPolicy()
	e := MustNew(p)
	exercise(t, e, base)
	e.Explain()
	if err := e.Update(p); err != nil {
		t.Fatal(err)
	}
	exercise(t, e, base)
	if want := fullPolicy(); !reflect.DeepEqual(p, want) {
		t.Errorf("%+v, want %+v", p, want)
	}
	if *NoCeiling != (Ceiling{}) || *NoBreaker != (BreakerSettings{}) ||
		!reflect.DeepEqual(NoBackoff, Backoff{none: true}) {
		t.Error("a spelling of off has changed")
	}
	// Nor does what Policy returns lead back to what is in force.
	got := e.Policy()
	got.Ceiling.Multiple = 9
	got.Backoff.Measured.Multiple = 9
	if p.Ceiling.Multiple != 4 || p.Backoff.Measured.Multiple != 2 {
		t.Error("the policy shares its parts with what Policy returns")
	}
}

// Two executors of one policy share nothing but the budget that it names.
func TestExecutorsOfOnePolicyShareNothing(t *testing.T) {
	p := fullPolicy()
	a, b := MustNew(p), MustNew(p)
	exercise(t, a, base)
	now := base.Add(second)
	if a.Budget() == b.Budget() || a.Budget().UtilizationAt(now) == 0 ||
		b.Budget().UtilizationAt(now) != 0 {
		t.Error("a spent budget shows in the other executor")
	}
	if a.Breaker(now).State != BreakerOpen || b.Breaker(now).State != BreakerClosed {
		t.Errorf("breakers %v and %v, want the first open", a.Breaker(now).State, b.Breaker(now).State)
	}
	if samples(a.state.estimates(), instantOf(now)) == 0 ||
		samples(b.state.estimates(), instantOf(now)) != 0 {
		t.Error("samples show in the other executor")
	}
	if len(a.Keys()) != 1 || len(b.Keys()) != 0 {
		t.Error("keys show in the other executor")
	}
	p.Budget = mustBudget(t, 0.5, 1)
	if a, b := MustNew(p), MustNew(p); a.Budget() != p.Budget || b.Budget() != p.Budget {
		t.Error("a budget that the policy names is not shared")
	}
}

func TestExecutorBudget(t *testing.T) {
	named := mustBudget(t, 0.1, 1)
	for _, tt := range []struct {
		name      string
		p         Policy
		automatic bool
		want      *Budget
	}{
		{"automatic", Policy{}, true, nil},
		{"one attempt", Policy{Attempts: 1}, false, nil},
		{"off", Policy{Budget: NoBudget}, false, nil},
		{"one attempt, off", Policy{Attempts: 1, Budget: NoBudget}, false, nil},
		{"named", Policy{Budget: named}, false, named},
		{"one attempt, named", Policy{Attempts: 1, Budget: named}, false, named},
	} {
		e := MustNew(tt.p)
		for where, e := range map[string]*Executor{"New": e, "For": e.For("k"), "Once": e.Once()} {
			want := tt.want
			if tt.automatic {
				want = e.state.budget
			}
			if got := e.Budget(); got != want {
				t.Errorf("%s, %s: %p, want %p", tt.name, where, got, want)
			}
		}
	}
	// A call with one attempt feeds the budget that its policy names.
	for named.Withdraw(base, Critical) {
	}
	call := MustNew(Policy{Attempts: 1, Budget: named}).Begin(t.Context(), base)
	call.Next(base, Outcome{}, 0)
	if got := balance(named); got != "0.1" {
		t.Errorf("%s tokens after a success, want 0.1", got)
	}
}

// C32: a reload in the middle of an outage leaves the breaker open and the
// bucket empty; a reload that fails leaves everything.
func TestUpdateKeepsState(t *testing.T) {
	at := func(d time.Duration) time.Time { return base.Add(hour + d) }
	p := Policy{
		Name:    "first",
		Breaker: &BreakerSettings{Break: 30 * second, MaxBreak: 30 * second},
		Budget:  mustBudget(t, 0.1, 0),
	}
	e := MustNew(p)
	key := e.For("key")
	for _, e := range []*Executor{e, key} {
		tripKey(e, instantOf(at(0)))
		e.state.estimates().record(instantOf(at(0)), 0, second)
	}
	for e.Budget().Withdraw(at(0), Critical) {
	}
	check := func(d time.Duration, name string, want BreakerState) {
		t.Helper()
		for _, e := range []*Executor{e, key} {
			if got := e.Breaker(at(d)).State; got != want {
				t.Errorf("at %v the breaker of %q is %v, want %v", d, e.Key(), got, want)
			}
			if got := e.Policy().Name; got != name {
				t.Errorf("at %v policy %q is in force, want %q", d, got, name)
			}
			if u := e.Budget().UtilizationAt(at(d)); u != 1 {
				t.Errorf("at %v %v of the budget is spent, want all", d, u)
			}
			if n := samples(e.state.estimates(), instantOf(at(d))); n != 1 {
				t.Errorf("at %v there are %d samples, want 1", d, n)
			}
		}
	}
	check(9*second, "first", BreakerOpen)
	p.Name, p.Breaker = "second", &BreakerSettings{ConsecutiveFailures: 99, Break: second}
	p.Budget = mustBudget(t, 0.2, 0) // as a reload of a file would make it
	if err := e.Update(p); err != nil {
		t.Fatal(err)
	}
	check(10*second, "second", BreakerOpen)
	p.Name, p.Attempts = "third", -1
	if err := e.Update(p); err == nil {
		t.Error("an invalid policy is accepted")
	}
	check(12*second, "second", BreakerOpen)
	p.Attempts, p.Breaker = 0, NoBreaker
	if err := key.Update(p); err != nil { // of a key, it is that of its parent
		t.Fatal(err)
	}
	check(13*second, "third", BreakerOff)
	p.Name, p.Breaker = "fourth", &BreakerSettings{}
	if err := e.Update(p); err != nil {
		t.Fatal(err)
	}
	check(29900*time.Millisecond, "fourth", BreakerOpen)
	check(30*second-1, "fourth", BreakerOpen)
	check(30*second, "fourth", BreakerHalfOpen)
}

// tripKey opens a breaker by as many failures as it takes.
func tripKey(e *Executor, now instant) {
	for range e.root.settings.Load().breaker.ConsecutiveFailures {
		openKey(e, now)
	}
}

// A policy that is put in force brings no fresh burst, however the budget is
// spelt before and after.
func TestUpdateOfTheBudget(t *testing.T) {
	drain := func(b *Budget) {
		for b.Withdraw(base, Critical) {
		}
	}
	used := mustBudget(t, 0.1, 2)
	used.Withdraw(base, Critical)
	for _, tt := range []struct {
		name          string
		before, after Policy
		want          string // tokens, of what is drained before
	}{
		{"automatic stays", Policy{}, Policy{Attempts: 7}, "0"},
		{"automatic to named", Policy{}, Policy{Budget: mustBudget(t, 0.2, 5)}, "0"},
		{"named to automatic", Policy{Budget: mustBudget(t, 0.2, 5)}, Policy{}, "0"},
		{"named to named", Policy{Budget: mustBudget(t, 0.2, 5)},
			Policy{Budget: mustBudget(t, 0.1, 1)}, "0"},
		{"named to one in use", Policy{Budget: mustBudget(t, 0.2, 5)}, Policy{Budget: used}, "19"},
		{"off to automatic", Policy{Budget: NoBudget}, Policy{}, "30"},
		{"one attempt to three", Policy{Attempts: 1}, Policy{}, "30"},
	} {
		e := MustNew(tt.before)
		if e.Budget() != nil {
			drain(e.Budget())
		}
		if err := e.Update(tt.after); err != nil {
			t.Fatal(err)
		}
		if got := balance(e.Budget()); got != tt.want {
			t.Errorf("%s: %s tokens, want %s", tt.name, got, tt.want)
		}
	}
	e := MustNew(Policy{})
	drain(e.Budget())
	for _, p := range []Policy{{Budget: NoBudget}, {Attempts: 1}, {}} {
		if err := e.Update(p); err != nil {
			t.Fatal(err)
		}
	}
	if u := e.Budget().UtilizationAt(base); u != 1 {
		t.Errorf("off and on again, %v of the budget is spent, want all", u)
	}
}

// A call in flight goes on as it began, and updates from many sides at once
// leave one whole policy.
func TestUpdateConcurrent(t *testing.T) {
	p := func(name string) Policy {
		return Policy{Name: name, Attempts: 2, Backoff: Backoff{Transient: 1, Throttled: 1},
			Budget: mustBudget(t, 0.1, 1), Breaker: &BreakerSettings{ConsecutiveFailures: 3, Break: 1}}
	}
	e := MustNew(p("0"))
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range rounds(1000) {
				if err := e.Update(p(strconv.Itoa(g))); err != nil {
					t.Error(err)
				}
				_ = e.For(strconv.Itoa(i % 7)).Explain()
			}
		})
		wg.Go(func() {
			for i := range rounds(1000) {
				for _, e := range []*Executor{e, e.For(strconv.Itoa(i % 7))} {
					call := e.Begin(context.Background(), time.Now())
					for d := call.Decision(); d.Action != ActStop; {
						o := Outcome{}
						if i%3 == 0 {
							o = Outcome{Err: errBackoff, Verdict: transientVerdict}
						}
						d = call.Next(time.Now(), o, 0.5)
					}
				}
			}
		})
	}
	wg.Wait()
	if name := e.Policy().Name; name == "" || e.Budget() != e.Policy().Budget {
		t.Errorf("policy %q with another's budget is in force", name)
	}
}

// A policy that brings another budget brings no burst: what was spent stays
// spent, of the buckets of keys too.
func TestUpdateOfTheBudgetBringsNoBurst(t *testing.T) {
	drain := func(b *Budget) {
		for b.Withdraw(time.Now(), Critical) {
		}
	}
	spent := func(t *testing.T, b *Budget) {
		t.Helper()
		if u := b.Utilization(); u < 0.9 {
			t.Errorf("utilization is %v", u)
		}
	}
	t.Run("named to automatic", func(t *testing.T) {
		b, err := NewBudget(0.1, 3)
		if err != nil {
			t.Fatal(err)
		}
		e := MustNew(Policy{Budget: b})
		key := e.For("a")
		drain(b)
		if err := e.Update(Policy{}); err != nil {
			t.Fatal(err)
		}
		spent(t, e.Budget())
		spent(t, key.Budget())
	})
	t.Run("automatic to named", func(t *testing.T) {
		e := MustNew(Policy{})
		drain(e.For("a").Budget())
		b, err := NewBudget(0.1, 3)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Update(Policy{Budget: b}); err != nil {
			t.Fatal(err)
		}
		spent(t, b)
	})
}
