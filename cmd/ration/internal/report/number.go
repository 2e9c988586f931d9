package report

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// noNumber stands where there is nothing that a number could be about.
const noNumber = "–"

// percent shows a share. Only all is 100% and only nothing 0%.
func percent(share float64) string {
	text := strconv.FormatFloat(100*share, 'f', 2, 64)
	switch {
	case text == "100.00" && share < 1:
		return ">99.99%"
	case text == "0.00" && share > 0:
		return "<0.01%"
	}
	return text + "%"
}

func times(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) + "×" }

// seconds shows a time as short as it can be.
func seconds(s float64) string { return span(s, digits) }

// measured shows a time with three digits, which is more than a simulation can
// promise and as many as people compare.
func measured(s float64) string { return span(s, threeDigits) }

func span(s float64, number func(float64) string) string {
	switch {
	case s == 0:
		return "0 s"
	case s < 0.9995e-3:
		return number(s*1e6) + " µs"
	case s < 0.9995:
		return number(s*1e3) + " ms"
	case s < 119.95:
		return number(s) + " s"
	}
	return number(s/60) + " min"
}

func threeDigits(x float64) string {
	places := 0
	for y := math.Abs(x); y < 99.95 && places < 2; y *= 10 {
		places++
	}
	return strconv.FormatFloat(x, 'f', places, 64)
}

// digits shows three of them, and no more than the number has.
func digits(x float64) string {
	text := threeDigits(x)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// amount shows a rate or a number of things, with its thousands apart.
func amount(x float64) string {
	if math.Abs(x) < 99.95 {
		return digits(x)
	}
	text := strconv.FormatFloat(x, 'f', 0, 64)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// clock shows a time since the start, as somebody would write it.
func clock(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func factor(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) + "×" }
