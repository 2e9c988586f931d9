package house

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// module is the import path of the root, with which all of ours begin.
const module = "github.com/ration-go/ration"

// A source is one file of the tree. Go files are parsed; of the others only
// go.mod, go.work and go.sum are read.
type source struct {
	path string // from the root of the repository, with slashes
	text []byte
	fset *token.FileSet
	file *ast.File // nil unless a Go file
}

func newSource(name string, text []byte) (source, error) {
	s := source{path: name, text: text, fset: token.NewFileSet()}
	if !strings.HasSuffix(name, ".go") {
		return s, nil
	}
	var err error
	s.file, err = parser.ParseFile(s.fset, name, text, parser.ParseComments)
	return s, err
}

func (s source) dir() string  { return path.Dir(s.path) }
func (s source) base() string { return path.Base(s.path) }
func (s source) test() bool   { return strings.HasSuffix(s.path, "_test.go") }
func (s source) code() bool   { return s.file != nil && !s.test() }

func (s source) line(p token.Pos) int { return s.fset.Position(p).Line }

func (s source) fault(p token.Pos, format string, args ...any) string {
	return s.faultAt(s.line(p), format, args...)
}

func (s source) faultAt(line int, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s", s.path, line, fmt.Sprintf(format, args...))
}

// root walks up from the directory of the test to the go.mod of the module.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.Contains(text, []byte("module "+module+"\n")) {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatalf("no go.mod of %s above the test", module)
		}
		dir = filepath.Dir(dir)
	}
}

// readTree returns the sources of every module below dir.
func readTree(t *testing.T, dir string) []source {
	t.Helper()
	var tree []source
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // an editor's temporary file
			return nil
		case err != nil:
			return err
		case d.IsDir() && skipped(name):
			return fs.SkipDir
		case d.IsDir() || !wanted(d.Name()):
			return nil
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		s, err := newSource(name, text)
		tree = append(tree, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// skipped names the directories that the go command does not look into either.
func skipped(dir string) bool {
	base := path.Base(dir)
	return base != "." && strings.ContainsAny(base[:1], "._") ||
		base == "testdata" || base == "vendor" || base == "node_modules"
}

func wanted(base string) bool {
	switch base {
	case "go.mod", "go.sum", "go.work":
		return true
	}
	return strings.HasSuffix(base, ".go")
}
