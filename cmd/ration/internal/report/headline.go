package report

import (
	"fmt"
	"html/template"

	"github.com/ration-go/ration/rationsim"
)

// A headline is the table of the numbers that the verdict is about: a row for
// each side, a column for each number.
type headline struct {
	columns []column
	cells   [][]cell // by side, then by column
}

// A column is one number.
type column struct {
	title  string
	sub    string // what exactly it is
	format func(float64) string
}

// A cell is a number's band. Without any run that has the number, words says
// why.
type cell struct {
	rationsim.Band
	ok    bool
	words string
	note  string // below the number
}

// shownColumn and its like are what the template shows.
type (
	shownColumn struct{ Title, Sub string }
	shownRow    struct {
		Name, Class string
		Cells       []shownCell
	}
	shownCell struct {
		Value, Range, Note, Apart string
		Strip                     template.HTML
	}
)

func (h *headline) add(c column, cells []cell) {
	h.columns = append(h.columns, c)
	if h.cells == nil {
		h.cells = make([][]cell, len(cells))
	}
	for i, x := range cells {
		h.cells[i] = append(h.cells[i], x)
	}
}

func (h *headline) heads() (out []shownColumn) {
	for _, c := range h.columns {
		out = append(out, shownColumn{c.title, c.sub})
	}
	return out
}

func (h *headline) rows(v *view) (out []shownRow) {
	for i, cells := range h.cells {
		row := shownRow{Name: clean(v.sides[i].name), Class: sideClass(i)}
		for j, c := range cells {
			row.Cells = append(row.Cells, h.show(v, i, j, c))
		}
		out = append(out, row)
	}
	return out
}

func sideClass(i int) string { return fmt.Sprintf("c%d", i%len(colours)+1) }

func (h *headline) show(v *view, side, column int, c cell) shownCell {
	if !c.ok {
		return shownCell{Value: c.words}
	}
	format := h.columns[column].format
	s := shownCell{Value: format(c.Median), Note: c.note, Strip: h.strip(side, column)}
	if v.seeds > 1 {
		s.Range = format(c.Min) + " to " + format(c.Max)
		if format(c.Min) == format(c.Max) {
			s.Range = "in every run"
		}
		if first := h.cells[0][column]; side > 0 && first.ok {
			s.Apart = "overlaps"
			if rationsim.Separates(first.Band, c.Band) {
				s.Apart = "apart"
			}
		}
	}
	return s
}

// strip draws the band on an axis that all cells of the column share. It repeats
// what the cell says, and is hidden from those who are read to.
func (h *headline) strip(side, column int) template.HTML {
	low, high := 0.0, 0.0
	for i := range h.cells {
		c := h.cells[i][column]
		if !c.ok {
			continue
		}
		if high == 0 && low == 0 {
			low, high = c.Min, c.Max
		}
		low, high = min(low, c.Min), max(high, c.Max)
	}
	if format := h.columns[column].format; format(low) == format(high) {
		return ""
	}
	const w, margin = 88.0, 5.0
	place := func(x float64) float64 { return margin + (x-low)/(high-low)*(w-2*margin) }
	c := h.cells[side][column]
	var d drawing
	d.put(`<svg viewBox="0 0 %v 12" width="%v" height="12" aria-hidden="true" class="strip %s">`,
		w, w, sideClass(side))
	d.put(`<path class="a" d="M0 6H%v"/>`, w)
	d.put(`<path class="l" stroke-width="3" d="M%v 6H%v"/>`, place(c.Min), place(c.Max))
	d.put(`<circle class="k" cx="%v" cy="6" r="4"/></svg>`, place(c.Median))
	return template.HTML(d.String()) //nolint:gosec // numbers and our own markup
}

// cellOf ranges over the runs of a side.
func cellOf[R any](runs []R, words string, number func(R) (float64, bool)) cell {
	n := 0
	b := rationsim.BandOf(runs, func(r R) (float64, bool) {
		x, ok := number(r)
		if ok {
			n++
		}
		return x, ok
	})
	c := cell{Band: b, ok: n > 0, words: words}
	if n > 0 && n < len(runs) {
		c.note = fmt.Sprintf("in %d of %d runs", n, len(runs))
	}
	return c
}
