package strict

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// A thing has one field of each kind.
type thing struct {
	Name     *string
	Count    *int     `in:"[1,)"`
	Ratio    *float64 `in:"(0,1]"`
	Seed     *uint64  `in:"[0,1e19]"`
	On       *bool
	Share    *Share    `in:"[0,1]"`
	For      *Duration `in:"(0,)"`
	Deadline *Limit
	Part     *part
	Parts    []part
}

type part struct {
	DeepKey *int
	Any     *float64
}

func decodeThing(name, text string) (thing, error) {
	var v thing
	d, err := Read(name, strings.NewReader(text))
	if err != nil {
		return v, err
	}
	d.Decode(&v)
	return v, d.Err()
}

func ptr[T any](v T) *T { return &v }

func TestDecode(t *testing.T) {
	whole := thing{
		Name: ptr("x y"), Count: ptr(3), Ratio: ptr(0.5), Seed: ptr(uint64(1 << 63)), On: ptr(true),
		Share: ptr(Share(0.1)), For: ptr(Duration(90 * time.Second)),
		Deadline: &Limit{None: true}, Part: &part{DeepKey: ptr(-4)},
		Parts: []part{{Any: ptr(-2.5e3)}, {}},
	}
	tests := []struct {
		name, file, text string
		want             thing
	}{
		{"YAML", "a.yaml", `
# A comment.
name: x y
count: 3
ratio: .5
seed: 9223372036854775808
on: true
share: 10%
for: 1m30s
deadline: none
part: {deepKey: -4}
parts:
  - any: -2.5e3
  - {}
`, whole},
		{"JSON", "a.json", "{\"name\": \"x y\", \"count\": 3, \"ratio\": 5e-1,\n" +
			"\t\"seed\": 9223372036854775808, \"on\": true, \"share\": \"10 %\", \"for\": \"90s\",\n" +
			"\t\"deadline\": \"none\", \"part\": {\"deepKey\": -4}, \"parts\": [{\"any\": -2500}, {}]}\n",
			whole},
		{"JSON by another name", "-", `{"name": "\ud83d\ude00 \/"}`, thing{Name: ptr("😀 /")}},
		{"YAML that looks like JSON", "-", "{name: x, # why\n share: 0.25,}", thing{Name: ptr("x"),
			Share: ptr(Share(0.25))}},
		{"byte order mark", "a.json", "\ufeff{}", thing{}},
		{"carriage returns", "a.yaml", "name: x\r\ncount: 2\r\n", thing{Name: ptr("x"), Count: ptr(2)}},
		{"document markers", "a.yaml", "---\nname: x\n...\n", thing{Name: ptr("x")}},
		{"alias", "a.yaml", "part: &p {deepKey: 1}\nparts: [*p, {any: 2}]\n",
			thing{Part: &part{DeepKey: ptr(1)}, Parts: []part{{DeepKey: ptr(1)}, {Any: ptr(2.0)}}}},
		{"merge", "a.yaml", "parts:\n- &p {deepKey: 1, any: 1}\n- <<: *p\n  any: 2\n",
			thing{Parts: []part{{ptr(1), ptr(1.0)}, {ptr(1), ptr(2.0)}}}},
		{"merge after", "a.yaml", "parts:\n- &p {deepKey: 1, any: 1}\n- any: 2\n  <<: *p\n",
			thing{Parts: []part{{ptr(1), ptr(1.0)}, {ptr(1), ptr(2.0)}}}},
		{"folded text", "a.yaml", "name: >-\n  x\n  y\n", thing{Name: ptr("x y")}},
		{"quoted number for a text", "a.yaml", "name: '3'\n", thing{Name: ptr("3")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := decodeThing(tt.file, tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// TestSilence: what a file does not say stays nil.
func TestSilence(t *testing.T) {
	got, err := decodeThing("a.yaml", "part: {}\n")
	if err != nil || !reflect.DeepEqual(got, thing{Part: &part{}}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestProblems(t *testing.T) {
	const keys = "name, count, ratio, seed, on, share, for, deadline, part, parts"
	tests := []struct {
		name, file, text string
		want             []string
	}{
		{"empty", "a.yaml", "", []string{"a.yaml:1: is empty"}},
		{"blank", "a.yaml", " \n\t\n", []string{"a.yaml:1: is empty"}},
		{"empty JSON", "a.json", "\n", []string{"a.json:1: is empty"}},
		{"only a comment", "a.yaml", "# x\n", []string{"a.yaml:1: is empty but for comments"}},
		{"only a marker", "a.yaml", "---\n", []string{"a.yaml:1: is empty"}},
		{"huge", "a.yaml", "name: " + strings.Repeat("x", MaxSize), []string{
			"a.yaml: is larger than 1024 KiB, which no such file should be"}},
		{"Latin-1", "a.yaml", "count: 1\nname: Gr\xfc\xdfe\n", []string{
			"a.yaml:2: is not UTF-8; save it in that encoding"}},
		{"UTF-16", "a.yaml", "\xff\xfen\x00", []string{
			"a.yaml:1: is not UTF-8; save it in that encoding"}},
		{"binary", "a.yaml", "name: x\n\x00\x01", []string{
			"a.yaml:2: holds the control character U+0000; this takes text only"}},
		{"escape sequence", "a.yaml", "name: \x1b[2J\n", []string{
			"a.yaml:1: holds the control character U+001B; this takes text only"}},

		{"tab", "a.yaml", "part:\n\tdeepKey: 1\n", []string{
			"a.yaml:2: is indented with a tab; YAML takes only spaces"}},
		{"tab below", "a.yaml", "name: x\npart:\n  any: 1\n\tdeepKey: 1\n", []string{
			"a.yaml:4: is indented with a tab; YAML takes only spaces"}},
		{"tab in a list", "a.yaml", "parts:\n  - {}\n\t- {}\n", []string{
			"a.yaml:3: is indented with a tab; YAML takes only spaces"}},
		{"open quote", "a.yaml", "count: 1\nname: \"x\n", []string{
			"a.yaml:2: is not YAML: found unexpected end of stream"}},
		{"two colons", "a.yaml", "name: a: b\n", []string{
			"a.yaml:1: is not YAML: mapping values are not allowed in this context"}},
		{"indentation", "a.yaml", "count: 1\n name: x\n", []string{
			"a.yaml:2: is not YAML: mapping values are not allowed in this context"}},
		{"stray brace", "a.yaml", "count: 1\n\n\nname: }\n", []string{
			"a.yaml:4: is not YAML: did not find expected node content"}},
		{"list then key", "a.yaml", "- a\nname: x\n", []string{
			"a.yaml:2: is not YAML: did not find expected '-' indicator"}},
		{"no such anchor", "a.yaml", "count: 1\npart: *p\n", []string{
			"a.yaml:2: is not YAML: unknown anchor 'p' referenced"}},
		{"second document", "a.yaml", "count: 1\n---\n\ncount: 2\n", []string{
			"a.yaml:4: holds a second document; keep one"}},
		{"rubbish after YAML", "a.yaml", "{count: 1}\nx\n", []string{
			"a.yaml:2: is not YAML: did not find expected <document start>"}},

		{"JSON comma", "a.json", "{\n  \"count\": 1\n  \"name\": \"x\"\n}", []string{
			"a.json:3: is not JSON: invalid character '\"' after object key:value pair"}},
		{"JSON comment", "a.json", "{\n  // why\n}", []string{
			"a.json:2: is not JSON: invalid character '/'"}},
		{"JSON end", "a.json", "{\n \"part\": {\n\n", []string{
			"a.json:2: is not JSON: it ends in the middle"}},
		{"JSON in a string", "a.json", "{\n \"na\tme\": 1}\n", []string{
			"a.json:2: is not JSON: invalid character '\\t' in string literal"}},
		{"more after JSON", "a.json", "{}\n\n{}\n", []string{
			"a.json:3: is not JSON: more follows the end of the document; remove it"}},
		{"JSON depth", "a.json", strings.Repeat("[", 1000), []string{
			"a.json:1: is not JSON: it nests too deep"}},
		{"not JSON at all", "a.json", "name: x\n", []string{
			"a.json:1: is not JSON: invalid character 'a' in literal null (expecting 'u')"}},

		{"top is a list", "a.yaml", "- 1\n", []string{
			"a.yaml:1: a list is not a mapping with the keys " + keys}},
		{"top is a text", "a.yaml", "hello\n", []string{
			"a.yaml:1: hello is not a mapping with the keys " + keys}},
		{"unknown key", "a.yaml", "count: 1\nnome: x\n", []string{
			"a.yaml:2: nome: is no key here; did you mean name?"}},
		{"unknown key far from all", "a.yaml", "part: {frobnicate: 1}\n", []string{
			"a.yaml:1: part.frobnicate: is no key here; allowed are deepKey, any"}},
		{"spelled as elsewhere", "a.yaml", "part: {deep_key: 1}\nparts: [{}, {DEEPKEY: 1}]\n", []string{
			"a.yaml:1: part.deep_key: is no key here; did you mean deepKey?",
			"a.yaml:2: parts[1].DEEPKEY: is no key here; did you mean deepKey?"}},
		{"long unknown key", "a.yaml", strings.Repeat("x", 500) + ": 1\n", []string{
			"a.yaml:1: " + strings.Repeat("x", 39) + "…: is no key here; allowed are " + keys}},
		{"key twice", "a.yaml", "count: 1\nname: x\ncount: 2\n", []string{
			"a.yaml:3: count: is set twice, first on line 1; keep one"}},
		{"key twice in JSON", "a.json", "{\"count\": 1,\n\"count\": 2}", []string{
			"a.json:2: count: is set twice, first on line 1; keep one"}},
		{"unknown key twice", "a.yaml", "x: 1\nx: 1\n", []string{
			"a.yaml:1: x: is no key here; allowed are " + keys,
			"a.yaml:2: x: is set twice, first on line 1; keep one"}},
		{"list for a key", "a.yaml", "? [a]\n: b\n", []string{"a.yaml:1: has a list for a key"}},
		{"tag", "a.yaml", "count: !!int 3\n", []string{
			"a.yaml:1: count: has the tag !!int; tags are not for this file"}},
		{"merge of a list", "a.yaml", "parts: [&p {any: 1}, {<<: [*p]}]\n", []string{
			"a.yaml:1: parts[1].<<: merges something else than one mapping, as in *name"}},
		{"merge of a merge", "a.yaml", "parts:\n- &p {any: 1}\n- &q {<<: *p}\n- <<: *q\n", []string{
			"a.yaml:4: parts[2].<<: merges a mapping that itself merges one"}},

		{"all at once, in order", "a.yaml", "parts:\n  - any: x\nratio: 0\ncount: no\n", []string{
			"a.yaml:2: parts[0].any: x is not a number",
			"a.yaml:3: ratio: 0 is not a number above 0 up to 1",
			"a.yaml:4: count: no is not a whole number from 1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := decodeThing(tt.file, tt.text)
			if got := problems(t, err); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

func TestValues(t *testing.T) {
	const (
		noCount    = " is not a whole number from 1"
		noRatio    = " is not a number above 0 up to 1"
		noSeed     = " is not a whole number from 0 up to 10000000000000000000"
		noShare    = " is not a share such as 0.1 or 10%, from 0 up to 1"
		noDuration = " is not a duration such as 250ms, above 0"
		noLimit    = " is not a duration above 0, such as 250ms, or none"
		noText     = " is not a text; put it in quotes"
		noValue    = "has no value; give it one or remove the key"
	)
	tests := []struct{ key, value, want string }{
		{"count", "0", "0" + noCount},
		{"count", "-1", "-1" + noCount},
		{"count", "1.5", "1.5" + noCount},
		{"count", "1e3", "1e3" + noCount},
		{"count", "0x10", "0x10" + noCount},
		{"count", "1_000", "1_000" + noCount},
		{"count", "99999999999999999999", "99999999999999999999" + noCount},
		{"count", `"3"`, `"3"` + noCount},
		{"count", "three or so", `"three or so"` + noCount},
		{"count", "[3]", "a list" + noCount},
		{"count", "{a: 3}", "a mapping" + noCount},
		{"count", "~", noValue},
		{"count", "null", noValue},
		{"count", "", noValue},
		{"ratio", ".nan", ".nan" + noRatio},
		{"ratio", "NaN", "NaN" + noRatio},
		{"ratio", ".inf", ".inf" + noRatio},
		{"ratio", "Infinity", "Infinity" + noRatio},
		{"ratio", "1e999", "1e999" + noRatio},
		{"ratio", "1.0000001", "1.0000001" + noRatio},
		{"ratio", "0x1p-2", "0x1p-2" + noRatio},
		{"ratio", "'0.5'", `"0.5"` + noRatio},
		{"ratio", "50%", "50%" + noRatio},
		{"seed", "-1", "-1" + noSeed},
		{"seed", "18446744073709551616", "18446744073709551616" + noSeed},
		{"on", "yes", "yes is not true or false"},
		{"on", "1", "1 is not true or false"},
		{"on", "True", "True is not true or false"},
		{"on", `"true"`, `"true" is not true or false`},
		{"share", "101%", "101%" + noShare},
		{"share", "-0.1", "-0.1" + noShare},
		{"share", "10 percent", `"10 percent"` + noShare},
		{"share", "NaN%", "NaN%" + noShare},
		{"share", "'%'", `"%"` + noShare},
		{"for", "0", "0" + noDuration},
		{"for", "30", "30" + noDuration},
		{"for", "0s", "0s" + noDuration},
		{"for", "-5s", "-5s" + noDuration},
		{"for", "5 s", `"5 s"` + noDuration},
		{"for", "5d", "5d" + noDuration},
		{"for", "9999999h", "9999999h" + noDuration},
		{"for", "none", "none" + noDuration},
		{"deadline", "0s", "0s" + noLimit},
		{"deadline", "None", "None" + noLimit},
		{"deadline", "-1", "-1" + noLimit},
		{"name", "3", "3" + noText},
		{"name", "true", "true" + noText},
		{"name", "[x]", "a list" + noText},
		{"part", "3", "3 is not a mapping with the keys deepKey, any"},
		{"parts", "{}", "a mapping is not a list"},
		{"parts", "x", "x is not a list"},
	}
	for _, tt := range tests {
		t.Run(tt.key+" "+tt.value, func(t *testing.T) {
			_, err := decodeThing("f", "\n"+tt.key+": "+tt.value+"\n")
			if got, want := problems(t, err), []string{"f:2: " + tt.key + ": " + tt.want}; !reflect.DeepEqual(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// TestProblemPath: a fault in what is not there is on the line of what is.
func TestProblemPath(t *testing.T) {
	d, err := Read("f", strings.NewReader("name: x\nparts:\n- {}\n- any: 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	var v thing
	d.Decode(&v)
	d.Problem("count", "is missing")
	d.Problem("parts[1].any", "is %d", 1)
	d.Problem("parts[1].deepKey.x[3]", "is missing")
	want := []string{
		"f:1: count: is missing",
		"f:4: parts[1].any: is 1",
		"f:4: parts[1].deepKey.x[3]: is missing",
	}
	if got := problems(t, d.Err()); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := d.Err().Error(), want[0]+" (and 2 more)"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
}

// TestFieldProblem: what our packages say about fields is told about keys.
func TestFieldProblem(t *testing.T) {
	tests := []struct{ text, want string }{
		{"Attempts -1 is negative; 0 means the default", "f:1: x.attempts: -1 is negative"},
		{"Ceiling.Floor 50ms is not below AttemptTimeout 40ms", "f:1: x.ceiling.floor: 50ms is not below attemptTimeout 40ms"},
		{"Breaker.Break 1s; use NoBreaker", "f:1: x.breaker.break: 1s; use enabled: false"},
		{"Deadline -2ns is negative; NoLimit is none", "f:1: x.deadline: -2ns is negative; none is none"},
		{"Dependency.Brownouts[2].Slower 0 is below P50", "f:1: x.dependency.brownouts[2].slower: 0 is below p50"},
	}
	for _, tt := range tests {
		d, err := Read("f", strings.NewReader("x: {}"))
		if err != nil {
			t.Fatal(err)
		}
		d.FieldProblem("x", tt.text)
		if got := d.Err().Error(); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

// TestNeed: a key is missing when it is not there, but not when it is wrong, and not
// from what is itself wrong.
func TestNeed(t *testing.T) {
	d, err := Read("f", strings.NewReader("name: [x]\npart: {any: }\nparts:\n- 3\n- {}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var v thing
	d.Decode(&v)
	for _, path := range []string{"name", "part.any", "part.deepKey", "parts[0].any", "parts[1].any", "count"} {
		d.Need(path, "add it")
	}
	want := []string{
		"f:1: name: a list is not a text; put it in quotes",
		"f:1: count: is missing; add it",
		"f:2: part.any: has no value; give it one or remove the key",
		"f:2: part.deepKey: is missing; add it",
		"f:4: parts[0]: 3 is not a mapping with the keys deepKey, any",
		"f:5: parts[1].any: is missing; add it",
	}
	if got := problems(t, d.Err()); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestReadError(t *testing.T) {
	broken := errors.New("broken")
	if _, err := Read("f", iotest.ErrReader(broken)); err != broken {
		t.Errorf("got %v", err)
	}
}

func TestMeant(t *testing.T) {
	allowed := []string{"attempts", "attemptTimeout", "budget"}
	for word, want := range map[string]string{
		"atempts":            "did you mean attempts?",
		"attempt-timeout":    "did you mean attemptTimeout?",
		"Budgets":            "did you mean budget?",
		"bugdet":             "did you mean budget?",
		"bud":                "allowed are attempts, attemptTimeout, budget",
		"":                   "allowed are attempts, attemptTimeout, budget",
		"retries":            "allowed are attempts, attemptTimeout, budget",
		"attemptsattempts12": "allowed are attempts, attemptTimeout, budget",
	} {
		if got := Meant(word, allowed); got != want {
			t.Errorf("Meant(%q) = %q, want %q", word, got, want)
		}
	}
}

// FuzzRead: whatever the file, there is no panic, and a fault has a line within the
// file and text that fits on one.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"name: x\ncount: 1\nparts:\n- &p {any: 1}\n- <<: *p\n", `{"name": "x", "parts": [{}]}`,
		"a: *b", "? [x]\n: y", "--- !!map\na: |\n\tb", "{\"a\": \"\\ud800\"}", "[[[[", "%YAML 1.2\n---",
	} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, text string, isJSON bool) {
		name := "f.yaml"
		if isJSON {
			name = "f.json"
		}
		_, err := decodeThing(name, text)
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("%T: %v", err, err)
		}
		for i := range problems(t, err) {
			if line := e.Problems[i].Line; line < 0 || line > 1+strings.Count(text, "\n")+strings.Count(text, "\r") {
				t.Errorf("line %d of %q", line, text)
			}
			if strings.ContainsAny(e.Problems[i].String(), "\n\r\x1b") {
				t.Errorf("more than a line: %q", e.Problems[i].String())
			}
		}
	})
}

func problems(t *testing.T, err error) (lines []string) {
	t.Helper()
	var e *Error
	if err == nil {
		return nil
	}
	if !errors.As(err, &e) {
		t.Fatalf("%T: %v", err, err)
	}
	for i := range e.Problems {
		lines = append(lines, e.Problems[i].String())
	}
	return lines
}
