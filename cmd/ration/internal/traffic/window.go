package traffic

import (
	"slices"
	"time"
)

// A Window is a stretch of trouble.
type Window struct {
	From, For time.Duration // since the first call
	Slower    float64       // how many times as long what succeeded took; 0 = not remarkable
	Failing   float64       // the share of calls that failed; 0 = not remarkable
}

const (
	slowerBy    = 2.0  // times the median stretch
	failingBy   = 3.0  // times the average share, and
	failingAt   = 0.05 // this much at least
	mostWindows = 5
)

// windows finds the stretches that stand out: slow ones, and failing ones.
func windows(seconds []second) []Window {
	width := max(5, len(seconds)/200)
	var sums []sum
	for from := 0; from < len(seconds); from += width {
		var s sum
		for _, x := range seconds[from:min(from+width, len(seconds))] {
			s.add(x)
		}
		sums = append(sums, s)
	}
	usual, failing := usualOf(sums)
	slow := runs(sums, width, func(s sum) bool {
		return s.succeeded >= 10 && usual > 0 && s.slow/s.succeeded >= slowerBy*usual
	}, func(s sum) Window { return Window{Slower: round(s.slow/s.succeeded/usual, 2)} })
	bad := runs(sums, width, func(s sum) bool {
		return s.failed >= 5 && s.failed/s.calls >= max(failingAt, failingBy*failing)
	}, func(s sum) Window { return Window{Failing: round(s.failed/s.calls, 3)} })
	return append(slow, bad...)
}

// A sum is what began in several seconds.
type sum struct{ calls, failed, succeeded, slow float64 }

func (s *sum) add(x second) {
	s.calls += float64(x.calls)
	s.failed += float64(x.failed)
	s.succeeded += float64(x.succeeded)
	s.slow += float64(x.slow)
}

func (s *sum) addSum(x sum) {
	s.calls += x.calls
	s.failed += x.failed
	s.succeeded += x.succeeded
	s.slow += x.slow
}

// usualOf returns the medians over the stretches: of the mean duration and of the
// share that failed. Half of the time may be trouble before they are.
func usualOf(sums []sum) (duration, failing float64) {
	var durations, shares []float64
	for _, s := range sums {
		if s.succeeded >= 10 {
			durations = append(durations, s.slow/s.succeeded)
		}
		if s.calls >= 10 {
			shares = append(shares, s.failed/s.calls)
		}
	}
	slices.Sort(durations)
	slices.Sort(shares)
	if len(durations) > 0 {
		duration = durations[len(durations)/2]
	}
	if len(shares) > 0 {
		failing = shares[len(shares)/2]
	}
	return duration, failing
}

// runs joins stretches in a row that stand out, and returns the worst of them by the
// number of calls concerned, in order.
func runs(sums []sum, width int, out func(sum) bool, window func(sum) Window) []Window {
	type run struct {
		Window
		calls float64
	}
	var found []run
	for i := 0; i < len(sums); i++ {
		if !out(sums[i]) {
			continue
		}
		var s sum
		from := i
		for ; i < len(sums) && out(sums[i]); i++ {
			s.addSum(sums[i])
		}
		w := window(s)
		w.From = time.Duration(from*width) * time.Second
		w.For = time.Duration((i-from)*width) * time.Second
		found = append(found, run{w, s.calls})
	}
	slices.SortStableFunc(found, func(a, b run) int { return int(b.calls - a.calls) })
	found = found[:min(len(found), mostWindows)]
	slices.SortFunc(found, func(a, b run) int { return int(a.From - b.From) })
	var ws []Window
	for _, f := range found {
		ws = append(ws, f.Window)
	}
	return ws
}
