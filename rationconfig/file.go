package rationconfig

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/ration-go/ration/rationconfig/strict"
)

// A file is what one file says, or several in layers. The schema describes it.
type file struct {
	// Budgets are the buckets that several policies draw from, by name.
	Budgets map[string]*SharedBudget

	// Policies are the policies, by name.
	Policies map[string]*Policy
}

// over returns what f says and, where it is silent, what an earlier file says.
func (f file) over(earlier file) file {
	merged := file{Budgets: maps.Clone(earlier.Budgets), Policies: maps.Clone(earlier.Policies)}
	if merged.Budgets == nil {
		merged.Budgets = make(map[string]*SharedBudget)
	}
	if merged.Policies == nil {
		merged.Policies = make(map[string]*Policy)
	}
	for name, b := range f.Budgets {
		merged.Budgets[name] = b.over(merged.Budgets[name])
	}
	for name, p := range f.Policies {
		merged.Policies[name] = p.Over(merged.Policies[name])
	}
	return merged
}

// check reports what is wrong with what the files say together. What they say of a
// policy is looked at when each of its keys can be read: one that cannot would be
// reported a second time, in other words.
func (f file) check(l strict.Layers) {
	if len(f.Policies) == 0 && l.Err() == nil {
		l.Problem("policies", "names no policy; name at least one")
	}
	sound := l.Sound("budgets")
	budgets := slices.Sorted(maps.Keys(f.Budgets))
	for _, name := range slices.Sorted(maps.Keys(f.Policies)) {
		path := strict.Named("policies", name)
		if l.Sound(path) && (sound || !f.Policies[name].complete().Budget.shares()) {
			f.Policies[name].check(l, path, f.Budgets, budgets)
		}
	}
}

// A source is the text of one file, or why there is none.
type source struct {
	path string
	text []byte
	err  error
}

// read reads the files at the given paths, which start from a directory. It does not
// look into them.
func read(dir string, paths []string) []source {
	sources := make([]source, len(paths))
	for i, path := range paths {
		text, err := readFile(from(dir, path))
		sources[i] = source{path, text, err}
	}
	return sources
}

func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

var errNotRegular = errors.New("not a regular file")

// readFile reads no more of a file than can be used, and nothing that might keep it
// waiting, such as a pipe.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errNotRegular
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, strict.MaxSize+1))
}

// parse makes one of all sources, and reports everything that is wrong with them in a
// [*strict.Error].
func parse(sources []source) (file, error) {
	var merged file
	var docs strict.Layers
	var problems []strict.Problem
	for _, s := range sources {
		d, err := s.document()
		if err != nil {
			problems = append(problems, err.Problems...)
			continue
		}
		var f file
		d.Decode(&f)
		docs = append(docs, d)
		merged = f.over(merged)
	}
	if problems == nil { // else layers are missing
		merged.check(docs)
	}
	var faults *strict.Error
	if errors.As(docs.Err(), &faults) {
		problems = append(problems, faults.Problems...)
	}
	if problems != nil {
		return file{}, &strict.Error{Problems: problems}
	}
	return merged, nil
}

func (s source) document() (*strict.Document, *strict.Error) {
	err := s.err
	if err == nil {
		var d *strict.Document
		if d, err = strict.Read(s.path, bytes.NewReader(s.text)); err == nil {
			return d, nil
		}
	}
	var faults *strict.Error
	if errors.As(err, &faults) {
		return nil, faults
	}
	return nil, &strict.Error{Problems: []strict.Problem{{File: s.path, Text: unreadable(err)}}}
}

// unreadable says why there is nothing to read.
func unreadable(err error) string {
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "does not exist"
	case errors.Is(err, errNotRegular):
		return "is not a regular file; name one"
	case errors.As(err, &path):
		return "cannot be read: " + path.Err.Error()
	}
	return "cannot be read: " + err.Error()
}
