package rationconfig

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationconfig/strict"
)

var update = flag.Bool("update", false, "write schema.json")

// TestSchema: schema.json says what the structs say. Run with -update after a change
// of them.
func TestSchema(t *testing.T) {
	want := schema(t)
	if *update {
		must(t, os.WriteFile("schema.json", want, 0o666))
	}
	got, err := os.ReadFile("schema.json")
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Error("schema.json is not what the structs say; run go test -update")
	}
}

// An object is one JSON object, with its keys in the order of their names.
type object = map[string]any

// schema generates the schema of a file.
func schema(t *testing.T) []byte {
	t.Helper()
	root := section(t, reflect.TypeFor[file](), comments(t))
	// The draft that editors know best.
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["title"] = "A file of policies"
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	must(t, e.Encode(root))
	return text.Bytes()
}

func section(t *testing.T, s reflect.Type, describe map[string]string) object {
	properties := object{}
	for i := range s.NumField() {
		f := s.Field(i)
		at := s.Name() + "." + f.Name
		property := field(t, f, describe)
		if property["description"] = describe[at]; describe[at] == "" || strings.Contains(describe[at], "[") {
			t.Errorf("%s has no comment that a file's author could read", at)
		}
		properties[strict.Key(f.Name)] = property
	}
	return object{"type": "object", "additionalProperties": false, "properties": properties}
}

func field(t *testing.T, f reflect.StructField, describe map[string]string) object {
	if f.Type.Kind() == reflect.Map {
		return object{
			"type":                 "object",
			"propertyNames":        object{"minLength": 1, "maxLength": 64},
			"additionalProperties": section(t, f.Type.Elem().Elem(), describe),
		}
	}
	s := scalar(t, f.Type.Elem(), f.Tag.Get("in"))
	if s == nil {
		s = section(t, f.Type.Elem(), describe)
	}
	if text, ok := f.Tag.Lookup("default"); ok {
		s["default"] = text
		var value any
		if json.Unmarshal([]byte(text), &value) == nil {
			s["default"] = value
		}
	}
	return s
}

const duration = `([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)`

// scalar returns the schema of a type that is no section, and nil for one that is.
func scalar(t *testing.T, typ reflect.Type, within string) object {
	switch typ {
	case reflect.TypeFor[strict.Duration]():
		return object{"type": "string", "pattern": "^(" + duration + ")+$"}
	case reflect.TypeFor[strict.Limit]():
		return object{"type": "string", "pattern": "^(none|(" + duration + ")+)$"}
	case reflect.TypeFor[strict.Share]():
		return object{"anyOf": []any{bounded("number", within), object{"type": "string", "pattern": "^[0-9.eE+-]+ *%?$"}}}
	case reflect.TypeFor[Trip]():
		return object{"anyOf": []any{object{"type": "integer", "minimum": 1}, object{"const": "none"}}}
	case reflect.TypeFor[Jitter]():
		return object{"enum": []any{"full", "equal", "none"}}
	case reflect.TypeFor[Preset]():
		return object{"enum": []any{PresetDefault, PresetHTTP, PresetNone}}
	}
	switch typ.Kind() {
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int:
		return bounded("integer", within)
	case reflect.Float64:
		return bounded("number", within)
	case reflect.String:
		return object{"type": "string"}
	case reflect.Struct:
		return nil
	}
	t.Fatalf("no schema for a %v", typ)
	return nil
}

// bounded reads a tag such as (0,1].
func bounded(kind, within string) object {
	low, high, _ := strings.Cut(within[1:len(within)-1], ",")
	number := object{"type": kind, map[byte]string{'(': "exclusiveMinimum", '[': "minimum"}[within[0]]: json.Number(low)}
	if high != "" {
		number[map[byte]string{')': "exclusiveMaximum", ']': "maximum"}[within[len(within)-1]]] = json.Number(high)
	}
	return number
}

// comments returns what the package says about the fields of its structs. It is written
// for the authors of files, so that there is one text and not two.
func comments(t *testing.T) map[string]string {
	t.Helper()
	found := make(map[string]string)
	for _, name := range []string{"file.go", "policy.go"} {
		tree, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		must(t, err)
		ast.Inspect(tree, func(n ast.Node) bool {
			spec, isType := n.(*ast.TypeSpec)
			if !isType {
				return true
			}
			s, isStruct := spec.Type.(*ast.StructType)
			if !isStruct {
				return true
			}
			for _, f := range s.Fields.List {
				for _, name := range f.Names {
					text := strings.Join(strings.Fields(f.Doc.Text()), " ")
					found[spec.Name.Name+"."+name.Name] = strings.Replace(text, name.Name, strict.Key(name.Name), 1)
				}
			}
			return true
		})
	}
	return found
}

