package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the output in goldens, the manual and the documentation")

// A transcript is a command and what it prints, as shown to readers: a line that
// begins with "$ " and the lines up to the next one. A line "..." among them stands
// for any number of lines.
type transcript struct {
	command  string
	from, to int // the lines of its output, in the file
}

// TestManual runs the manual of the command, in the directory of its examples.
func TestManual(t *testing.T) {
	skipUnderRace(t)
	manual, err := filepath.Abs("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("testdata/manual")
	if n := testTranscripts(t, manual, indentedBlocks); n == 0 {
		t.Error("no example")
	}
}

// TestDocumentation runs what the README and the pages of docs show on consoles, in
// the root of the repository.
func TestDocumentation(t *testing.T) {
	skipUnderRace(t)
	t.Chdir("../..")
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append([]string{"README.md"}, pages...) {
		if _, err := os.Stat(page); err == nil {
			t.Run(page, func(t *testing.T) { testTranscripts(t, page, consoleBlocks) })
		}
	}
}

func skipUnderRace(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("nothing here runs beside anything else, and all of it takes long")
	}
}

// testTranscripts runs the transcripts of a file that it can run in this process,
// and returns how many there were. With -update it rewrites those that are wrong.
func testTranscripts(t *testing.T, file string, blocks func([]string) []block) (ran int) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	changed := false
	// From the end, so that rewriting one does not move those to come.
	for _, b := range slices.Backward(blocks(lines)) {
		for _, tr := range slices.Backward(b.transcripts(lines)) {
			got, ok := replay(t, tr.command)
			if !ok {
				continue
			}
			ran++
			want := b.strip(lines[tr.from:tr.to])
			switch {
			case matches(want, got):
			case *update:
				lines = slices.Replace(lines, tr.from, tr.to, b.wear(elide(want, got))...)
				changed = true
			default:
				t.Errorf("%s:%d: $ %s\n%s\nif that is right, run the tests of this package with -update",
					file, tr.from, tr.command, firstDifference(want, got))
			}
		}
	}
	if changed {
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return ran
}

// replay runs a command of this program, or cat, and returns what a console shows.
// Other commands are not for it.
func replay(t *testing.T, command string) (lines []string, ok bool) {
	t.Helper()
	words := strings.Fields(command)
	var out bytes.Buffer
	switch viaGo := strings.HasPrefix(command, "go run ./cmd/ration"); {
	case viaGo || words[0] == "ration":
		if strings.ContainsAny(command, `|<>;&"'*`) {
			t.Errorf("$ %s: this is a test, not a shell", command)
			return nil, false
		}
		args := words[1:]
		if viaGo {
			args = words[3:]
		}
		code := run(t.Context(), args, strings.NewReader(""), &out, &out)
		if viaGo && code != 0 {
			fmt.Fprintf(&out, "exit status %d\n", code)
		}
	case words[0] == "cat" && len(words) == 2:
		text, err := os.ReadFile(words[1])
		if err != nil {
			t.Error(err)
			return nil, false
		}
		out.Write(text)
	default:
		return nil, false
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), true
}

// A block is a stretch of lines that shows a console, each after a prefix.
type block struct {
	from, to int
	prefix   string
}

// consoleBlocks finds the fenced blocks of a Markdown page that are consoles.
func consoleBlocks(lines []string) (blocks []block) {
	for i := 0; i < len(lines); i++ {
		if lines[i] != "```console" {
			continue
		}
		from := i + 1
		for i = from; i < len(lines) && lines[i] != "```"; i++ {
		}
		blocks = append(blocks, block{from, i, ""})
	}
	return blocks
}

// indentedBlocks finds the code blocks of a Go comment that are consoles.
func indentedBlocks(lines []string) (blocks []block) {
	for i := 0; i < len(lines); i++ {
		if !strings.HasPrefix(lines[i], "\t$ ") {
			continue
		}
		from := i
		for i < len(lines) && (lines[i] == "" || strings.HasPrefix(lines[i], "\t")) {
			i++
		}
		blocks = append(blocks, block{from, i, "\t"})
	}
	return blocks
}

// transcripts finds those of a block. Empty lines between them belong to neither.
func (b block) transcripts(lines []string) (found []transcript) {
	for i := b.from; i < b.to; i++ {
		if command, ok := strings.CutPrefix(lines[i], b.prefix+"$ "); ok {
			found = append(found, transcript{command, i + 1, i + 1})
		} else if n := len(found); n > 0 && lines[i] != "" {
			found[n-1].to = i + 1
		}
	}
	return found
}

func (b block) strip(lines []string) (output []string) {
	for _, l := range lines {
		output = append(output, strings.TrimPrefix(l, b.prefix))
	}
	return output
}

func (b block) wear(output []string) (lines []string) {
	for _, l := range output {
		if l != "" {
			l = b.prefix + l
		}
		lines = append(lines, l)
	}
	return lines
}

