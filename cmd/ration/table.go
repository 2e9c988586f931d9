package main

import (
	"strings"

	"github.com/rivo/uniseg"
)

const (
	// lineWidth is that of a terminal nobody has resized. The output does not
	// follow the terminal, so that it is the same wherever it goes.
	lineWidth = 80
	columnGap = 3 // if there is room
)

// A table has a row for each number and a column for each policy, since there are
// more numbers than policies.
type table struct {
	title string // heads the labels
	heads []string
	rows  []row

	labels int // columns for labels at least, so that tables line up
	gap    int // before each column; 0 = as it fits
}

// A row is a label and a cell for each column. Without cells it is a heading.
type row struct {
	label string
	cells []string
}

func (t *table) add(label string, cells ...string) { t.rows = append(t.rows, row{label, cells}) }

// String lays the table out: labels to the left, cells to the right. Columns that
// do not fit beside each other go below, with the labels again.
func (t *table) String() string {
	labels := t.labelWidth()
	var b strings.Builder
	for from := 0; from < len(t.heads); {
		to, used := from, labels
		for to < len(t.heads) {
			w := t.between() + t.columnWidth(to)
			if to > from && used+w > lineWidth {
				break
			}
			used += w
			to++
		}
		if from > 0 {
			b.WriteByte('\n')
		}
		t.block(&b, labels, from, to)
		from = to
	}
	return b.String()
}

// block writes the columns from one up to another.
func (t *table) block(b *strings.Builder, labels, from, to int) {
	line := func(label string, cells []string) {
		text := label + strings.Repeat(" ", labels-width(label))
		for i := from; i < min(to, len(cells)); i++ {
			text += strings.Repeat(" ", t.between()+t.columnWidth(i)-width(cells[i])) + cells[i]
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	line(t.title, t.heads)
	for _, r := range t.rows {
		line(r.label, r.cells)
	}
}

func (t *table) labelWidth() int {
	w := max(t.labels, width(t.title))
	for _, r := range t.rows {
		w = max(w, width(r.label))
	}
	return w
}

// between is how far columns are apart: closer than usual if all of them fit then.
func (t *table) between() int {
	if t.gap > 0 {
		return t.gap
	}
	columns := t.labelWidth()
	for i := range t.heads {
		columns += t.columnWidth(i)
	}
	if n := len(t.heads); columns+n*columnGap > lineWidth && columns+n*(columnGap-1) <= lineWidth {
		return columnGap - 1
	}
	return columnGap
}

func (t *table) columnWidth(i int) int {
	w := width(t.heads[i])
	for _, r := range t.rows {
		if i < len(r.cells) {
			w = max(w, width(r.cells[i]))
		}
	}
	return w
}

// width is the number of columns that a terminal gives a text; names of policies
// are anybody's.
func width(text string) int { return uniseg.StringWidth(text) }
