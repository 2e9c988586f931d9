package report

import (
	"math"
	"slices"
	"time"
)

// maxBins bounds what a chart of a long run holds. It is about as many as a
// reader can tell apart in the width of a chart.
const maxBins = 150

// binWidths are the lengths that a reader of a time axis can think in, in
// seconds.
var binWidths = []int{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600}

// Bins divide a run into stretches of equal length, each a point of the charts.
type bins struct {
	width int // seconds
	n     int
}

// binsFor returns bins for runs in which calls arrive for a while. How the last
// of them run out is not shown: without arrivals, every chart falls to zero.
func binsFor(duration time.Duration) bins {
	end := int(math.Ceil(duration.Seconds()))
	b := bins{width: binWidths[len(binWidths)-1]}
	for _, w := range binWidths {
		if (end+w-1)/w <= maxBins {
			b.width = w
			break
		}
	}
	b.n = max(1, (end+b.width-1)/b.width)
	return b
}

// from returns when a bin begins, in seconds.
func (b bins) from(i int) int { return i * b.width }

// end returns when the last bin ends, in seconds.
func (b bins) end() float64 { return float64(b.n * b.width) }

// A band is the range over the seeds at one point; ok is false where no run has
// the number.
type band struct {
	min, median, max float64
	ok               bool
}

// A series is a band for each bin.
type series []band

// A fold makes one number of those in a bin.
type fold func([]float64) float64

func mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

func most(xs []float64) float64 { return slices.Max(xs) }

func middle(xs []float64) float64 {
	xs = slices.Sorted(slices.Values(xs))
	return (xs[(len(xs)-1)/2] + xs[len(xs)/2]) / 2
}

// over folds the seconds of each run, then ranges over the runs. The number of a
// second is not ok where there is none.
func over[R any](runs []R, b bins, f fold, number func(r R, second int) (float64, bool)) series {
	out := make(series, b.n)
	for i := range out {
		var values []float64
		for _, r := range runs {
			var xs []float64
			for s := b.from(i); s < b.from(i+1); s++ {
				if x, ok := number(r, s); ok {
					xs = append(xs, x)
				}
			}
			if len(xs) > 0 {
				values = append(values, f(xs))
			}
		}
		out[i] = bandOver(values)
	}
	return out
}

func bandOver(values []float64) band {
	if len(values) == 0 {
		return band{}
	}
	return band{slices.Min(values), middle(values), slices.Max(values), true}
}

// top returns the largest number, and 0 if there is none.
func (s series) top() float64 {
	top := 0.0
	for _, b := range s {
		if b.ok {
			top = max(top, b.max)
		}
	}
	return top
}

// least returns the smallest number above 0, and +Inf if there is none.
func (s series) least() float64 {
	least := math.Inf(1)
	for _, b := range s {
		if b.ok && b.min > 0 {
			least = min(least, b.min)
		}
	}
	return least
}

// length returns how long a bin is.
func (b bins) length() time.Duration { return time.Duration(b.width) * time.Second }