// matches compares output with what is wanted, in which "..." is any number of
// lines.
func matches(want, got []string) bool {
	for i, w := range want {
		if w == "..." {
			for skip := range len(got) - i + 1 {
				if matches(want[i+1:], got[i+skip:]) {
					return true
				}
			}
			return false
		}
		if i >= len(got) || w != got[i] {
			return false
		}
	}
	return len(want) == len(got)
}

// elide leaves out of new output what was left out of the old. It knows a line by
// what it begins with, since what changes is numbers. Output in which it does not
// find its way is left whole.
func elide(want, got []string) []string {
	if !slices.Contains(want, "...") {
		return got
	}
	var lines []string
	rest := got
	for _, w := range want {
		if w == "..." {
			lines = append(lines, w)
			continue
		}
		i := slices.IndexFunc(rest, func(g string) bool { return beginning(g) == beginning(w) })
		if i < 0 {
			return got
		}
		lines, rest = append(lines, rest[i]), rest[i+1:]
	}
	if !matches(lines, got) {
		return got
	}
	return lines
}

// beginning returns what a line has before its first number or column.
func beginning(line string) string {
	text := strings.TrimLeft(line, " ")
	if i := strings.IndexAny(text, "0123456789"); i >= 0 {
		text = text[:i]
	}
	text, _, _ = strings.Cut(text, "  ")
	return strings.TrimSpace(text)
}

// firstDifference shows where the two part, or, if some output is left out, the first
// line that is not there at all.
func firstDifference(want, got []string) string {
	partial := slices.Contains(want, "...")
	for i := range max(len(want), len(got)) {
		w, g := at(want, i), at(got, i)
		switch {
		case partial && w != "..." && !slices.Contains(got, w):
			return fmt.Sprintf("shows in line %d\n\t%s\nwhich is not printed", i+1, w)
		case !partial && w != g:
			return fmt.Sprintf("shows from line %d on\n\t%s\nand prints\n\t%s", i+1, w, g)
		}
	}
	return "shows these lines in another order"
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(nothing)"
}

func TestMatches(t *testing.T) {
	tests := []struct {
		want, got string
		match     bool
	}{
		{"a b", "a b", true},
		{"a", "a b", false},
		{"a b", "a", false},
		{"...", "", true},
		{"...", "a b", true},
		{"a ... d", "a b c d", true},
		{"a ... d", "a d", true},
		{"a ... d", "a d e", false},
		{"a ... c ... e", "a b c d e", true},
		{"... b", "b a b", true},
		{"a ...", "a", true},
		{"a ... b", "a", false},
	}
	for _, tt := range tests {
		if got := matches(strings.Fields(tt.want), strings.Fields(tt.got)); got != tt.match {
			t.Errorf("matches(%q, %q) = %t", tt.want, tt.got, got)
		}
	}
}

func TestElide(t *testing.T) {
	tests := []struct{ want, got, text string }{
		{"a 1,...,c 3", "a 7,b 8,c 9", "a 7,...,c 9"},
		{"...,  a  1 2,...,c: 3,...", "x,  a  7 8,y,z,c: 9,w", "...,  a  7 8,...,c: 9,..."},
		{"a 1,c 3", "a 7,b 8,c 9", "a 7,b 8,c 9"},
		{"a 1,...,d 3", "a 7,b 8,c 9", "a 7,b 8,c 9"},
		{"a 1,c 3,...", "a 7,b 8,c 9", "a 7,b 8,c 9"}, // b would have to be left out without a word
	}
	for _, tt := range tests {
		got := strings.Join(elide(strings.Split(tt.want, ","), strings.Split(tt.got, ",")), ",")
		if got != tt.text {
			t.Errorf("elide(%q, %q) = %q, want %q", tt.want, tt.got, got, tt.text)
		}
	}
}

func TestBlocks(t *testing.T) {
	page := strings.Split("x\n```console\n$ a\n1\n\n$ b\n```\n```go\n$ c\n```\n```console\n$ d\n2", "\n")
	var found []string
	for _, b := range consoleBlocks(page) {
		for _, tr := range b.transcripts(page) {
			found = append(found, fmt.Sprintf("%s=%q", tr.command, b.strip(page[tr.from:tr.to])))
		}
	}
	want := []string{`a=["1"]`, `b=[]`, `d=["2"]`}
	if !slices.Equal(found, want) {
		t.Errorf("got %q, want %q", found, want)
	}

	comment := strings.Split("/*\nx\n\n\t$ a\n\t1\n\n\t2\n\t$ b\n\ny\n\n\tno console\n*/", "\n")
	found = nil
	for _, b := range indentedBlocks(comment) {
		for _, tr := range b.transcripts(comment) {
			found = append(found, fmt.Sprintf("%s=%q", tr.command, b.strip(comment[tr.from:tr.to])))
		}
	}
	if want := []string{`a=["1" "" "2"]`, `b=[]`}; !slices.Equal(found, want) {
		t.Errorf("got %q, want %q", found, want)
	}
}

// golden compares with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s\nif that is right, run the tests of this package with -update", firstDifference(
			strings.Split(string(want), "\n"), strings.Split(string(got), "\n")))
	}
}

// console runs the program.
func console(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(stdin), &out, &err)
	return out.String(), err.String(), code
}
