package house

import (
	"go/ast"
	"regexp"
	"strings"
)

// documentedRule asks for a comment on every exported name of the packages that
// people import. In a block, a struct or an interface, names that stand on
// adjoining lines may share one: a blank line starts a new stretch.
var documentedRule = rule{
	name: "documented",
	check: func(tree []source) (faults []string) {
		for _, s := range tree {
			if !s.published() {
				continue
			}
			for _, decl := range s.file.Decls {
				switch d := decl.(type) {
				case *ast.FuncDecl:
					faults = append(faults, s.undocumentedFunc(d)...)
				case *ast.GenDecl:
					faults = append(faults, s.undocumentedNames(d)...)
				}
			}
		}
		return faults
	},
	examples: []example{{
		name: "functions and methods",
		files: map[string]string{"a.go": `package a
func Bare() {}
// Documented has a comment.
func Documented() {}
//go:noinline
func Directive() {}
func (t *T[K]) Bare() {}
func (t *t) Bare() {}
func bare() {}
`},
		want: []string{"a.go:2", "a.go:6", "a.go:7"},
	}, {
		name: "values",
		files: map[string]string{"a.go": `package a
var Bare = 1
// Shared by all of the block.
const (
	A = 1

	B = 2
)
const (
	C = 1
	D = 2 // D has one, which C on the line before shares.

	E = 3
	f = 4

	// G has its own.
	G = 5
)
`},
		want: []string{"a.go:2", "a.go:13"},
	}, {
		name: "types",
		files: map[string]string{"a.go": `package a
type Bare int
// Types.
type (
	Inner int
)
// S is a struct.
type S struct {
	bare int
	Bare int

	// A and B share this.
	A int
	B int

	C int

	io.Reader
}
// I is an interface.
type I interface {
	Bare()

	// Documented has a comment.
	Documented()

	fmt.Stringer
}
type t struct { Bare int }
`},
		want: []string{"a.go:2", "a.go:5", "a.go:10", "a.go:16", "a.go:22"},
	}, {
		name: "not published",
		files: map[string]string{
			"a_test.go":               "package a\nfunc Bare() {}\n",
			"internal/a/a.go":         "package a\nfunc Bare() {}\n",
			"rationsim/internal/a.go": "package a\nfunc Bare() {}\n",
			"cmd/ration/a.go":         "package main\nfunc Bare() {}\n",
			"bench/a.go":              "package bench\nfunc Bare() {}\n",
			"rationhttp/a.go":         "package rationhttp\nfunc Bare() {}\n",
		},
		want: []string{"rationhttp/a.go:2"},
	}},
}

// concurrencyRule asks every exported struct that has exported methods or
// hidden state to say whether goroutines may share it, or that it is a value. A
// struct of exported fields alone plainly is one.
var concurrencyRule = rule{
	name: "concurrency",
	check: func(tree []source) (faults []string) {
		methods := methodsOf(tree)
		for _, s := range tree {
			if !s.published() {
				continue
			}
			for _, d := range s.structs() {
				if !methods[s.dir()+"."+d.name.Name] && !hidden(d.fields) {
					continue
				}
				if !concurrencyWord.MatchString(d.doc) {
					faults = append(faults, s.fault(d.name.Pos(),
						"the comment on %s does not say whether goroutines may share it", d.name))
				}
			}
		}
		return faults
	},
	examples: []example{{
		name: "state, methods, values",
		files: map[string]string{
			"a.go": `package a
// State has some.
type State struct { n int }
// Methods has one, in another file.
type Methods[T any] struct { N int }
// Plain has only exported fields.
type Plain struct { N int; io.Reader }
// Good is safe for concurrent use.
type Good struct { n int }
// Owned belongs to one goroutine.
type Owned struct { *embedded }
// Embeds has hidden state.
type Embeds struct { *embedded }
// Value is a value.
type Value struct { n int }
type state struct { n int }
`,
			"b.go":      "package a\nfunc (m *Methods[T]) M() {}\nfunc (p Plain) hidden() {}\n",
			"b_test.go": "package a\nfunc (p *Plain) Helper() {}\n",
		},
		want: []string{"a.go:3", "a.go:5", "a.go:13"},
	}},
}

var concurrencyWord = regexp.MustCompile(`(?i)concurren|goroutine|\bis a value\b`)

// published reports whether the file is code of a package that people import.
func (s source) published() bool {
	return s.code() && s.file.Name.Name != "main" && !within(s.dir(), "cmd", "bench") &&
		!strings.Contains("/"+s.path, "/internal/")
}

