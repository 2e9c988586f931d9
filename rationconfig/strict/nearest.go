package strict

import (
	"fmt"
	"strings"
)

// Meant says, as the end of a sentence, which of the allowed words was meant by an
// unknown one, or what is allowed if none is near.
func Meant(word string, allowed []string) string {
	// Past searchable there is no program of ours whose words these are, and a file
	// in which each of thousands of names is wrong must not take minutes to refuse.
	const searchable, readable = 1000, 50
	if len(allowed) <= searchable {
		if near := nearest(word, allowed); near != "" {
			return fmt.Sprintf("did you mean %s?", near)
		}
	}
	if more := len(allowed) - readable; more > 0 {
		return fmt.Sprintf("allowed are %s and %d more", strings.Join(allowed[:readable], ", "), more)
	}
	return "allowed are " + strings.Join(allowed, ", ")
}

// nearest returns the allowed word within a few typing errors of another, "" for
// none. Case, hyphens and underscores do not count: attempt_timeout is
// attemptTimeout as others spell it.
func nearest(word string, allowed []string) string {
	best, least := "", 3
	for _, a := range allowed {
		x, y := plain(word), plain(a)
		if d := distance(x, y); d < least && 2*d <= len(y) {
			best, least = a, d
		}
	}
	return best
}

func plain(word string) string { return separators.Replace(strings.ToLower(word)) }

var separators = strings.NewReplacer("_", "", "-", "", " ", "")

// distance counts the letters to insert, delete, replace or swap with the next to get
// from a to b.
func distance(a, b string) int {
	if len(a) > 2*len(b)+2 { // saves a huge key its square
		return len(a)
	}
	// Three rows of the table of distances between what a and b begin with.
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			d := last[j]
			if a[i] != b[j] {
				d = 1 + min(d, last[j+1], row[j])
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				d = min(d, 1+before[j-1])
			}
			row[j+1] = d
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
