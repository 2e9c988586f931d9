package ration_test

import (
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// goBlocks returns the Go code that a page shows.
func goBlocks(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, part := range strings.Split(string(text), "```go\n")[1:] {
		code, _, ok := strings.Cut(part, "```")
		if !ok {
			t.Fatalf("%s: a block does not end", page)
		}
		blocks = append(blocks, code)
	}
	return blocks
}

// Programs that the pages show must build and run, and fragments must parse.
// The blocks that show a console are run by the tests of cmd/ration.
func TestPagesShowGoThatWorks(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	programs := 0
	for _, page := range append([]string{"README.md"}, pages...) {
		for _, code := range goBlocks(t, page) {
			if !strings.HasPrefix(code, "package ") {
				fragment := "package p\nfunc _() {\n" + code + "\n}"
				if _, err := parser.ParseFile(token.NewFileSet(), page, fragment, 0); err != nil {
					t.Errorf("%s: %v in\n%s", page, err, code)
				}
				continue
			}
			programs++
			file := filepath.Join(t.TempDir(), "main.go")
			if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("go", "run", file).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", page, err, out)
			}
		}
	}
	if programs == 0 {
		t.Error("no program was run")
	}
}
