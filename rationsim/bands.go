package rationsim

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
)

// A Band is the range of one number over several seeds.
type Band struct {
	Min, Median, Max float64 // all zero when no run has the number
}

// Separates reports whether two bands do not overlap, so that the difference
// between two configurations is more than the luck of a seed.
func Separates(a, b Band) bool { return a.Max < b.Min || b.Max < a.Min }

// Bands are the reports of one configuration over several seeds, and the range
// of each headline number. A number that a run does not have, such as the
// recovery of one that did not recover, is left out of its band. It is a value.
type Bands struct {
	Name           string
	Reports        []*Report // by seed
	Availability   Band
	LoadMultiplier Band
	Amplification  Band
	P99            Band // seconds
	TimeToRecover  Band // seconds
	Recovered      int  // runs that did
}

var errSeeds = errors.New("rationsim: the number of seeds is below 1")

// RunSeeds runs n simulations with the seeds seed, seed+1, … on as many cores
// as there are. The result does not depend on how many that is.
func RunSeeds(s Scenario, c Config, seed uint64, n int) (*Bands, error) {
	return RunSeedsContext(context.Background(), s, c, seed, n)
}

// RunSeedsContext is [RunSeeds] for as long as ctx lasts, whose end is an error.
func RunSeedsContext(
	ctx context.Context, s Scenario, c Config, seed uint64, n int,
) (*Bands, error) {
	if n < 1 {
		return nil, errSeeds
	}
	reports, err := inParallel(ctx, n, func(ctx context.Context, i int) (*Report, error) {
		return s.run(ctx, c, seed+uint64(i))
	})
	if err != nil {
		return nil, err
	}
	return newBands(c.Name, reports), nil
}

// inParallel returns the results of run for 0 to n-1, which do not know of each
// other, or the error of the first that has one.
func inParallel[R any](
	ctx context.Context, n int, run func(ctx context.Context, i int) (R, error),
) ([]R, error) {
	results := make([]R, n)
	errs := make([]error, n)
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := range next {
				results[i], errs[i] = run(ctx, i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return results, nil
}

func newBands(name string, reports []*Report) *Bands {
	b := &Bands{Name: name, Reports: reports}
	b.Availability = band(reports, func(r *Report) (float64, bool) {
		return r.Availability, r.Calls > 0
	})
	b.LoadMultiplier = band(reports, func(r *Report) (float64, bool) {
		return r.LoadMultiplier, r.Calls > 0
	})
	b.Amplification = band(reports, func(r *Report) (float64, bool) {
		return r.Amplification, r.Calls > 0
	})
	b.P99 = band(reports, func(r *Report) (float64, bool) {
		if r.Latency == nil {
			return 0, false
		}
		return r.Latency.P99.Seconds(), true
	})
	b.TimeToRecover = band(reports, func(r *Report) (float64, bool) {
		if r.Recovered {
			b.Recovered++
		}
		return r.TimeToRecover.Seconds(), r.Recovered
	})
	return b
}

func band[R any](reports []R, number func(R) (float64, bool)) Band {
	var xs []float64
	for _, r := range reports {
		if x, ok := number(r); ok {
			xs = append(xs, x)
		}
	}
	if len(xs) == 0 {
		return Band{}
	}
	slices.Sort(xs)
	median := xs[len(xs)/2]
	if len(xs)%2 == 0 {
		median = (xs[len(xs)/2-1] + median) / 2
	}
	return Band{Min: xs[0], Median: median, Max: xs[len(xs)-1]}
}
