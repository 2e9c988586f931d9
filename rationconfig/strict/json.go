package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxDepth is deeper than any structure that is read here, and keeps a file of
// nothing but brackets from exhausting the stack.
const maxDepth = 50

// parseJSON reads JSON into the nodes that YAML is read into.
func parseJSON(text []byte) (*yaml.Node, *Problem) {
	r := &jsonReader{text: text, tokens: json.NewDecoder(bytes.NewReader(text))}
	r.tokens.UseNumber()
	n, err := r.value(0)
	if err == nil {
		if _, extra := r.tokens.Token(); !errors.Is(extra, io.EOF) {
			err = errors.New("more follows the end of the document; remove it")
		}
	}
	if err != nil {
		return nil, r.problem(err)
	}
	return n, nil
}

type jsonReader struct {
	text   []byte
	tokens *json.Decoder
	at     int // the place up to which lines are counted
	line   int // how many ended before it
}

// here returns the line of the last token. It counts from where it last was: from
// the start each time, a long file would take its length squared.
func (r *jsonReader) here() int {
	at := int(r.tokens.InputOffset())
	r.line += bytes.Count(r.text[r.at:at], []byte("\n"))
	r.at = at
	return r.line + 1
}

func (r *jsonReader) problem(err error) *Problem {
	at := r.tokens.InputOffset()
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		// The offset is behind the character that is wrong.
		return &Problem{
			Line: lineAt(r.text, int(max(syntax.Offset-1, at))),
			Text: "is not JSON: " + syntax.Error(),
		}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		end := len(bytes.TrimSpace(r.text))
		return &Problem{Line: lineAt(r.text, end), Text: "is not JSON: it ends in the middle"}
	}
	return &Problem{Line: lineAt(r.text, int(at)), Text: "is not JSON: " + err.Error()}
}

func (r *jsonReader) value(depth int) (*yaml.Node, error) {
	if depth > maxDepth {
		return nil, errors.New("it nests too deep")
	}
	token, err := r.tokens.Token()
	if err != nil {
		return nil, err
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: r.here()}
	switch token := token.(type) {
	case json.Delim:
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		if token == '{' {
			n.Kind, n.Tag = yaml.MappingNode, "!!map"
		}
		return n, r.content(n, depth)
	case string:
		n.Tag, n.Value, n.Style = "!!str", token, yaml.DoubleQuotedStyle
	case json.Number:
		n.Tag, n.Value = "!!int", token.String()
		if strings.ContainsAny(n.Value, ".eE") {
			n.Tag = "!!float"
		}
	case bool:
		n.Tag, n.Value = "!!bool", strconv.FormatBool(token)
	default:
		n.Tag, n.Value = "!!null", "null"
	}
	return n, nil
}

// content reads what is in a list or a mapping, and its end. The keys of a mapping
// are values too; the decoder sees to it that they are strings.
func (r *jsonReader) content(n *yaml.Node, depth int) error {
	for r.tokens.More() {
		item, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.Content = append(n.Content, item)
	}
	_, err := r.tokens.Token()
	return err
}
