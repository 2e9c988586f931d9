package report

import "strings"

// colours are those of the sides, in the light and in the dark: the palette of
// Okabe and Ito, which the colour-blind can tell apart, made a little darker for
// white paper and lighter for a black screen. Nothing is told by colour alone.
var colours = []struct{ light, dark string }{
	{"#c44e00", "#f28a45"}, // vermilion
	{"#0069a8", "#56b4e9"}, // blue
	{"#007a59", "#2fc29a"}, // green
	{"#a8447f", "#de8fbb"}, // purple
	{"#946300", "#e6b422"}, // orange
	{"#3b6f8f", "#9cc9e3"}, // sky
	{"#6b5b00", "#e8dc5a"}, // yellow
	{"#555555", "#b8b8b8"}, // grey
}

// chartCSS is what drawings need, on the page and in a file of their own. Names
// are short because there are many elements.
const chartCSS = `
svg{font:12px/1 -apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
font-variant-numeric:tabular-nums;color:var(--ink)}
svg text{unicode-bidi:isolate;fill:currentColor;stroke:none}
.k,.b{fill:var(--c)}.b{opacity:.22}
.l{fill:none;stroke:var(--c);stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}
.m{stroke-width:1.3;stroke-dasharray:5 3}
.r{fill:none;stroke:var(--soft);stroke-width:1.3;stroke-dasharray:1 3;stroke-linecap:round}
.g{fill:none;stroke:var(--soft);stroke-width:1.2;stroke-dasharray:4 3}
.h{stroke:var(--rule)}.a{stroke:var(--axis)}
.t{fill:var(--shade)}.u{stroke:var(--axis);stroke-width:1.5;fill:none}
.n{font-weight:600}
.e{text-anchor:end;color:var(--soft)}.i{text-anchor:middle;color:var(--soft)}
.s{font-size:11px;color:var(--soft)}
svg .d{font-size:11px;paint-order:stroke;stroke:var(--paper);stroke-width:3px;
stroke-linejoin:round}
.f{text-anchor:end}
.p{fill:var(--paper)}.o{text-anchor:middle;font-size:11px}.o.n{font-size:12px}
.q{font-size:11px}.q.c1,.q.c2,.q.c3,.q.c4{color:var(--c);font-weight:600}
.w{fill:none;stroke:var(--axis)}.z{stroke-dasharray:6 3;stroke:var(--soft)}.v{fill:var(--ink)}
.x{fill:var(--tint);stroke:var(--axis)}.y{fill:var(--shade);stroke:var(--ink);stroke-width:2}
`

// palette returns the rules that set the colours, for one kind of light.
func palette(dark bool) string {
	var out strings.Builder
	for i, c := range colours {
		colour := c.light
		if dark {
			colour = c.dark
		}
		out.WriteString(".c" + string(rune('1'+i)) + "{--c:" + colour + "}")
	}
	if dark {
		return ":root{--paper:#14171a;--ink:#e4e6e8;--soft:#a4abb3;--rule:#2a2f35;--axis:#6b747d;" +
			"--shade:#22272d;--tint:#1b2025;--fade:#30373e;--link:#7fc4f2}" + out.String()
	}
	return ":root{--paper:#fff;--ink:#1c2126;--soft:#59626b;--rule:#e3e6e9;--axis:#8b949d;" +
		"--shade:#f0f1f3;--tint:#f6f7f8;--fade:#e6e9ec;--link:#0060a0}" + out.String()
}

// themes returns the palettes with the conditions for each. Paper is light,
// whatever the screen is.
func themes() string {
	return palette(false) + "@media screen and (prefers-color-scheme:dark){" + palette(true) + "}"
}
