// Package strict reads YAML and JSON that people write by hand, and lets nothing
// pass in silence: unknown keys, duplicate keys, wrong types, numbers out of range
// and what follows the document are all reported, together, each with its line, its
// key and what is allowed instead.
//
// The yaml package's own decoder could be told to refuse unknown keys, but it stops
// at types, drops the second of two equal keys in its own way, and says neither
// which key was meant nor what a value should look like.
package strict

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// MaxSize is how many bytes a file may have. It is far above what anyone writes by
// hand, and small enough that reading a wrong file by mistake costs nothing.
const MaxSize = 1 << 20

// A Problem is one fault of a file. It is a value.
type Problem struct {
	File string
	Line int    // from 1; 0 when the fault is not on a line
	Key  string // such as policies[1].budget.fraction; empty for the file as a whole
	Text string // what is wrong, and what is allowed
}

// String returns the problem on one line, in the form FILE:LINE: key: text, which
// editors jump to.
func (p Problem) String() string {
	text := p.File
	if p.Line > 0 {
		text += fmt.Sprintf(":%d", p.Line)
	}
	if p.Key != "" {
		text += ": " + p.Key
	}
	return text + ": " + p.Text
}

// An Error is everything that is wrong with one file or several that belong
// together, each in the order of its lines. It is not modified after it is returned,
// and is safe for concurrent use.
type Error struct {
	// Problems are at least one.
	Problems []Problem
}

// Error returns the first problem, and how many there are besides, on one line.
func (e *Error) Error() string {
	text := e.Problems[0].String()
	if n := len(e.Problems) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}

// A Document is one file, and what has been found wrong with it so far. It belongs
// to one goroutine.
type Document struct {
	file     string
	root     *yaml.Node
	lines    map[string]int  // by path
	merged   map[string]bool // paths that an alias brought in
	wrong    map[string]bool // paths with a problem
	unsound  map[string]bool // those, and all above them
	problems []Problem
}

// Read reads one document, called file in messages. Text that is no YAML or JSON,
// or none at all, is an [*Error]; an error of r is returned as it is.
func Read(file string, r io.Reader) (*Document, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return nil, err
	}
	d := &Document{
		file:    file,
		lines:   make(map[string]int),
		merged:  make(map[string]bool),
		wrong:   make(map[string]bool),
		unsound: make(map[string]bool),
	}
	if p := unreadable(text); p != nil {
		return nil, d.unreadable(p)
	}
	// A byte order mark says nothing about UTF-8.
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	var p *Problem
	if d.root, p = parse(text, filepath.Ext(file) == ".json"); p != nil {
		return nil, d.unreadable(p)
	}
	return d, nil
}

// unreadable is the error for a file of which nothing but this can be said.
func (d *Document) unreadable(p *Problem) error {
	p.File = d.file
	return &Error{[]Problem{*p}}
}

// unreadable finds what makes a file no text, before a parser trips over it and
// tells no line.
func unreadable(text []byte) *Problem {
	if len(text) > MaxSize {
		return &Problem{Text: fmt.Sprintf("is larger than %d KiB, which no such file should be",
			MaxSize>>10)}
	}
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			return &Problem{Line: lineAt(text, at), Text: "is not UTF-8; save it in that encoding"}
		}
		if unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r' {
			return &Problem{Line: lineAt(text, at), Text: fmt.Sprintf(
				"holds the control character %U; this takes text only", r)}
		}
		at += size
	}
	return nil
}

func lineAt(text []byte, at int) int { return 1 + bytes.Count(text[:at], []byte("\n")) }

// parse returns the top node of a document. JSON has a reader of its own, because
// YAML does not have all of its escapes, and because the YAML parser knows the line
// of a fault only roughly.
func parse(text []byte, isJSON bool) (*yaml.Node, *Problem) {
	trimmed := bytes.TrimSpace(text)
	if len(trimmed) == 0 {
		return nil, &Problem{Line: 1, Text: "is empty"}
	}
	if isJSON || trimmed[0] == '{' || trimmed[0] == '[' {
		n, p := parseJSON(text)
		if p == nil || isJSON {
			return n, p
		}
	}
	return parseYAML(text)
}

// Problem reports a fault that only the reader's user can see. It is on the line of
// the key at path, or, if the file does not have that key, of the nearest one above
// that it has.
func (d *Document) Problem(path, format string, args ...any) {
	line, at := 0, path
	for ; ; at = parent(at) {
		if line = d.lines[at]; line > 0 || at == "" {
			break
		}
	}
	d.problem(max(line, 1), path, format, args...)
}

func (d *Document) problem(line int, path, format string, args ...any) {
	d.wrong[path] = true
	for at := path; !d.unsound[at]; at = parent(at) {
		d.unsound[at] = true
	}
	d.problems = append(d.problems, Problem{d.file, line, path, fmt.Sprintf(format, args...)})
}

// Need reports that the key at path is missing, unless it is there or what it belongs
// in is not what it should be. The mend says what to write.
func (d *Document) Need(path, mend string) {
	if d.lines[path] > 0 {
		return
	}
	for at := path; at != ""; {
		if at = parent(at); d.wrong[at] {
			return
		}
	}
	d.Problem(path, "is missing; %s", mend)
}

// At returns the path of an item of the list at path.
func At(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// Named returns the path of what a mapping at path has under a name. A name that
// would not stand out from the rest of a path is quoted.
func Named(path, name string) string {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		return fmt.Sprintf("%s[%q]", path, name)
	}
	return join(path, name)
}

// parent cuts the last key, index or name off a path.
func parent(path string) string {
	if strings.HasSuffix(path, `"]`) {
		// Within the quotes of a name, a quote has a backslash before it.
		return path[:max(strings.LastIndex(path, `["`), 0)]
	}
	return path[:max(strings.LastIndexAny(path, ".["), 0)]
}

// Line returns the line of the key at path, and 0 if the file does not have it.
func (d *Document) Line(path string) int { return d.lines[path] }

// TopKeys returns the keys at the top of the file, known or not, in its order.
func (d *Document) TopKeys() (keys []string) {
	if d.root.Kind == yaml.MappingNode {
		for i := 0; i < len(d.root.Content); i += 2 {
			keys = append(keys, d.root.Content[i].Value)
		}
	}
	return keys
}

// File returns what the file is called in messages.
func (d *Document) File() string { return d.file }

// Err returns an [*Error] with all problems so far, or nil.
func (d *Document) Err() error { return Layers{d}.Err() }

func (d *Document) sorted() []Problem {
	problems := slices.Clone(d.problems)
	slices.SortStableFunc(problems, func(a, b Problem) int { return a.Line - b.Line })
	return problems
}
