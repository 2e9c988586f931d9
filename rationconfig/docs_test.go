package rationconfig

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ration-go/ration/rationconfig/strict"
)

const page = "../docs/policy-file.md"

// TestDocumentedFiles: what the page shows as YAML can be loaded, and an editor takes
// it too.
func TestDocumentedFiles(t *testing.T) {
	text, err := os.ReadFile(page)
	must(t, err)
	s := validator(t)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
	if len(blocks) < 3 {
		t.Fatal("the examples are gone")
	}
	var keys []string
	for _, b := range blocks {
		if _, err := parse([]source{{path: page, text: b[1]}}); err != nil {
			t.Errorf("%v in\n%s", err, b[1])
		}
		if err := s.Validate(instance(t, string(b[1]))); err != nil {
			t.Errorf("%v in\n%s", err, b[1])
		}
		keys = append(keys, string(b[1]))
	}
	// The first is the one to begin with: it shows each section.
	for _, key := range strict.Keys(reflect.TypeFor[Policy]()) {
		if key != "ceiling" && !strings.Contains(keys[0], " "+key+":") {
			t.Errorf("the example does not show %s", key)
		}
	}
}

// TestDocumentedKeys: the table of keys is what the structs say. Run with -update after
// a change of them.
func TestDocumentedKeys(t *testing.T) {
	text, err := os.ReadFile(page)
	must(t, err)
	const from, to = "<!-- keys -->\n", "<!-- end of keys -->\n"
	before, rest, _ := bytes.Cut(text, []byte(from))
	_, after, found := bytes.Cut(rest, []byte(to))
	if !found {
		t.Fatal("there is no place for the keys")
	}
	want := fmt.Appendf(nil, "%s%s\n%s\n%s%s", before, from, keyTable(t), to, after)
	if bytes.Equal(text, want) {
		return
	}
	if !*update {
		t.Error("the table is not what the structs say; run go test -update")
		return
	}
	must(t, os.WriteFile(page, want, 0o666))
}

func keyTable(t *testing.T) string {
	t.Helper()
	describe := comments(t)
	var b strings.Builder
	b.WriteString("| key | takes | default | what it says |\n|---|---|---|---|\n")
	rows := func(prefix string, s reflect.Type, allowed func(key string) string) {
		for key, f := range walk(prefix, s) {
			what := describe[f.owner+"."+f.Name]
			takes, fallback := "", f.Tag.Get("default")
			if !f.section {
				takes = allowed(strings.TrimPrefix(key, prefix))
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", key, takes, fallback, strings.TrimPrefix(what, strict.Key(f.Name)+" "))
		}
	}
	rows("", reflect.TypeFor[Policy](), func(key string) string { return takes(t, "policies: {p: %s}", key) })
	rows("budgets.NAME.", reflect.TypeFor[SharedBudget](), func(key string) string { return takes(t, "budgets: {b: %s}", key) })
	return b.String()
}

// A documented key is a field of one of the structs.
type documented struct {
	reflect.StructField
	owner   string
	section bool
}

// walk goes through the keys of a struct, sections before what is in them.
func walk(prefix string, s reflect.Type) func(yield func(string, documented) bool) {
	return func(yield func(string, documented) bool) {
		for i := range s.NumField() {
			f := s.Field(i)
			key := prefix + strict.Key(f.Name)
			_, isSection := sectionSwitch(reflect.New(f.Type.Elem()).Elem())
			if !yield(key, documented{f, s.Name(), isSection}) {
				return
			}
			if isSection {
				for key, f := range walk(key+".", f.Type.Elem()) {
					if !yield(key, f) {
						return
					}
				}
			}
		}
	}
}

// takes returns what a key takes, in the words in which a list in its place is refused.
func takes(t *testing.T, within, key string) string {
	t.Helper()
	value := "[]"
	parts := strings.Split(key, ".")
	for i := len(parts) - 1; i >= 0; i-- {
		value = "{" + parts[i] + ": " + value + "}"
	}
	_, err := parse([]source{{path: "f", text: fmt.Appendf(nil, within, value)}})
	_, text, found := strings.Cut(faults(t, err)[0], " a list is not ")
	if !found {
		t.Fatal(err)
	}
	return strings.TrimSuffix(text, "; put it in quotes")
}

// TestReadmeModules: the modules that README.md names are those that go.mod requires.
func TestReadmeModules(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	must(t, err)
	manifest, err := os.ReadFile("go.mod")
	must(t, err)
	_, list, _ := strings.Cut(string(readme), "own lines:\n\n```\n")
	list, _, _ = strings.Cut(list, "```")
	var required []string
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v`).FindAllSubmatch(manifest, -1) {
		required = append(required, string(m[1]))
	}
	slices.Sort(required)
	if got := strings.Fields(list); !slices.Equal(got, required) {
		t.Errorf("README.md lists %q, go.mod %q", got, required)
	}
}
