package traffic

import "strings"

// An interner holds the names that were seen, so that a line does not cost a string.
// The zero interner is empty. It is bounded: beyond that, strings are made.
type interner struct{ known map[string]string }

func (n *interner) name(text []byte) string {
	if s, ok := n.known[string(text)]; ok {
		return s
	}
	const most, longest = 1000, 256
	if len(text) > longest {
		text = text[:longest]
	}
	s := strings.ToValidUTF8(string(text), "?")
	if n.known == nil {
		n.known = make(map[string]string)
	}
	if len(n.known) < most {
		n.known[s] = s
	}
	return s
}
