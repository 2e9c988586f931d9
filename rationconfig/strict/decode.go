package strict

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Decode fills the struct that v points to. A key is the name of a field with a
// small first letter; the fields of an embedded struct count as its own. What is
// wrong becomes a problem of the document, and the rest is decoded all the same.
//
// Pointers and slices stay nil where the file says nothing, so that silence can be
// told from a zero. A field may be a struct, a slice, a map from names to one of
// these, a bool, a string, an int, a uint64, a float64, a [Scalar], or a pointer to
// one of these; a tag such as in:"(0,1]" or in:"[1,)" bounds a number or a duration.
func (d *Document) Decode(v any) {
	d.decode("", d.root, reflect.ValueOf(v).Elem(), "")
}

// Keys returns the keys that Decode knows in a struct.
func Keys(t reflect.Type) (keys []string) {
	for _, f := range fields(t) {
		keys = append(keys, Key(f.Name))
	}
	return keys
}

func fields(t reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool {
		return f.Anonymous
	})
}

func (d *Document) decode(path string, n *yaml.Node, v reflect.Value, within string) {
	n = d.resolve(path, n)
	if n == nil {
		return
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	_, isScalar := v.Addr().Interface().(Scalar)
	switch {
	case !isScalar && v.Kind() == reflect.Struct:
		d.mapping(path, n, v)
	case !isScalar && v.Kind() == reflect.Slice:
		d.list(path, n, v, within)
	case !isScalar && v.Kind() == reflect.Map:
		d.names(path, n, v, within)
	default:
		d.scalar(path, n, v, within)
	}
}

// resolve follows an alias, and refuses what has no value to offer.
func (d *Document) resolve(path string, n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case n.Style&yaml.TaggedStyle != 0:
		d.problem(n.Line, path, "has the tag %s; tags are not for this file", n.Tag)
		return nil
	case n.ShortTag() == "!!null":
		d.problem(n.Line, path, "has no value; give it one or remove the key")
		return nil
	}
	return n
}

func (d *Document) mapping(path string, n *yaml.Node, v reflect.Value) {
	if n.Kind != yaml.MappingNode {
		d.problem(n.Line, path, "%s is not a mapping with the keys %s",
			quote(n), strings.Join(Keys(v.Type()), ", "))
		return
	}
	d.eachPair(path, n, join, func(key, at string, p pair) {
		for _, f := range fields(v.Type()) {
			if Key(f.Name) == key {
				d.found(at, p)
				d.decode(at, p.value, v.FieldByIndex(f.Index), f.Tag.Get("in"))
				return
			}
		}
		d.problem(p.key.Line, join(path, shorten(key)), "is no key here; %s",
			Meant(key, Keys(v.Type())))
	})
}

// names reads a mapping whose keys are the user's own.
func (d *Document) names(path string, n *yaml.Node, v reflect.Value, within string) {
	if n.Kind != yaml.MappingNode {
		d.problem(n.Line, path, "%s is not a mapping from names to what they stand for", quote(n))
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	d.eachPair(path, n, Named, func(name, at string, p pair) {
		if fault := badName(name); fault != "" {
			d.problem(p.key.Line, path, "the name %s %s", Named("", shorten(name)), fault)
			return
		}
		d.found(at, p)
		value := reflect.New(v.Type().Elem()).Elem()
		if d.decode(at, p.value, value, within); value.IsZero() {
			return // a fault that has been reported
		}
		v.SetMapIndex(reflect.ValueOf(name), value)
	})
}

// badName says what is wrong with a name: it will head a column, label a metric and
// stand in a log, and must not write to the terminal of whoever reads that.
func badName(name string) string {
	const most = 64
	switch {
	case strings.TrimSpace(name) != name || name == "":
		return "is empty or has space around it"
	case len([]rune(name)) > most:
		return fmt.Sprintf("is longer than %d characters", most)
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "holds what cannot be printed"
	}
	return ""
}

// A pair is a key of a mapping and its value.
type pair struct {
	key, value *yaml.Node
	merged     bool
}

// pairs returns a mapping's own pairs and then those it merges from an alias, which
// give way to its own. One level of merging serves a family of policies; without a
// limit, a small file could merge itself into a large one.
func (d *Document) pairs(path string, n *yaml.Node) (own []pair) {
	var merged []pair
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.ShortTag() != "!!merge" {
			own = append(own, pair{key, value, false})
			continue
		}
		if value.Kind != yaml.AliasNode || value.Alias.Kind != yaml.MappingNode {
			d.problem(key.Line, join(path, "<<"), "merges something else than one mapping, as in *name")
			continue
		}
		from := value.Alias.Content
		for j := 0; j+1 < len(from); j += 2 {
			if from[j].ShortTag() == "!!merge" {
				d.problem(key.Line, join(path, "<<"), "merges a mapping that itself merges one")
				continue
			}
			merged = append(merged, pair{from[j], from[j+1], true})
		}
	}
	return append(own, merged...)
}

// eachPair hands on the pairs of a mapping, each key once. The path of a key is up to
// the caller.
func (d *Document) eachPair(
	path string, n *yaml.Node, child func(path, key string) string,
	do func(key, at string, p pair),
) {
	seen := make(map[string]int)
	for _, p := range d.pairs(path, n) {
		if p.key.Kind != yaml.ScalarNode {
			d.problem(p.key.Line, path, "has %s for a key", quote(p.key))
			continue
		}
		key := p.key.Value
		first, twice := seen[key]
		switch {
		case twice && p.merged:
		case twice:
			d.problem(p.key.Line, child(path, shorten(key)),
				"is set twice, first on line %d; keep one", first)
		default:
			seen[key] = p.key.Line
			do(key, child(path, key), p)
		}
	}
}

// found remembers where the key at a path is, and whether it is there only because
// something else was merged.
func (d *Document) found(at string, p pair) {
	d.lines[at] = p.key.Line
	d.merged[at] = p.merged || d.merged[parent(at)]
}

func (d *Document) list(path string, n *yaml.Node, v reflect.Value, within string) {
	if n.Kind != yaml.SequenceNode {
		d.problem(n.Line, path, "%s is not a list", quote(n))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		at := At(path, i)
		d.lines[at] = item.Line
		d.decode(at, item, v.Index(i), within)
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// quote shows a value in a message.
func quote(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	if quoted(n) || n.Value == "" || strings.ContainsAny(n.Value, " \t\n") {
		return fmt.Sprintf("%q", shorten(n.Value))
	}
	return shorten(n.Value)
}

func quoted(n *yaml.Node) bool {
	return n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|
		yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

// shorten keeps a message on one line of a terminal, whatever it quotes.
func shorten(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\ufffd'
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > 40 {
		return string(runes[:39]) + "…"
	}
	return text
}
