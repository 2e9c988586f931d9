package strict

// Layers are documents that say together what one could say alone, each going before
// those ahead of it. What is wrong with the whole is reported where it was written
// last. They belong to one goroutine.
type Layers []*Document

// Problem reports a fault as [Document.Problem] does, in the last document that has
// the key at path, or else the nearest one above it.
func (l Layers) Problem(path, format string, args ...any) {
	l.source(path).Problem(path, format, args...)
}

// FieldProblem is [Document.FieldProblem] for the document that has the field.
func (l Layers) FieldProblem(path, text string) {
	l.source(fieldPath(path, text)).FieldProblem(path, text)
}

func (l Layers) source(path string) *Document {
	for at := path; at != ""; at = parent(at) {
		if i := l.Last(at); i >= 0 {
			return l[i]
		}
	}
	return l[len(l)-1]
}

// Last returns the index of the last document that has the key at path, and -1 if
// none has.
func (l Layers) Last(path string) int {
	for i := len(l) - 1; i >= 0; i-- {
		if l[i].Line(path) > 0 {
			return i
		}
	}
	return -1
}

// Written returns the index of the last document in which somebody wrote the key at
// path where it stands, rather than merging it from elsewhere, and -1 if none did.
func (l Layers) Written(path string) int {
	for i := len(l) - 1; i >= 0; i-- {
		if l[i].Line(path) > 0 && !l[i].merged[path] {
			return i
		}
	}
	return -1
}

// Sound reports whether nothing has been found wrong so far with what is at path and
// below it.
func (l Layers) Sound(path string) bool {
	for _, d := range l {
		if d.unsound[path] {
			return false
		}
	}
	return true
}

// Err returns an [*Error] with the problems of all documents so far, or nil.
func (l Layers) Err() error {
	var all []Problem
	for _, d := range l {
		all = append(all, d.sorted()...)
	}
	if len(all) == 0 {
		return nil
	}
	return &Error{all}
}
