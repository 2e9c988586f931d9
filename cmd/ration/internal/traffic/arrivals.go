package traffic

import (
	"math"
	"time"
)

// Arrivals are how calls came in.
type Arrivals struct {
	Points     []Point       // the rate over time; one point when it was constant
	Rate       float64       // calls a second, on average
	Dispersion float64       // of the calls in a second, beyond the trend; 1 = independent
	Burst      time.Duration // how long bursts last, on average; 0 = there are none
}

// A Point is the rate at one time.
type Point struct {
	At   time.Duration // since the first call
	Rate float64       // calls a second
}

// leastSeconds is how many it takes to say how bursty calls are.
const leastSeconds = 30

// arrivals describes seconds with at most so many points.
func arrivals(seconds []second, most int) Arrivals {
	counts := make([]float64, len(seconds))
	total := 0.0
	for i, s := range seconds {
		counts[i] = float64(s.calls)
		total += counts[i]
	}
	a := Arrivals{Rate: total / float64(len(seconds)), Dispersion: 1}
	bins := binned(counts, most)
	a.Points = points(bins, len(seconds))
	a.disperse(counts, bins)
	if !trend(bins, len(seconds), a.Dispersion) {
		a.Points = []Point{{0, round(a.Rate, 4)}}
		// What looked like a trend is burstiness, then.
		a.disperse(counts, []float64{a.Rate})
	}
	return a
}

// binned returns the average of equal stretches, each of a good number of seconds.
func binned(counts []float64, most int) []float64 {
	const least = 10 // seconds in a stretch, or the noise of each would be a trend
	n := max(1, min(most, len(counts)/least))
	bins := make([]float64, n)
	for i := range bins {
		from, to := i*len(counts)/n, (i+1)*len(counts)/n
		for _, c := range counts[from:to] {
			bins[i] += c
		}
		bins[i] /= float64(to - from)
	}
	return bins
}

// points puts the average of each stretch in its middle. Linear from point to point,
// with the ends held, that has the same number of calls as the stretches.
func points(bins []float64, seconds int) []Point {
	out := make([]Point, len(bins))
	width := float64(seconds) / float64(len(bins))
	for i, rate := range bins {
		at := time.Duration((float64(i) + 0.5) * width * 1e9).Round(100 * time.Millisecond)
		out[i] = Point{At: at, Rate: round(rate, 4)}
	}
	return out
}

// trend reports whether the stretches differ by more than calls with this dispersion
// do by chance: by four standard deviations, any of them.
func trend(bins []float64, seconds int, dispersion float64) bool {
	mean := 0.0
	for _, rate := range bins {
		mean += rate / float64(len(bins))
	}
	width := float64(seconds) / float64(len(bins))
	deviation := math.Sqrt(max(dispersion, 1) * mean / width)
	for _, rate := range bins {
		if math.Abs(rate-mean) > 4*deviation {
			return true
		}
	}
	return false
}

// disperse works out how bursty the calls are, apart from the trend.
func (a *Arrivals) disperse(counts, bins []float64) {
	var moments [3]float64 // variance, and covariance with one and two seconds later
	mean := 0.0
	n := len(counts)
	off := func(i int) float64 { return counts[i] - bins[min(i*len(bins)/n, len(bins)-1)] }
	for i := 1; i < n-1; i++ { // neither the first nor the last, which are not whole
		mean += counts[i]
		for lag := 0; lag < len(moments) && i+lag < n-1; lag++ {
			moments[lag] += off(i) * off(i+lag)
		}
	}
	a.Dispersion, a.Burst = 1, 0
	if mean == 0 || n < leastSeconds {
		return
	}
	free := float64(n - 2 - len(bins)) // each average uses one of the seconds up
	variance := moments[0] / free
	mean /= float64(n - 2)
	a.Dispersion = variance / mean
	// The index of n independent seconds scatters by √(2/n) around 1.
	if a.Dispersion-1 < max(0.1, 4*math.Sqrt(2/free)) {
		return
	}
	a.memory(mean, moments[1]/free, moments[2]/free, free)
}

// memory estimates how long bursts last. The rate of two states that take turns at
// random forgets exponentially, and the covariances of later seconds tell how fast;
// the dispersion of long stretches follows.
func (a *Arrivals) memory(mean, lag1, lag2, n float64) {
	const brief = 200 * time.Millisecond
	noise := 4 * mean * a.Dispersion / math.Sqrt(n)
	if lag1 < noise {
		a.Burst = brief
		return
	}
	ratio := min(max(lag2/lag1, 0.05), 0.97)
	forget := -1 / math.Log(ratio) // seconds until 1/e is left
	step := 1 - math.Exp(-1/forget)
	spread := lag1 / (forget * forget * step * step) // variance of the rate
	a.Dispersion = max(a.Dispersion, 1+2*spread*forget/mean)
	a.Burst = time.Duration(2 * forget * 1e9).Round(10 * time.Millisecond)
}

// round keeps so many digits, which is more than a measurement has.
func round(x float64, digits int) float64 {
	if x == 0 {
		return 0
	}
	scale := math.Pow(10, float64(digits)-math.Ceil(math.Log10(math.Abs(x))))
	return math.Round(x*scale) / scale
}
