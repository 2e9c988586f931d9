package house

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// An arrow says what the code in a directory, and below it, may import of ours.
// What is not below any of these may import nothing until it is added here.
type arrow struct {
	from string
	to   []string
}

// Arrows point down only: the command knows everything, the core knows nobody.
// The simulator knows the core alone, so that it has no decision of its own.
//
// Nested modules keep off internal/ although the compiler would let them in:
// they are versioned apart from the root, and internal/ makes no promise from
// one version to the next. Tests may import what they like, the command aside;
// they are not built by whoever depends on us.
var arrows = []arrow{
	{from: ".", to: []string{"internal"}},
	{from: "internal", to: []string{"internal"}},
	{from: "rationhttp", to: []string{".", "internal"}},
	{from: "rationtest", to: []string{".", "internal"}},
	{from: "rationsim", to: []string{"."}},
	{from: "rationconfig", to: []string{"."}},
	{from: "rationgrpc", to: []string{"."}},
	{from: "rationotel", to: []string{"."}},
	{from: "bench", to: []string{
		".", "rationhttp", "rationtest", "rationsim", "rationconfig", "rationgrpc", "rationotel",
	}},
	{from: "browser", to: []string{".", "rationhttp", "rationsim"}},
	{from: "cmd", to: []string{
		".", "rationhttp", "rationtest", "rationsim", "rationconfig", "rationgrpc", "rationotel",
	}},
}

var arrowRule = rule{
	name: "arrows",
	check: func(tree []source) (faults []string) {
		for _, s := range tree {
			if s.file == nil {
				continue
			}
			for _, spec := range s.file.Imports {
				target, err := strconv.Unquote(spec.Path.Value)
				if err != nil || s.mayImport(target) {
					continue
				}
				faults = append(faults, s.fault(spec.Pos(), "must not import %s", target))
			}
		}
		return faults
	},
	examples: []example{{
		name: "core",
		files: map[string]string{
			"budget.go":    importing("time", module+"/internal/window"),
			"http.go":      importing("net/http", module+"/rationhttp"),
			"yaml.go":      importing("example.org/yaml"),
			"http_test.go": importing(module + "/rationhttp"),
		},
		want: []string{"http.go:3", "yaml.go:2"},
	}, {
		name: "simulator",
		files: map[string]string{
			"rationsim/sim.go":    importing("math", module),
			"rationsim/deep/a.go": importing(module + "/rationsim"),
			"rationsim/window.go": importing(module + "/internal/window"),
		},
		want: []string{"rationsim/window.go:2"},
	}, {
		name: "nested",
		files: map[string]string{
			"rationgrpc/grpc.go":  importing("google.golang.org/grpc", module),
			"rationgrpc/http.go":  importing(module + "/rationhttp"),
			"rationgrpc/inner.go": importing(module + "/internal/window"),
		},
		want: []string{"rationgrpc/http.go:2", "rationgrpc/inner.go:2"},
	}, {
		name: "command",
		files: map[string]string{
			"cmd/ration/main.go":      importing(module + "/cmd/ration/internal/page"),
			"cmd/ration/main_test.go": importing(module + "/cmd/ration/internal/page"),
			"bench/page_test.go":      importing(module + "/cmd/ration/internal/page"),
		},
		want: []string{"bench/page_test.go:2"},
	}, {
		name:  "no arrow",
		files: map[string]string{"util/util.go": importing("strings", module)},
		want:  []string{"util/util.go:3"},
	}},
}

// importing returns a file whose imports begin on line 2, one a line.
func importing(targets ...string) string {
	return "package p\nimport `" + strings.Join(targets, "`\nimport `") + "`\n"
}

// ours reports whether an import path or module path belongs to the project.
func ours(target string) bool {
	return target == module || strings.HasPrefix(target, module+"/")
}

// mayImport applies the arrows to one import path of the file.
func (s source) mayImport(target string) bool {
	if !ours(target) {
		// The go command, too, knows a standard package by its first element.
		first, _, _ := strings.Cut(target, "/")
		return !strings.Contains(first, ".") || !within(s.dir(), ".", "internal")
	}
	to := path.Clean(strings.TrimPrefix(strings.TrimPrefix(target, module), "/"))
	if s.test() {
		return within(s.dir(), "cmd") || !within(to, "cmd")
	}
	for _, a := range arrows {
		if within(s.dir(), a.from) {
			return within(to, a.from) || within(to, a.to...)
		}
	}
	return false
}

// within reports whether dir is one of the others or lies below one. Nothing
// but the root package itself is within ".".
func within(dir string, others ...string) bool {
	return slices.ContainsFunc(others, func(other string) bool {
		return dir == other || strings.HasPrefix(dir, other+"/")
	})
}
