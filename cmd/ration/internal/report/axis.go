package report

import (
	"math"
	"strconv"
)

// A scale places numbers between 0 and 1 along an axis, and has the round ones
// that the axis is labelled with.
type scale struct {
	low, high float64
	log       bool
	ticks     []tick
}

type tick struct {
	at    float64
	label string
}

func (s scale) place(x float64) float64 {
	if s.log {
		x = math.Log(max(x, s.low)/s.low) / math.Log(s.high/s.low)
	} else {
		x = (x - s.low) / (s.high - s.low)
	}
	return min(max(x, 0), 1)
}

// linear returns a scale from 0 to a round number that is no less than top.
func linear(top float64, label func(float64) string) scale {
	if !(top > 0) {
		top = 1
	}
	step := roundUp(top / 4)
	n := math.Ceil(top/step - 1e-9)
	s := scale{high: n * step}
	for i := 0.0; i <= n; i++ {
		s.ticks = append(s.ticks, tick{i * step, label(i * step)})
	}
	return s
}

// roundUp returns the least of 1, 2, 2.5 and 5 times a power of ten that is no
// less than x.
func roundUp(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if x <= m*power*(1+1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// logarithmic returns a scale that holds low and high, with a label at
// every power of ten, or at 1, 2 and 5 times it where there are few.
func logarithmic(low, high float64, label func(float64) string) scale {
	if !(low > 0) || math.IsInf(low, 0) || !(high > 0) {
		low, high = 0.001, 1
	}
	steps := stepsAround(low, high)
	s := scale{low: steps[0], high: steps[len(steps)-1], log: true}
	few := len(steps) <= 8
	for _, x := range steps {
		decade := math.Log10(x)
		if few || math.Abs(decade-math.Round(decade)) < 1e-9 {
			s.ticks = append(s.ticks, tick{x, label(x)})
		}
	}
	return s
}

// stepsAround returns 1, 2 and 5 times powers of ten, from the last that is no
// more than low to the first that is no less than high; at least two.
func stepsAround(low, high float64) (steps []float64) {
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		for _, m := range []float64{1, 2, 5} {
			steps = append(steps, m*math.Pow(10, e))
		}
	}
	for len(steps) > 2 && steps[1] <= low*(1+1e-9) {
		steps = steps[1:]
	}
	for len(steps) > 2 && steps[len(steps)-2] >= high*(1-1e-9) {
		steps = steps[:len(steps)-1]
	}
	return steps
}

// timeSteps are the distances of labels on a time axis, in seconds.
var timeSteps = []float64{
	1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400,
	172800,
}

// timeline returns the scale of the time since the start, in at most so many
// steps. The unit stands once, at the last label.
func timeline(end float64, most int) scale {
	step := timeSteps[len(timeSteps)-1]
	for _, t := range timeSteps {
		// From three minutes on people think in minutes.
		if math.Floor(end/t) <= float64(most) && (end < 180 || t >= 60) {
			step = t
			break
		}
	}
	unit, name := 1.0, " s"
	switch {
	case step >= 86400:
		unit, name = 86400, " d"
	case step >= 3600:
		unit, name = 3600, " h"
	case step >= 60:
		unit, name = 60, " min"
	}
	s := scale{high: end}
	for t := 0.0; t <= end; t += step {
		s.ticks = append(s.ticks, tick{t, strconv.FormatFloat(t/unit, 'f', -1, 64)})
	}
	s.ticks[len(s.ticks)-1].label += name
	return s
}
