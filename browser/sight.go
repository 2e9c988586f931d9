package browser

import (
	"context"
	_ "embed"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// Overflow returns by how many pixels the page is wider than its window: what a
// reader must scroll sideways for.
func (p *Page) Overflow() int {
	p.t.Helper()
	return Eval[int](p, "document.documentElement.scrollWidth - document.documentElement.clientWidth")
}

//go:embed contrast.js
var contrastJS string

// Faint returns the visible texts whose contrast with what is behind them is
// below what WCAG 2 asks of level AA: 4.5, or 3 for large text. Each comes with
// its colours.
func (p *Page) Faint() []string {
	p.t.Helper()
	return Eval[[]string](p, contrastJS)
}

// A Node is what a screen reader is told of one thing on the page.
type Node struct {
	Role        string // as in WAI-ARIA: table, cell, meter, link
	Name        string
	Description string
	Value       string
}

// Nodes returns what a screen reader is told of the page, in its order, leaving
// out what is hidden from it.
func (p *Page) Nodes() []Node {
	p.t.Helper()
	tree := get(p, "read the accessibility tree",
		func(ctx context.Context, t *chromedp.Target) (accessibility.GetFullAXTreeResult, error) {
			return cdp.Call(ctx, t, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		})
	var nodes []Node
	for _, n := range tree.Nodes {
		if !n.Ignored {
			nodes = append(nodes, Node{
				Role: text(n.Role), Name: text(n.Name),
				Description: text(n.Description), Value: text(n.Value),
			})
		}
	}
	return nodes
}

// text returns a value of the tree as text, "" for none.
func text(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	return strings.Trim(string(v.Value), `"`)
}
