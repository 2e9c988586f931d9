package house

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
)

// sleepRule keeps real waiting out of the tests. A sleep is fine inside a
// synctest bubble, where it costs nothing and cannot be too short; elsewhere it
// is a guess at how fast the machine is. A helper that runs in the bubble of
// its caller says so in a comment that begins with sleep: and gives the reason,
// inside or above the function, or above the package clause for a whole file.
var sleepRule = rule{
	name: "sleep",
	check: func(tree []source) (faults []string) {
		for _, s := range tree {
			if s.file == nil || !s.test() {
				continue
			}
			excused := append(s.bubbles(), s.excused(sleepNote)...)
			for _, p := range s.uses("time", "Sleep") {
				if !anyContains(excused, p) {
					faults = append(faults, s.fault(p, "time.Sleep outside a synctest bubble"))
				}
			}
		}
		return faults
	},
	examples: []example{{
		name: "in and out of a bubble",
		files: map[string]string{"a_test.go": `package a
import ("time"; "testing/synctest")
func TestIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { go func() { time.Sleep(1) }() })
	time.Sleep(1)
}
var nap = time.Sleep
`},
		want: []string{"a_test.go:5", "a_test.go:7"},
	}, {
		name: "renamed",
		files: map[string]string{"a_test.go": `package a
import (clock "time"; bubble "testing/synctest")
func TestIn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) { clock.Sleep(1) })
	clock.Sleep(1)
	time.Sleep(1)
}
`},
		want: []string{"a_test.go:5"},
	}, {
		name: "excused function",
		files: map[string]string{"a_test.go": `package a
import "time"
// settle waits.
//
// sleep: called in bubbles only
func settle() { time.Sleep(1) }
func other() { time.Sleep(1) }
func inner() {
	//sleep: in a bubble
	time.Sleep(1)
}
func lazy() {
	//sleep:
	time.Sleep(1)
}
`},
		want: []string{"a_test.go:7", "a_test.go:14"},
	}, {
		name: "excused file, and code",
		files: map[string]string{
			"a_test.go": "//sleep: a soak\n\npackage a\nimport \"time\"\nvar _ = time.Sleep\n",
			"a.go":      "package a\nimport \"time\"\nvar _ = time.Sleep\n",
		},
	}},
}

// clockRule holds the core to its first idea: time is a parameter. One file
// reads the clock, and only the outermost drivers ask it. A line that must read
// it all the same says why in a comment that begins with clock:.
var clockRule = rule{
	name: "clock",
	check: func(tree []source) (faults []string) {
		for _, s := range tree {
			if !s.code() || !within(s.dir(), ".", "internal") || s.path == clockFile {
				continue
			}
			for _, p := range s.uses("time", "Now", "Since", "Until") {
				if !s.noted(clockNote, p) {
					faults = append(faults, s.fault(p, "only %s reads the clock", clockFile))
				}
			}
		}
		return faults
	},
	examples: []example{{
		name: "core and adapter",
		files: map[string]string{
			"budget.go":          reading("time.Now()"),
			"internal/a/a.go":    reading("time.Since"),
			"internal/b/b.go":    reading("time.Now() //clock: a socket's deadline"),
			"instant.go":         reading("time.Now()"),
			"budget_test.go":     reading("time.Now()"),
			"rationhttp/date.go": reading("time.Now()"),
		},
		want: []string{"budget.go:3", "internal/a/a.go:3"},
	}},
}

func reading(e string) string { return "package p\nimport \"time\"\nvar _ = " + e + "\n" }

// clockFile is the one file of the core that reads the clock.
const clockFile = "instant.go"

