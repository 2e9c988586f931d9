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
// told from a zero. A field may be a struct, a slice, a bool, a string, an int, a
// uint64, a float64, a [Scalar], or a pointer to one of these; a tag such as
// in:"(0,1]" or in:"[1,)" bounds a number or a duration.
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
	seen := make(map[string]int)
	for _, p := range d.pairs(path, n) {
		d.pair(path, p, v, seen)
	}
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

func (d *Document) pair(path string, p pair, v reflect.Value, seen map[string]int) {
	if p.key.Kind != yaml.ScalarNode {
		d.problem(p.key.Line, path, "has %s for a key", quote(p.key))
		return
	}
	key := p.key.Value
	at := join(path, key)
	first, twice := seen[key]
	switch {
	case twice && p.merged:
		return
	case twice:
		d.problem(p.key.Line, at, "is set twice, first on line %d; keep one", first)
		return
	}
	seen[key] = p.key.Line
	for _, f := range fields(v.Type()) {
		if Key(f.Name) == key {
			d.lines[at] = p.key.Line
			d.decode(at, p.value, v.FieldByIndex(f.Index), f.Tag.Get("in"))
			return
		}
	}
	d.problem(p.key.Line, join(path, shorten(key)), "is no key here; %s",
		Meant(key, Keys(v.Type())))
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
