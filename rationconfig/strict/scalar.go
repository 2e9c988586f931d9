package strict

import (
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// A Scalar is a type with a spelling of its own.
type Scalar interface {
	// Set reads the text, quoted or not, and reports whether it could.
	Set(text string) bool

	// Want says what the text should be, to complete "x is not ...".
	Want() string
}

// Duration is a duration, spelled as [time.ParseDuration] has it: what a number
// without a unit means is anybody's guess.
type Duration time.Duration

// Set implements [Scalar].
func (d *Duration) Set(text string) bool {
	parsed, err := time.ParseDuration(text)
	*d = Duration(parsed)
	return err == nil && text != "0" && text != "+0" && text != "-0"
}

// Want implements [Scalar].
func (d *Duration) Want() string { return "a duration such as 250ms" }

// Limit is a duration that bounds something, above zero, or "none". It is a value.
type Limit struct {
	Duration time.Duration // 0 with None
	None     bool          // there is no bound
}

// Set implements [Scalar].
func (l *Limit) Set(text string) bool {
	if text == "none" {
		*l = Limit{None: true}
		return true
	}
	var d Duration
	ok := d.Set(text) && d > 0
	l.Duration = time.Duration(d)
	return ok
}

// Want implements [Scalar].
func (l *Limit) Want() string { return "a duration above 0, such as 250ms, or none" }

// Share is a part of a whole, spelled 0.1 or 10%.
type Share float64

// Set implements [Scalar].
func (s *Share) Set(text string) bool {
	number, percent := strings.CutSuffix(text, "%")
	x, ok := parseFloat(strings.TrimRight(number, " "))
	if percent {
		x /= 100
	}
	*s = Share(x)
	return ok
}

// Want implements [Scalar].
func (s *Share) Want() string { return "a share such as 0.1 or 10%" }

func (d *Document) scalar(path string, n *yaml.Node, v reflect.Value, within string) {
	want, ok := read(n, v)
	if within != "" {
		r := parseRange(within)
		ok = ok && r.holds(number(v))
		if strings.Contains(want, "such as") {
			want += ","
		}
		want += r.String()
	}
	if !ok {
		d.problem(n.Line, path, "%s is not %s", quote(n), want)
		v.SetZero()
	}
}

// read sets v, and says what it should be and whether it is.
func read(n *yaml.Node, v reflect.Value) (want string, ok bool) {
	isText := n.Kind == yaml.ScalarNode
	if s, isScalar := v.Addr().Interface().(Scalar); isScalar {
		return s.Want(), isText && s.Set(n.Value)
	}
	if v.Kind() == reflect.String {
		v.SetString(n.Value)
		return "a text; put it in quotes", isText && n.ShortTag() == "!!str"
	}
	want, ok = readPlain(n.Value, v)
	return want, ok && isText && !quoted(n)
}

// readPlain reads what has no quotes around it.
func readPlain(text string, v reflect.Value) (want string, ok bool) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(text == "true")
		return "true or false", text == "true" || text == "false"
	case reflect.Int:
		n, ok := Whole(text)
		v.SetInt(int64(n))
		return "a whole number", ok
	case reflect.Uint64:
		n, err := strconv.ParseUint(text, 10, 64)
		v.SetUint(n)
		return "a whole number", err == nil
	case reflect.Float64:
		x, ok := parseFloat(text)
		v.SetFloat(x)
		return "a number", ok
	}
	//nolint:forbidigo // a faulty program, whatever the file
	panic("strict: no way to read a " + v.Type().String())
}

// Whole reads a whole number, for scalars that are one or a word.
func Whole(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// parseFloat takes decimal numbers only. The standard parser knows hexadecimal ones
// and infinities too.
func parseFloat(text string) (float64, bool) {
	if strings.Trim(text, "0123456789.eE+-") != "" {
		return 0, false
	}
	x, err := strconv.ParseFloat(text, 64)
	return x, err == nil
}

func number(v reflect.Value) float64 {
	switch {
	case v.CanInt():
		return float64(v.Int())
	case v.CanUint():
		return float64(v.Uint())
	}
	return v.Float()
}

// An interval bounds a number, each end inclusive or not.
type interval struct {
	least, most  float64
	above, below bool // the ends are excluded
}

// parseRange reads the tag of a field, such as (0,1] or [1,). There is always a
// lower end.
func parseRange(text string) interval {
	low, high, _ := strings.Cut(text[1:len(text)-1], ",")
	r := interval{mustFloat(low), math.Inf(1), text[0] == '(', text[len(text)-1] == ')'}
	if high != "" {
		r.most = mustFloat(high)
	}
	return r
}

func mustFloat(text string) float64 {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		//nolint:forbidigo // likewise
		panic("strict: a tag that is no range: " + err.Error())
	}
	return x
}

func (r interval) holds(x float64) bool {
	return (x > r.least || !r.above && x == r.least) && (x < r.most || !r.below && x == r.most)
}

// String says which numbers these are, to follow "a number".
func (r interval) String() string {
	text := " from " + decimal(r.least)
	if r.above {
		text = " above " + decimal(r.least)
	}
	switch {
	case math.IsInf(r.most, 0):
		return text
	case r.below:
		return text + " and below " + decimal(r.most)
	}
	return text + " up to " + decimal(r.most)
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
