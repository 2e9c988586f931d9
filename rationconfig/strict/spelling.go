package strict

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Key returns the key of a field.
func Key(field string) string {
	r, size := utf8.DecodeRuneInString(field)
	return string(unicode.ToLower(r)) + field[size:]
}

// FieldProblem reports a problem that one of our packages found with a value built
// from the file. Such a message begins with the name of a field of the value, and
// the value stands in the file at path. It is retold in the words of the file, where a
// zero never means a default.
func (d *Document) FieldProblem(path, text string) {
	_, rest, _ := strings.Cut(strings.TrimSuffix(text, "; 0 means the default"), " ")
	d.Problem(fieldPath(path, text), "%s", fieldName.ReplaceAllStringFunc(rest, spell))
}

func fieldPath(path, text string) string {
	field, _, _ := strings.Cut(text, " ")
	return join(path, spell(field))
}

// fieldName matches what our messages write with a capital letter: they begin small.
var fieldName = regexp.MustCompile(`\b[A-Z][A-Za-z0-9]*(\.[A-Z][A-Za-z0-9]*)*`)

// spell returns the path of a field, and for a sentinel what stands for it in a
// file.
func spell(name string) string {
	switch name {
	case "NoLimit":
		return "none"
	case "NoCeiling", "NoBackoff", "NoBudget", "NoBreaker":
		return "enabled: false"
	}
	parts := strings.Split(name, ".")
	for i := range parts {
		parts[i] = Key(parts[i])
	}
	return strings.Join(parts, ".")
}