func (s source) undocumentedFunc(f *ast.FuncDecl) []string {
	method := f.Recv != nil
	if method && !ast.IsExported(typeName(f.Recv.List[0].Type)) {
		return nil
	}
	return s.undocumented([]*ast.Ident{f.Name}, f.Doc)
}

func (s source) undocumentedNames(d *ast.GenDecl) (faults []string) {
	var values []member
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.ValueSpec:
			docs := []*ast.CommentGroup{d.Doc, spec.Doc, spec.Comment}
			values = append(values, member{spec, spec.Names, docs})
		case *ast.TypeSpec:
			doc := spec.Doc
			if !d.Lparen.IsValid() {
				doc = d.Doc
			}
			faults = append(faults, s.undocumented([]*ast.Ident{spec.Name}, doc)...)
			if spec.Name.IsExported() {
				faults = append(faults, s.undocumentedMembers(membersOf(spec.Type))...)
			}
		}
	}
	return append(faults, s.undocumentedMembers(values)...)
}

// A member is a line of a block, a field of a struct or a method of an
// interface. Embedded ones have no names; their type has the comment.
type member struct {
	node  ast.Node
	names []*ast.Ident
	docs  []*ast.CommentGroup
}

func membersOf(t ast.Expr) (members []member) {
	var fields *ast.FieldList
	switch t := t.(type) {
	case *ast.StructType:
		fields = t.Fields
	case *ast.InterfaceType:
		fields = t.Methods
	default:
		return nil
	}
	for _, f := range fields.List {
		members = append(members, member{f, f.Names, []*ast.CommentGroup{f.Doc, f.Comment}})
	}
	return members
}

// undocumentedMembers looks at each stretch of adjoining lines as a whole.
func (s source) undocumentedMembers(members []member) (faults []string) {
	for len(members) > 0 {
		n := 1
		for n < len(members) && s.adjoin(members[n-1], members[n]) {
			n++
		}
		var names []*ast.Ident
		var docs []*ast.CommentGroup
		for _, m := range members[:n] {
			names = append(names, m.names...)
			docs = append(docs, m.docs...)
		}
		faults = append(faults, s.undocumented(names, docs...)...)
		members = members[n:]
	}
	return faults
}

// adjoin reports whether nothing but comments lies between two members.
func (s source) adjoin(m, next member) bool {
	start := next.node.Pos()
	for _, d := range next.docs {
		if d != nil {
			start = min(start, d.Pos())
		}
	}
	return s.line(start) <= s.line(m.node.End())+1
}

// undocumented finds fault with the exported names unless one of the comments
// says something. A compiler directive says nothing.
func (s source) undocumented(names []*ast.Ident, docs ...*ast.CommentGroup) (faults []string) {
	for _, d := range docs {
		if d.Text() != "" {
			return nil
		}
	}
	for _, n := range names {
		if n.IsExported() {
			faults = append(faults, s.fault(n.Pos(), "%s has no comment", n))
		}
	}
	return faults
}

// A structure is the declaration of an exported struct.
type structure struct {
	name   *ast.Ident
	doc    string
	fields *ast.FieldList
}

func (s source) structs() (found []structure) {
	for _, decl := range s.file.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range d.Specs {
			t, ok := spec.(*ast.TypeSpec)
			if !ok || !t.Name.IsExported() {
				continue
			}
			if st, ok := t.Type.(*ast.StructType); ok {
				found = append(found, structure{t.Name, d.Doc.Text() + t.Doc.Text(), st.Fields})
			}
		}
	}
	return found
}

// methodsOf names the types with exported methods, as directory.Type.
func methodsOf(tree []source) map[string]bool {
	types := make(map[string]bool)
	for _, s := range tree {
		if !s.code() {
			continue
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.IsExported() {
				types[s.dir()+"."+typeName(f.Recv.List[0].Type)] = true
			}
		}
	}
	return types
}

// hidden reports whether a field cannot be seen by other packages.
func hidden(fields *ast.FieldList) bool {
	for _, f := range fields.List {
		if f.Names == nil && !ast.IsExported(typeName(f.Type)) {
			return true
		}
		for _, n := range f.Names {
			if !n.IsExported() {
				return true
			}
		}
	}
	return false
}

// typeName returns the name of a type without its package, its pointer and its
// type arguments.
func typeName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.IndexExpr:
		return typeName(t.X)
	case *ast.IndexListExpr:
		return typeName(t.X)
	case *ast.SelectorExpr:
		return t.Sel.Name
	case *ast.Ident:
		return t.Name
	}
	return ""
}
