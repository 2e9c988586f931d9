package rationconfig

import (
	"reflect"
	"strings"
	"testing"
)

// TestBadFiles: everything that is wrong is reported at once, each with its line, its
// key, and what is allowed.
func TestBadFiles(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"empty", "", []string{"a.yaml:1: is empty"}},
		{"only comments", "# policies", []string{"a.yaml:1: is empty but for comments"}},
		{"no policy", "policies: {}", []string{"a.yaml:1: policies: names no policy; name at least one"}},
		{"a list", "- policies", []string{"a.yaml:1: a list is not a mapping with the keys budgets, policies"}},
		{"policies as a list", "policies: [{attempts: 1}]", []string{
			"a.yaml:1: policies: a list is not a mapping from names to what they stand for"}},
		{"half a file", "policies:\n  p:\n    attempts: 3\n    backoff: {transi", []string{
			"a.yaml:4: is not YAML: did not find expected ',' or '}'"}},
		{"a policy without a value", "policies:\n  p:\n", []string{
			"a.yaml:2: policies.p: has no value; give it one or remove the key"}},
		{"unknown keys", "version: 1\npolicies:\n  p:\n    attempt: 3\n    backoff: {jiter: full}\n    hedge: {}\nbudget: {}", []string{
			"a.yaml:1: version: is no key here; allowed are budgets, policies",
			"a.yaml:4: policies.p.attempt: is no key here; did you mean attempts?",
			"a.yaml:5: policies.p.backoff.jiter: is no key here; did you mean jitter?",
			"a.yaml:6: policies.p.hedge: is no key here; allowed are preset, attempts, deadline, attemptTimeout, ceiling, backoff, budget, breaker",
			"a.yaml:7: budget: is no key here; did you mean budgets?"}},
		{"wrong types", "policies:\n  p:\n    attempts: '3'\n    deadline: 30\n    ceiling: on\n    breaker: {enabled: yes}\n    budget: {fraction: much, shared: 3}", []string{
			`a.yaml:3: policies.p.attempts: "3" is not a whole number from 1`,
			"a.yaml:4: policies.p.deadline: 30 is not a duration above 0, such as 250ms, or none",
			"a.yaml:5: policies.p.ceiling: on is not a mapping with the keys enabled, multiple, quantile, minimumSamples, floor",
			"a.yaml:6: policies.p.breaker.enabled: yes is not true or false",
			"a.yaml:7: policies.p.budget.fraction: much is not a share such as 0.1 or 10%, above 0 up to 1",
			"a.yaml:7: policies.p.budget.shared: 3 is not a text; put it in quotes"}},
		{"out of range", "policies:\n  p:\n    attempts: 0\n    deadline: -1s\n    ceiling: {multiple: 1, quantile: 1}\n    budget: {fraction: 0, minimumPerSecond: -1}\nbudgets:\n  b: {fraction: 110%}", []string{
			"a.yaml:3: policies.p.attempts: 0 is not a whole number from 1",
			"a.yaml:4: policies.p.deadline: -1s is not a duration above 0, such as 250ms, or none",
			"a.yaml:5: policies.p.ceiling.multiple: 1 is not a number above 1 and below 1000000",
			"a.yaml:5: policies.p.ceiling.quantile: 1 is not a number from 0.5 up to 0.99",
			"a.yaml:6: policies.p.budget.fraction: 0 is not a share such as 0.1 or 10%, above 0 up to 1",
			"a.yaml:6: policies.p.budget.minimumPerSecond: -1 is not a number from 0 up to 100000000",
			"a.yaml:8: budgets.b.fraction: 110% is not a share such as 0.1 or 10%, above 0 up to 1"}},
		{"a duration beyond counting", "policies: {p: {deadline: 99999999h}}", []string{
			"a.yaml:1: policies.p.deadline: 99999999h is not a duration above 0, such as 250ms, or none"}},
		{"duplicate names", "policies:\n  p: {}\n  q: {}\n  p: {}\nbudgets:\n  b: {}\n  b: {}", []string{
			"a.yaml:4: policies.p: is set twice, first on line 2; keep one",
			"a.yaml:7: budgets.b: is set twice, first on line 6; keep one"}},
		{"bad names", "policies:\n  '': {}\n  ' p': {}\n  \"a\\tb\": {}\n  " + strings.Repeat("x", 65) + ": {}", []string{
			`a.yaml:2: policies: the name [""] is empty or has space around it`,
			`a.yaml:3: policies: the name [" p"] is empty or has space around it`,
			"a.yaml:4: policies: the name [\"a\ufffdb\"] holds what cannot be printed",
			`a.yaml:5: policies: the name ["` + strings.Repeat("x", 39) + `…"] is longer than 64 characters`}},
		{"names that need quotes", "policies:\n  a.b: {attempts: 0}\n  a:\n    b: 1\n  'x[\"0\"]': {breaker: {window: 1s}}", []string{
			`a.yaml:2: policies["a.b"].attempts: 0 is not a whole number from 1`,
			"a.yaml:4: policies.a.b: is no key here; allowed are preset, attempts, deadline, attemptTimeout, ceiling, backoff, budget, breaker",
			`a.yaml:5: policies["x[\"0\"]"].breaker.window: has no effect without a failureRatio; add one or remove it`}},
		{"a fault of a quoted name as a whole", "policies:\n  a: {}\n  'x[\"0\"].y':\n    breaker: {window: 1s}", []string{
			`a.yaml:4: policies["x[\"0\"].y"].breaker.window: has no effect without a failureRatio; add one or remove it`}},
		{"one key here and two together there", "policies:\n  p: {atempts: 3}\n  q: {budget: {enabled: false, fraction: 20%}}\n  'a.b': {attempts: 0}\n  'a.c': {breaker: {window: 1s}}", []string{
			"a.yaml:2: policies.p.atempts: is no key here; did you mean attempts?",
			"a.yaml:3: policies.q.budget.fraction: has no effect beside enabled: false; remove one of them",
			`a.yaml:4: policies["a.b"].attempts: 0 is not a whole number from 1`,
			`a.yaml:5: policies["a.c"].breaker.window: has no effect without a failureRatio; add one or remove it`}},
		{"budgets that cannot be read", "budgets: {b: {fraction: 0}, c: 3}\npolicies: {p: {budget: {shared: c}}}", []string{
			"a.yaml:1: budgets.b.fraction: 0 is not a share such as 0.1 or 10%, above 0 up to 1",
			"a.yaml:1: budgets.c: 3 is not a mapping with the keys fraction, minimumPerSecond"}},
		{"an unknown preset", "policies: {p: {preset: htpp}}", []string{
			"a.yaml:1: policies.p.preset: htpp is not default, http or none"}},
		{"an unknown budget", "budgets: {database: {}}\npolicies: {p: {budget: {shared: databse}}}", []string{
			`a.yaml:2: policies.p.budget.shared: "databse" is none of the budgets; did you mean database?`}},
		{"no budgets", "policies: {p: {budget: {shared: b}}}", []string{
			`a.yaml:1: policies.p.budget.shared: names "b", and the file has no budgets; add it under budgets`}},
		{"numbers beside shared", "budgets: {b: {}}\npolicies: {p: {budget: {shared: b, fraction: 10%, minimumPerSecond: 1}}}", []string{
			"a.yaml:2: policies.p.budget.fraction: has no effect beside shared; the numbers of a shared budget stand under budgets",
			"a.yaml:2: policies.p.budget.minimumPerSecond: has no effect beside shared; the numbers of a shared budget stand under budgets"}},
		{"settings of what is off", "policies:\n  p:\n    ceiling: {enabled: false, multiple: 2}\n    backoff: {measured: {enabled: false, spread: 2}}\n    budget: {enabled: false, shared: b}\nbudgets: {b: {}}", []string{
			"a.yaml:3: policies.p.ceiling.multiple: has no effect beside enabled: false; remove one of them",
			"a.yaml:4: policies.p.backoff.measured.spread: has no effect beside enabled: false; remove one of them",
			"a.yaml:5: policies.p.budget.shared: has no effect beside enabled: false; remove one of them"}},
		{"settings beside preset: none", "policies:\n  p:\n    preset: none\n    attempts: 3\n    budget: {fraction: 20%}", []string{
			"a.yaml:5: policies.p.budget.fraction: has no effect beside preset: none; add enabled: true, or remove it"}},
		{"settings of retries that there are none of", "policies:\n  p:\n    attempts: 1\n    backoff: {transient: 1s, measured: {}}\n    budget: {minimumPerSecond: 1}", []string{
			"a.yaml:4: policies.p.backoff.transient: has no effect with one attempt; raise attempts or remove it",
			"a.yaml:4: policies.p.backoff.measured: has no effect with one attempt; raise attempts or remove it",
			"a.yaml:5: policies.p.budget.minimumPerSecond: has no effect with one attempt; raise attempts or remove it"}},
		{"a breaker that nothing trips", "policies: {p: {breaker: {consecutiveFailures: none}}}", []string{
			"a.yaml:1: policies.p.breaker.consecutiveFailures: none needs a failureRatio, since nothing else trips the breaker; for no breaker write enabled: false"}},
		{"what the core finds, in every policy", "policies:\n  p: {breaker: {break: 2s, maxBreak: 1s}}\n  q:\n    ceiling: {floor: 20s}", []string{
			"a.yaml:2: policies.p.breaker.maxBreak: 1s is below break 2s",
			"a.yaml:4: policies.q.ceiling.floor: 20s is not below attemptTimeout 10s, so the ceiling can never bind"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Load(write(t, tt.text)...)
			if got := faults(t, err); s != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// goodFiles look odd and are in order all the same.
var goodFiles = map[string]string{
	"a byte order mark":        "\ufeffpolicies: {p: {}}",
	"lines that end in CR LF":  "policies:\r\n  p:\r\n    attempts: 2\r\n",
	"JSON":                     `{"policies": {"p": {"deadline": "1s", "budget": {"fraction": 0.2}}}}`,
	"a family":                 "policies:\n  p: &family {deadline: 1s, backoff: {transient: 1s}}\n  q: {<<: *family, attempts: 1}",
	"a preset within a family": "policies:\n  p: &family {budget: {fraction: 20%}}\n  q: {<<: *family, preset: none}",
	"an empty breaker":         "policies: {p: {breaker: {}}}",
	"a share that feeds":       "budgets: {odd: {}}\npolicies: {p: {attempts: 1, budget: {shared: odd}}}",
	"a budget for code alone":  "budgets: {code: {}}\npolicies: {p: {}}",
	"names of any alphabet":    "policies: {größe: {}, 支払い: {}, 'a b/c.d': {}, p: {}}",
	"on again":                 "policies: {p: {preset: none, attempts: 2, budget: {enabled: true, fraction: 20%}}}",
}

func TestGoodFiles(t *testing.T) {
	for name, text := range goodFiles {
		t.Run(name, func(t *testing.T) { executor(t, load(t, text), "p") })
	}
}

// FuzzLoad: whatever the bytes, they are refused with problems on their lines, or they
// are policies that the core takes.
func FuzzLoad(f *testing.F) {
	f.Add([]byte("policies: {p: {attempts: 2, deadline: none, budget: {shared: b}}}\nbudgets: {b: {fraction: 1e-9}}"))
	f.Add([]byte("policies:\n  p: &p {preset: http, breaker: {failureRatio: 1, window: 1s}}\n  'q[\"': {<<: *p, attempts: 1}"))
	f.Add([]byte(`{"policies": {"a.b": {"backoff": {"measured": {}, "max": "none"}, "ceiling": {"floor": "1ms"}}}}`))
	f.Add([]byte("policies: {<<: *x, p: &x {preset: none, budget: {enabled: true}}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		merged, err := parse([]source{{path: "f.yaml", text: text}, {path: "g.yaml", text: text}})
		if err != nil {
			for _, line := range faults(t, err) {
				if strings.ContainsAny(line, "\n\r\x1b") {
					t.Errorf("more than a line: %q", line)
				}
			}
			return
		}
		for name := range merged.Policies {
			if _, err := (&Loader{}).policy(name, merged); err != nil {
				t.Errorf("%q: %v", name, err)
			}
		}
	})
}
