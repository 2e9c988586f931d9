package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"clean": clean,
	"first": func(i int) bool { return i == 0 },
	"prose": prose,
	"plot":  func(p *Plot, i int) template.HTML { return p.svg(plotID(i)) },
}).Parse(pageHTML))

// prose tells for each column of a table whether it holds sentences, which are
// aligned and broken as such.
func prose(t Table) []bool {
	out := make([]bool, len(t.Heads))
	for _, row := range t.Rows {
		for i, cell := range row {
			if i > 0 && i < len(out) && len([]rune(cell)) > 28 {
				out[i] = true
			}
		}
	}
	return out
}

// A page is what the template shows; without results it is tables alone. Its
// markup is our own, with all that comes from outside escaped.
type page struct {
	*Report
	Title    string
	CSS      template.CSS
	Heads    []shownColumn
	Rows     []shownRow
	Seeded   int
	Sides    []shownSide
	Order    []shownSide // of the numbers on an edge; nil where their names stand there
	Ranged   bool        // whether the last number is a range
	First    string
	Figure   template.HTML
	Narrow   bool
	Nesting  []string
	Edges    []edgeRow
	Charts   []shownChart
	Troubles []string
	Bin      string
}

type shownSide struct{ Name, Class string }

type shownChart struct {
	ID, Title, Unit, Note string
	Columns               int
	Panels                []template.HTML
	Lines                 []string
	Data                  [][]string
}

// Write writes the page.
func Write(w io.Writer, r Report) error {
	v, err := r.view()
	if err != nil {
		return err
	}
	p := newPage(&r, v)
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, p); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err = w.Write(out.Bytes())
	return err
}

func newPage(r *Report, v *view) *page {
	p := &page{
		Report: r, CSS: template.CSS(themes() + chartCSS + pageCSS), //nolint:gosec // our own
		Title: clean(r.Question),
	}
	if r.Name == "" {
		p.Name = "simulation"
	}
	if p.Title == "" {
		p.Title = fmt.Sprintf("What becomes of the calls in the scenario “%s”?", clean(p.Name))
	}
	if v != nil {
		p.show(v)
	}
	return p
}

// show fills in what there is of results.
func (p *page) show(v *view) {
	p.Heads, p.Rows, p.Seeded = v.headline.heads(), v.headline.rows(v), v.seeds
	p.First, p.Edges, p.Bin = clean(v.sides[0].name), v.edges, clock(v.bins.length())
	for i, s := range v.sides {
		p.Sides = append(p.Sides, shownSide{clean(s.name), sideClass(i)})
		for _, t := range s.troubles {
			if !slices.Contains(p.Troubles, t.detail) {
				p.Troubles = append(p.Troubles, t.detail)
			}
		}
	}
	d := newDiagram(v.graph, v.sides)
	p.Figure, p.Narrow = d.svg(), d.w < narrow
	switch n := len(p.Sides); {
	case n == 1 || !d.brief && n <= mostNamed:
	case n <= mostListed:
		p.Order = p.Sides
	default:
		p.Order, p.Ranged = p.Sides[:1], true
	}
	for _, a := range v.graph.arcs {
		if n := a.nests(v.sides); n != "" {
			p.Nesting = append(p.Nesting, fmt.Sprintf("%s → %s%s",
				clean(v.graph.nodes[a.from].name), clean(v.graph.nodes[a.to].name),
				strings.TrimPrefix(n, nestedLoop)))
		}
	}
	for i := range v.charts {
		p.Charts = append(p.Charts, v.charts[i].show(v))
	}
}

// svg returns the diagram as an element of the page.
func (d *diagram) svg() template.HTML {
	var out drawing
	// A small one has room for letters as large as those around it. A wide one is
	// a little smaller if that spares moving it about, but not so small that it
	// cannot be read.
	out.fit = d.w
	if d.w*leastScale < pageWidth {
		out.fit = d.w * leastScale
	}
	if d.w < narrow {
		out.scale, out.fit = 1.25, 0
	}
	out.open("graph", d.w, d.h, "Who calls whom, and the worst second on each edge",
		d.graph.describe(d.sides))
	d.draw(&out)
	out.WriteString("</svg>")
	return template.HTML(out.String()) //nolint:gosec // drawing escapes
}

