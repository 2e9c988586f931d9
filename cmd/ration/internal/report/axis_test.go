package report

import (
	"strings"
	"testing"
)

func labels(s scale) string {
	var words []string
	for _, t := range s.ticks {
		words = append(words, t.label)
	}
	return strings.Join(words, ", ")
}

func TestLinear(t *testing.T) {
	for top, want := range map[float64]string{
		0:     "0, 0.25, 0.5, 0.75, 1",
		0.7:   "0, 0.2, 0.4, 0.6, 0.8",
		1:     "0, 0.25, 0.5, 0.75, 1",
		4321:  "0, 2,000, 4,000, 6,000",
		10000: "0, 2,500, 5,000, 7,500, 10,000",
		101:   "0, 50, 100, 150",
	} {
		s := linear(top, amount)
		if got := labels(s); got != want {
			t.Errorf("%v: got %s, want %s", top, got, want)
		}
		if s.place(top) > 1 || s.place(0) != 0 {
			t.Errorf("%v is not on the axis", top)
		}
	}
}

func TestLogarithmic(t *testing.T) {
	for _, v := range []struct {
		low, high float64
		want      string
	}{
		{0.02, 3, "20 ms, 50 ms, 100 ms, 200 ms, 500 ms, 1 s, 2 s, 5 s"},
		{0.012, 0.041, "10 ms, 20 ms, 50 ms"},
		{0.0004, 45, "1 ms, 10 ms, 100 ms, 1 s, 10 s"},
		{0.02, 0.02, "20 ms, 50 ms"},
	} {
		s := logarithmic(v.low, v.high, seconds)
		if got := labels(s); got != v.want {
			t.Errorf("%v to %v: got %s, want %s", v.low, v.high, got, v.want)
		}
		if s.low > v.low*1.0001 || s.high < v.high*0.9999 {
			t.Errorf("%v to %v: the axis has %v to %v", v.low, v.high, s.low, s.high)
		}
	}
}

func TestTimeline(t *testing.T) {
	for end, want := range map[float64]string{
		20:     "0, 5, 10, 15, 20 s",
		60:     "0, 15, 30, 45, 60 s",
		120:    "0, 30, 60, 90, 120 s",
		180:    "0, 1, 2, 3 min",
		300:    "0, 1, 2, 3, 4, 5 min",
		3600:   "0, 15, 30, 45, 60 min",
		86400:  "0, 6, 12, 18, 24 h",
		604800: "0, 2, 4, 6 d",
	} {
		if got := labels(timeline(end, 5)); got != want {
			t.Errorf("%v: got %s, want %s", end, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, v := range []struct{ got, want string }{
		{percent(1), "100.00%"}, {percent(0.999999), ">99.99%"}, {percent(1e-7), "<0.01%"},
		{seconds(0), "0 s"}, {seconds(0.00042), "420 µs"}, {seconds(0.379), "379 ms"},
		{seconds(0.9996), "1 s"}, {seconds(17.44), "17.4 s"}, {seconds(600), "10 min"},
		{measured(1), "1.00 s"}, {measured(0.0204), "20.4 ms"},
		{amount(1234567), "1,234,567"}, {amount(999.7), "1,000"}, {amount(0.25), "0.25"},
		{times(1.306), "1.31×"},
	} {
		if v.got != v.want {
			t.Errorf("got %s, want %s", v.got, v.want)
		}
	}
}
