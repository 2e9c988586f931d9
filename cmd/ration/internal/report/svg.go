package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// A drawing collects the elements of an SVG. Everything that comes from outside
// goes through text, which escapes it: what it holds is well-formed and safe in
// HTML as well as in a file of its own.
type drawing struct {
	bytes.Buffer
	scale float64 // of the size on the page; 0 = 1
	fit   float64 // the least width on the page; 0 = any
}

// put writes markup of our own, with numbers and identifiers of our own in it.
func (d *drawing) put(format string, args ...any) {
	for i, a := range args {
		if x, ok := a.(float64); ok {
			args[i] = coordinate(x)
		}
	}
	fmt.Fprintf(d, format, args...)
}

// coordinate shows a position to a tenth of a pixel, which is as much as the eye
// has and keeps long runs small.
func coordinate(x float64) string {
	text := strconv.FormatFloat(x, 'f', 1, 64)
	if text == "-0.0" {
		text = "0.0"
	}
	return strings.TrimSuffix(text, ".0")
}

// text writes a text element. The class says how it is aligned and what it is.
func (d *drawing) text(x, y float64, class, words string) {
	d.put(`<text x="%v" y="%v" class="%s">`, x, y, class)
	d.escape(words)
	d.WriteString("</text>")
}

func (d *drawing) escape(words string) {
	// A bytes.Buffer has no errors.
	_ = xml.EscapeText(d, []byte(clean(words)))
}

// clean returns a name without what could change the text around it: control
// characters, and those that turn the direction of writing.
func clean(words string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return ' '
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(words, string(unicode.ReplacementChar)))
}

// clip returns a name that takes no more than some pixels.
func clip(words string, pixels, size float64) string {
	words = clean(words)
	if width(words, size) <= pixels {
		return words
	}
	letters := []rune(words)
	for len(letters) > 1 && width(string(letters)+"…", size) > pixels {
		letters = letters[:len(letters)-1]
	}
	return string(letters) + "…"
}

// width returns about how wide a text is at a size in pixels, on the safe side
// for the fonts that the page names. It cannot be known: the reader has the font.
func width(words string, size float64) float64 {
	w := 0.0
	for _, r := range words {
		switch {
		case strings.ContainsRune("iljtfr.,:;|!'()[] ", r):
			w += 0.34
		case strings.ContainsRune("mwMW@%", r):
			w += 0.9
		case r >= 0x1100: // about where wide scripts begin
			w += 1.05
		case unicode.IsUpper(r):
			w += 0.7
		default:
			w += 0.57
		}
	}
	return w * size
}

// open begins an SVG that is read as one picture, under a name and with a
// description. The id keeps it apart from others on the page.
func (d *drawing) open(id string, w, h float64, title, desc string) {
	scale := d.scale
	if scale == 0 {
		scale = 1
	}
	d.put(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %v %v" width="%v" height="%v" `+
		`role="img" aria-labelledby="%s-t" aria-describedby="%s-d"`, w, h, w*scale, h*scale, id, id)
	if d.fit > 0 {
		d.put(` style="min-width:%vpx"`, d.fit)
	}
	d.WriteString(">")
	d.put(`<title id="%s-t">`, id)
	d.escape(title)
	d.put(`</title><desc id="%s-d">`, id)
	d.escape(desc)
	d.WriteString("</desc>")
}