// show returns the chart as the template takes it.
func (c *chart) show(v *view) shownChart {
	s := shownChart{
		ID: c.id, Title: c.title, Unit: c.unit, Note: c.note, Columns: columns(len(v.sides)),
	}
	f := frameFor(c, v.bins, s.Columns)
	for i, side := range v.sides {
		var d drawing
		d.open(fmt.Sprintf("%s-%d", c.id, i+1), f.w, f.h,
			c.title+", "+c.unit+": "+side.name, c.describe(v, i))
		c.panel(&d, v, i)
		d.WriteString("</svg>")
		s.Panels = append(s.Panels, template.HTML(d.String())) //nolint:gosec // drawing escapes
	}
	for _, side := range v.sides {
		for _, l := range c.lines {
			head := clean(side.name)
			if len(c.lines) > 1 {
				head += ", " + l.label
			}
			s.Lines = append(s.Lines, head)
		}
	}
	for i := range v.bins.n {
		row := []string{v.bins.clock(i)}
		for side := range v.sides {
			for _, l := range c.lines {
				row = append(row, c.datum(l.sides[side][i], v.seeds > 1))
			}
		}
		s.Data = append(s.Data, row)
	}
	return s
}

// datum shows a band in the table of the data.
func (c *chart) datum(b band, seeded bool) string {
	switch {
	case !b.ok:
		return noNumber
	case !seeded || b.min == b.max:
		return c.cell(b.median)
	}
	return fmt.Sprintf("%s (%s–%s)", c.cell(b.median), c.cell(b.min), c.cell(b.max))
}

// plotID names the plot of a table.
func plotID(table int) string { return fmt.Sprintf("plot-%d", table+1) }

// A Picture is a chart in a file of its own.
type Picture struct {
	Name string // of the file, with its extension
	SVG  []byte
}

// Pictures returns every chart of the page, and its diagram, each as a file that
// stands alone.
func Pictures(r Report) ([]Picture, error) {
	v, err := r.view()
	if err != nil {
		return nil, err
	}
	var all []Picture
	for i, t := range r.Tables {
		if t.Plot != nil {
			all = append(all, t.Plot.picture(plotID(i)))
		}
	}
	if v == nil {
		return all, nil
	}
	d := newDiagram(v.graph, v.sides)
	legend := d.legend()
	w, h := max(d.w, width(legend, size)*1.1+2*diagramMargin), d.h+2*lineHeight
	var out drawing
	out.open("graph", w, h, "Who calls whom, and the worst second on each edge",
		d.graph.describe(v.sides))
	out.alone(w, h)
	out.text(diagramMargin, lineHeight+5, "n", legend)
	out.put(`<g transform="translate(0 %v)">`, 2.0*lineHeight)
	d.draw(&out)
	out.WriteString("</g></svg>\n")
	all = append(all, Picture{"diagram.svg", out.Bytes()})
	for i := range v.charts {
		all = append(all, v.charts[i].picture(v))
	}
	return all, nil
}

// alone writes what the page otherwise gives a drawing: colours and paper.
func (d *drawing) alone(w, h float64) {
	d.put(`<style>%s%s</style>`, themes(), chartCSS)
	d.put(`<rect width="%v" height="%v" class="p"/>`, w, h)
}

// picture puts the panels of a chart beside and below each other.
func (c *chart) picture(v *view) Picture {
	const title, gap = 34.0, 16.0
	n := columns(len(v.sides))
	f := frameFor(c, v.bins, n)
	rows := (len(v.sides) + n - 1) / n
	w := float64(n)*(f.w+gap) + gap
	h := title + float64(rows)*(f.h+gap)
	var words []string
	for i, s := range v.sides {
		words = append(words, s.name+": "+c.describe(v, i))
	}
	var d drawing
	d.open(c.id, w, h, c.title+", "+c.unit, strings.Join(words, " "))
	d.alone(w, h)
	d.text(gap, 22, "n", c.title+", "+c.unit)
	for i := range v.sides {
		d.put(`<g transform="translate(%v %v)">`,
			gap+float64(i%n)*(f.w+gap), title+float64(i/n)*(f.h+gap))
		c.panel(&d, v, i)
		d.WriteString("</g>")
	}
	d.WriteString("</svg>\n")
	return Picture{c.id + ".svg", d.Bytes()}
}
