package report

import (
	"testing"
	"time"
)

func TestBins(t *testing.T) {
	for length, want := range map[time.Duration]bins{
		20 * time.Second:        {1, 20},
		1500 * time.Millisecond: {1, 2},
		5 * time.Minute:         {2, 150},
		time.Hour:               {30, 120},
		24 * time.Hour:          {600, 144},
		7 * 24 * time.Hour:      {7200, 84},
	} {
		if got := binsFor(length); got != want {
			t.Errorf("%v: got %v, want %v", length, got, want)
		}
	}
}

func TestOver(t *testing.T) {
	runs := [][]float64{{1, 3, 10, 20}, {5, 7, 30, 40}, {2, 2, -1, -1}} // -1: none
	s := over(runs, bins{2, 2}, mean, func(r []float64, second int) (float64, bool) {
		return r[second], r[second] >= 0
	})
	want := series{{2, 2, 6, true}, {15, 25, 35, true}}
	for i := range want {
		if s[i] != want[i] {
			t.Errorf("bin %d: got %v, want %v", i, s[i], want[i])
		}
	}
}
