package strict

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

func parseYAML(text []byte) (*yaml.Node, *Problem) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	switch err := decoder.Decode(&first); {
	case errors.Is(err, io.EOF):
		return nil, &Problem{Line: 1, Text: "is empty but for comments"}
	case err != nil:
		return nil, yamlProblem(text, err)
	case first.Content[0].ShortTag() == "!!null":
		return nil, &Problem{Line: 1, Text: "is empty"}
	}
	switch err := decoder.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, yamlProblem(text, err)
	default:
		return nil, &Problem{Line: second.Content[0].Line,
			Text: "holds a second document; keep one"}
	}
	return first.Content[0], nil
}

var (
	yamlAt = regexp.MustCompile(`^line (\d+): `)

	// yamlGrammar tells the faults that the library's grammar finds, whose lines
	// it counts from 0, from those of its scanner, which it counts from 1.
	yamlGrammar = regexp.MustCompile(
		`^did not find expected ('-' indicator|key|',' or '.'|node content|<)`)
	yamlAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced`)
)

// yamlProblem makes the most of an error of the library, which is text, and which
// has no line when the fault is on the first or not the parser's.
func yamlProblem(text []byte, err error) *Problem {
	say := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if m := yamlAt.FindStringSubmatch(say); m != nil {
		line, _ = strconv.Atoi(m[1])
		say = say[len(m[0]):]
	}
	if yamlGrammar.MatchString(say) {
		line++
	}
	if m := yamlAnchor.FindStringSubmatch(say); m != nil {
		line = lineAt(text, max(bytes.Index(text, []byte("*"+m[1])), 0))
	}
	line = max(min(line, lineAt(text, len(text))), 1)
	if tab := tabbed(text, line); tab > 0 {
		return &Problem{Line: tab, Text: "is indented with a tab; YAML takes only spaces"}
	}
	return &Problem{Line: line, Text: "is not YAML: " + say}
}

// tabbed returns the first line from this one on, or the next, that begins with a
// tab, 0 for neither. The parser may have given up on the line before.
func tabbed(text []byte, line int) int {
	lines := bytes.Split(text, []byte("\n"))
	for i := line; i <= min(line+1, len(lines)); i++ {
		if bytes.HasPrefix(bytes.TrimLeft(lines[i-1], " "), []byte("\t")) {
			return i
		}
	}
	return 0
}
