package house

import (
	"path"
	"slices"
	"strings"
)

// manifestRule keeps the root free of dependencies: whoever imports the core
// gets the core and nothing else. Nested modules may replace only what is ours,
// since the release drops those replacements and nobody would drop others.
var manifestRule = rule{
	name: "manifest",
	check: func(tree []source) (faults []string) {
		for _, s := range tree {
			switch {
			case s.path == "go.sum":
				faults = append(faults, s.faultAt(1, "the root module depends on nothing"))
			case s.path == "go.mod":
				for _, d := range directives(s, "require", "replace", "tool") {
					faults = append(faults, s.faultAt(d.line, "the root module depends on nothing"))
				}
			case s.base() == "go.mod":
				for _, d := range directives(s, "replace") {
					if !ours(d.args[0]) || !strings.HasPrefix(d.args[len(d.args)-1], "..") {
						faults = append(faults, s.faultAt(d.line, "replaces more than ours by .."))
					}
				}
			}
		}
		return faults
	},
	examples: []example{{
		name:  "bare",
		files: map[string]string{"go.mod": "module " + module + "\n\ngo 1.26\n"},
	}, {
		name: "root that depends",
		files: map[string]string{
			"go.mod": "module " + module + "\n\nrequire (\n\tx.y/z v1.0.0 // indirect\n)\n",
			"go.sum": "x.y/z v1.0.0 h1:\n",
		},
		want: []string{"go.mod:4", "go.sum:1"},
	}, {
		name: "replacements of a nested module",
		files: map[string]string{"rationgrpc/go.mod": "module " + module + "/rationgrpc\n" +
			"require x.y/z v1.0.0\n" +
			"replace " + module + " => ../\n" +
			"replace x.y/z => ../z\n" +
			"replace " + module + "/rationhttp => example.org/fork v1.0.0\n"},
		want: []string{"rationgrpc/go.mod:4", "rationgrpc/go.mod:5"},
	}},
}

// workspaceRule makes `go test work` mean everything: a module that go.work
// forgets is a module that nobody tests.
var workspaceRule = rule{
	name: "workspace",
	check: func(tree []source) (faults []string) {
		i := slices.IndexFunc(tree, func(s source) bool { return s.path == "go.work" })
		if i < 0 {
			return []string{"go.work:1: missing"}
		}
		var used []string
		for _, d := range directives(tree[i], "use") {
			used = append(used, path.Clean(d.args[0]))
		}
		for _, s := range tree {
			if s.base() == "go.mod" && !slices.Contains(used, s.dir()) {
				faults = append(faults, s.faultAt(1, "go.work does not use this module"))
			}
		}
		return faults
	},
	examples: []example{{
		name: "all used",
		files: map[string]string{
			"go.work":           "go 1.26\n\nuse (\n\t.\n\t./cmd/ration // the command\n)\n",
			"go.mod":            "module " + module + "\n",
			"cmd/ration/go.mod": "module " + module + "/cmd/ration\n",
		},
	}, {
		name: "one forgotten",
		files: map[string]string{
			"go.work":      "use .\n",
			"go.mod":       "module " + module + "\n",
			"bench/go.mod": "module " + module + "/bench\n",
		},
		want: []string{"bench/go.mod:1"},
	}, {
		name: "no workspace",
		want: []string{"go.work:1"},
	}},
}

// A directive is one line of a go.mod or go.work file, without its keyword.
type directive struct {
	line int
	args []string
}

// directives returns those of some keywords, in blocks or each on its own. The
// parser of golang.org/x/mod would be a dependency.
func directives(s source, keywords ...string) []directive {
	var found []directive
	block := ""
	for i, text := range strings.Split(string(s.text), "\n") {
		text, _, _ = strings.Cut(text, "//")
		args := strings.Fields(text)
		switch {
		case len(args) == 0:
		case args[0] == ")":
			block = ""
		case len(args) == 2 && args[1] == "(":
			block = args[0]
		case slices.Contains(keywords, block):
			found = append(found, directive{line: i + 1, args: args})
		case block == "" && slices.Contains(keywords, args[0]):
			found = append(found, directive{line: i + 1, args: args[1:]})
		}
	}
	return found
}