// TestDefaults: what the tags say of defaults is what the core has.
func TestDefaults(t *testing.T) {
	sections := map[string]any{}
	var fill func(s reflect.Type, into map[string]any)
	fill = func(s reflect.Type, into map[string]any) {
		for i := range s.NumField() {
			f := s.Field(i)
			if _, isSection := sectionSwitch(reflect.New(f.Type.Elem()).Elem()); isSection {
				inner := map[string]any{}
				fill(f.Type.Elem(), inner)
				into[strict.Key(f.Name)] = inner
			} else if text, ok := f.Tag.Lookup("default"); ok {
				into[strict.Key(f.Name)] = &yaml.Node{Kind: yaml.ScalarNode, Value: text}
			} else if f.Name != "Shared" {
				t.Errorf("%s has no default", f.Name)
			}
		}
	}
	fill(reflect.TypeFor[Policy](), sections)
	// These belong to a ratio, which is off.
	breaker := sections["breaker"].(map[string]any)
	delete(breaker, "window")
	delete(breaker, "minimumCalls")
	text, err := yaml.Marshal(map[string]any{"policies": map[string]any{"p": sections}})
	must(t, err)
	got := executor(t, load(t, string(text)), "p")
	want := ration.MustNew(ration.Policy{Name: "p", Breaker: &ration.BreakerSettings{},
		Backoff: ration.Backoff{Measured: &ration.MeasuredBase{}}})
	if got.Explain() != want.Explain() {
		t.Errorf("got\n%s\nwant\n%s", got.Explain(), want.Explain())
	}
	g, w := got.Policy(), want.Policy()
	if !reflect.DeepEqual(g.Ceiling, w.Ceiling) || !reflect.DeepEqual(g.Backoff, w.Backoff) {
		t.Errorf("got %+v\nwant %+v", g, w)
	}
}

// validator returns schema.json as editors use it.
func validator(t *testing.T) *jsonschema.Schema {
	t.Helper()
	f, err := os.Open("schema.json")
	must(t, err)
	defer f.Close()
	document, err := jsonschema.UnmarshalJSON(f)
	must(t, err)
	c := jsonschema.NewCompiler()
	must(t, c.AddResource("schema.json", document))
	s, err := c.Compile("schema.json")
	must(t, err)
	return s
}

// instance returns YAML as a validator sees it.
func instance(t *testing.T, text string) any {
	t.Helper()
	var value any
	must(t, yaml.Unmarshal([]byte(strings.TrimPrefix(text, "\ufeff")), &value))
	asJSON, err := json.Marshal(value)
	must(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	must(t, err)
	return document
}

// TestSchemaTakes: an editor finds no fault with what can be loaded.
func TestSchemaTakes(t *testing.T) {
	s := validator(t)
	for name, text := range goodFiles {
		if err := s.Validate(instance(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for key, tt := range fieldTests {
		for _, setting := range []string{tt.old, tt.new} {
			if err := s.Validate(instance(t, tt.file(setting))); err != nil {
				t.Errorf("%s: %v", key, err)
			}
		}
	}
}

// TestSchemaRefuses: an editor sees what one key says wrong.
func TestSchemaRefuses(t *testing.T) {
	s := validator(t)
	for _, text := range []string{
		"[]",
		"version: 1",
		"policies: []",
		"policies: {p: null}",
		"policies: {'': {}}",
		"policies: {p: {attempt: 3}}",
		"policies: {p: {attempts: 0}}",
		"policies: {p: {attempts: '3'}}",
		"policies: {p: {attempts: 1.5}}",
		"policies: {p: {preset: htpp}}",
		"policies: {p: {deadline: 30}}",
		"policies: {p: {deadline: -1s}}",
		"policies: {p: {deadline: off}}",
		"policies: {p: {ceiling: {multiple: 1}}}",
		"policies: {p: {ceiling: {quantile: 0.995}}}",
		"policies: {p: {ceiling: {floor: none}}}",
		"policies: {p: {backoff: {jitter: half}}}",
		"policies: {p: {backoff: {measured: {spread: 1}}}}",
		"policies: {p: {budget: {fraction: 1.1}}}",
		"policies: {p: {budget: {fraction: much}}}",
		"policies: {p: {budget: {shared: 3}}}",
		"policies: {p: {breaker: {enabled: 'true'}}}",
		"policies: {p: {breaker: {consecutiveFailures: 0}}}",
		"budgets: {b: {shared: c}}",
	} {
		if s.Validate(instance(t, text)) == nil {
			t.Errorf("takes %s", text)
		}
	}
}