// wallRule keeps the core on the monotonic clock. Each of these methods drops
// the monotonic reading of a time, after which a step of the wall clock moves
// deadlines and refills buckets. A line that means the wall clock says why in a
// comment that begins with wall:. Only the names are looked at, not the types.
var wallRule = rule{
	name: "wall clock",
	check: func(tree []source) (faults []string) {
		for _, s := range tree {
			if !s.code() || !within(s.dir(), ".", "internal") {
				continue
			}
			ast.Inspect(s.file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if ok && dropsMonotonic(call) && !s.noted(wallNote, call.Fun.End()) {
					faults = append(faults, s.fault(call.Fun.End(), "drops the monotonic clock"))
				}
				return true
			})
		}
		return faults
	},
	examples: []example{{
		name: "each way to drop it",
		files: map[string]string{"a.go": `package a
var _ = now.UnixNano()
var _ = now.
	Unix()
var _ = now.Round(0)
var _ = now.Truncate(0)
var _ = now.UTC()
var _ = now.AddDate(0, 0, 1)
var _ = time.Unix(0, 0)
var _ = elapsed.Round(time.Millisecond)
`},
		want: []string{"a.go:2", "a.go:4", "a.go:5", "a.go:6", "a.go:7", "a.go:8"},
	}, {
		name: "justified",
		files: map[string]string{"a.go": `package a
var _ = now.UnixMilli() //wall: printed for people
// wall: the header holds a date
var _ = now.UnixMicro()

var _ = now.UnixMilli() //wall:
`},
		want: []string{"a.go:6"},
	}, {
		name: "elsewhere",
		files: map[string]string{
			"rationhttp/a.go": "package a\nvar _ = now.Unix()\n",
			"a_test.go":       "package a\nvar _ = now.Unix()\n",
		},
	}},
}

func dropsMonotonic(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	switch sel.Sel.Name {
	case "Unix", "UnixMilli", "UnixMicro", "UnixNano", "UTC", "Local":
		return len(call.Args) == 0
	case "AddDate":
		return true
	case "Round", "Truncate":
		zero, ok := call.Args[0].(*ast.BasicLit)
		return ok && zero.Value == "0"
	}
	return false
}

// Notes that excuse a line or a function; a note without a reason does not. The
// space is optional, since gofmt adds one in doc comments.
var (
	sleepNote = regexp.MustCompile(`^//\s*sleep:\s*\S`)
	clockNote = regexp.MustCompile(`^//\s*clock:\s*\S`)
	wallNote  = regexp.MustCompile(`^//\s*wall:\s*\S`)
)

// notes returns the comments that match.
func (s source) notes(note *regexp.Regexp) (found []*ast.Comment) {
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			if note.MatchString(c.Text) {
				found = append(found, c)
			}
		}
	}
	return found
}

// noted reports whether a note stands on the line of p or on the one above.
func (s source) noted(note *regexp.Regexp, p token.Pos) bool {
	for _, c := range s.notes(note) {
		if d := s.line(p) - s.line(c.Pos()); d == 0 || d == 1 {
			return true
		}
	}
	return false
}

// A span is a stretch of a file.
type span struct{ from, to token.Pos }

func anyContains(spans []span, p token.Pos) bool {
	for _, s := range spans {
		if s.from <= p && p <= s.to {
			return true
		}
	}
	return false
}

// excused returns the declarations that hold a note, or the whole file if one
// stands above its package clause.
func (s source) excused(note *regexp.Regexp) (spans []span) {
	for _, c := range s.notes(note) {
		if c.Pos() < s.file.Package {
			return []span{{s.file.FileStart, s.file.FileEnd}}
		}
		for _, decl := range s.file.Decls {
			whole := span{decl.Pos(), decl.End()}
			if f, ok := decl.(*ast.FuncDecl); ok && f.Doc != nil {
				whole.from = f.Doc.Pos()
			}
			if anyContains([]span{whole}, c.Pos()) {
				spans = append(spans, whole)
			}
		}
	}
	return spans
}

// bubbles returns the function literals that are passed to synctest.Test.
func (s source) bubbles() (spans []span) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || !s.isUse(call.Fun, "testing/synctest", "Test") {
			return true
		}
		for _, arg := range call.Args {
			if lit, ok := arg.(*ast.FuncLit); ok {
				spans = append(spans, span{lit.Pos(), lit.End()})
			}
		}
		return true
	})
	return spans
}

// uses returns the places where the file names one of a package's identifiers,
// called or not.
func (s source) uses(pkg string, names ...string) (at []token.Pos) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok && s.isUse(e, pkg, names...) {
			at = append(at, e.Pos())
		}
		return true
	})
	return at
}

func (s source) isUse(e ast.Expr, pkg string, names ...string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == s.localName(pkg) && slices.Contains(names, sel.Sel.Name)
}

// localName returns the name by which the file knows an imported package, ""
// if it does not import it.
func (s source) localName(pkg string) string {
	for _, spec := range s.file.Imports {
		switch p, _ := strconv.Unquote(spec.Path.Value); {
		case p != pkg:
		case spec.Name != nil:
			return spec.Name.Name
		default:
			return path.Base(pkg)
		}
	}
	return ""
}
