package browser

import (
	"bytes"
	"fmt"
	"image"
	"image/png"

	"github.com/chromedp/chromedp"
)

// A Box is where an element is on the page, in CSS pixels.
type Box struct {
	X, Y          float64 // of its top left corner, from that of the page
	Width, Height float64
}

// Boxes returns where the elements are that a CSS selector finds.
func (p *Page) Boxes(selector string) []Box {
	p.t.Helper()
	return Eval[[]Box](p, fmt.Sprintf(`[...document.querySelectorAll(%q)].map((e) => {
		const b = e.getBoundingClientRect();
		return {X: b.x + scrollX, Y: b.y + scrollY, Width: b.width, Height: b.height};
	})`, selector))
}

// A Gist is what is left of a picture that is reduced to a few cells, each with
// its mean darkness from 0 to 255: what one sees of it with half-closed eyes.
// Letters of another font hardly change it; a line elsewhere does.
type Gist []byte

// gistColumns and gistRows are about as many as a small chart has features.
const (
	gistColumns = 24
	gistRows    = 12
)

// Gists returns those of parts of the page.
func (p *Page) Gists(boxes []Box) []Gist {
	p.t.Helper()
	data := get(p, "take a picture", chromedp.FullScreenshot(100))
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		p.t.Fatal(err)
	}
	width := Eval[float64](p, "document.documentElement.scrollWidth")
	scale := float64(picture.Bounds().Dx()) / width
	var gists []Gist
	for _, b := range boxes {
		gists = append(gists, gistOf(picture, image.Rect(int(b.X*scale), int(b.Y*scale),
			int((b.X+b.Width)*scale), int((b.Y+b.Height)*scale))))
	}
	return gists
}

func gistOf(picture image.Image, part image.Rectangle) Gist {
	part = part.Intersect(picture.Bounds())
	sums := make([]float64, gistColumns*gistRows)
	counts := make([]float64, len(sums))
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			r, g, b, _ := picture.At(x, y).RGBA()
			row, column := (y-part.Min.Y)*gistRows/part.Dy(), (x-part.Min.X)*gistColumns/part.Dx()
			sums[row*gistColumns+column] += 255 - (0.2126*float64(r)+0.7152*float64(g)+0.0722*float64(b))/257
			counts[row*gistColumns+column]++
		}
	}
	out := make(Gist, len(sums))
	for i, s := range sums {
		out[i] = byte(s / max(counts[i], 1))
	}
	return out
}

// Distance is how far two gists are from each other, from 0 to 1: the share of
// all darkness that is not at the same place. Neighbouring cells lend to each
// other, since a letter may end up on either side of their border.
func (g Gist) Distance(other Gist) float64 {
	if len(g) != len(other) {
		return 1
	}
	a, b := g.blurred(), other.blurred()
	differ, all := 0.0, 0.0
	for i := range a {
		differ += max(a[i]-b[i], b[i]-a[i])
		all += max(a[i], b[i])
	}
	return differ / max(all, 1)
}

func (g Gist) blurred() []float64 {
	out := make([]float64, len(g))
	for i := range g {
		x, y, n := i%gistColumns, i/gistColumns, 0.0
		for row := max(y-1, 0); row <= min(y+1, gistRows-1); row++ {
			for column := max(x-1, 0); column <= min(x+1, gistColumns-1); column++ {
				out[i] += float64(g[row*gistColumns+column])
				n++
			}
		}
		out[i] /= n
	}
	return out
}
