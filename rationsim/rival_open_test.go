package rationsim

import (
	"cmp"
	"container/heap"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ration-go/ration"
)

// An openLoop is the model in which the rules are compared where nothing else
// is going on: calls come at random at a constant rate, an attempt takes 50 ms
// whatever the load, a wait is 100 ms give or take a half, and a call makes
// three attempts at most. There is no queue and no timeout, so that all that
// differs between two runs is the rule.
type openLoop struct {
	rate    float64
	failure func(at time.Duration) float64
	until   time.Duration // of the arrivals
	seed    uint64
	limiter Limiter
}

const (
	openAttempt  = 50 * time.Millisecond
	openWait     = 100 * time.Millisecond
	openAttempts = 3
)

// An openCall is one call of the loop, and its own event in the queue.
type openCall struct {
	Held
	at       time.Duration
	began    time.Duration
	attempts int
	waiting  bool
	order    int
}

type openQueue []*openCall

func (q openQueue) Len() int { return len(q) }
func (q openQueue) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[i].at, q[j].at), cmp.Compare(q[i].order, q[j].order)) < 0
}
func (q openQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *openQueue) Push(x any)   { *q = append(*q, x.(*openCall)) }
func (q *openQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// run tells retried of each retry, when it starts, and ended of each call.
func (o *openLoop) run(
	retried func(at time.Duration), ended func(began time.Duration, attempts int, ok bool),
) {
	r := rand.New(rand.NewPCG(o.seed, 0))
	var q openQueue
	calls := 0
	arrive := func(after time.Duration) {
		at := after + time.Duration(r.ExpFloat64()/o.rate*float64(time.Second))
		calls++
		if at < o.until {
			heap.Push(&q, &openCall{at: at, began: at, waiting: true, order: calls})
		}
	}
	again := func(c *openCall, after time.Duration) {
		c.at += after
		heap.Push(&q, c)
	}
	arrive(0)
	for len(q) > 0 {
		c := heap.Pop(&q).(*openCall)
		now := c.at
		if c.waiting { // an attempt is due
			switch {
			case c.attempts == 0:
				arrive(now)
				o.limiter.Begin(now, &c.Held)
			case !o.limiter.Resume(now, &c.Held):
				o.limiter.End(now, &c.Held, false)
				ended(c.began, c.attempts, false)
				continue
			default:
				retried(now)
			}
			c.attempts++
			c.waiting = false
			again(c, openAttempt)
			continue
		}
		end := AttemptEnd{Verdict: ration.VerdictOK}
		if r.Float64() < o.failure(now) {
			end.Verdict = ration.VerdictTransient
		}
		o.limiter.Done(now, &c.Held, end)
		if !end.ok() && c.attempts < openAttempts && o.limiter.Retry(now, &c.Held, end) {
			c.waiting = true
			again(c, openWait/2+time.Duration(r.Float64()*float64(openWait)))
			continue
		}
		o.limiter.End(now, &c.Held, end.ok())
		ended(c.began, c.attempts, end.ok())
	}
}

// rationLimiter is Ration's own budget as a limiter, so that it can stand beside
// the others. What it grants and what does not start is not given back here: no
// call of the loop ends in its wait.
type rationLimiter struct {
	unlimited
	budget *ration.Budget
}

func newRationLimiter() Limiter {
	b, err := ration.NewBudget(ration.DefaultBudgetFraction, ration.DefaultBudgetMinimumPerSecond)
	if err != nil {
		panic(err)
	}
	return &rationLimiter{budget: b}
}

func (l *rationLimiter) Done(now time.Duration, _ *Held, end AttemptEnd) {
	if end.ok() {
		l.budget.Deposit(rivalEpoch.Add(now))
	}
}

func (l *rationLimiter) Retry(now time.Duration, _ *Held, _ AttemptEnd) bool {
	return l.budget.Withdraw(rivalEpoch.Add(now), ration.Critical)
}

var rivalEpoch = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// openSeeds is how often a rule is run at a rate: what is rare is seen too seldom
// in one run.
func openSeeds(rate float64) uint64 { return uint64(max(1, 400/rate)) }

// openOutage measures a total outage after a minute of health: A, the attempts
// per call among the calls that come from its 20th to its 40th second, and B, the
// retries in its first 5 seconds.
func openOutage(limiter func() Limiter, rate float64) (amplification, burst float64) {
	const begins, settled, ends = time.Minute, 80 * time.Second, 100 * time.Second
	var calls, attempts, first float64
	seeds := openSeeds(rate)
	for seed := range seeds {
		o := openLoop{rate: rate, seed: seed, limiter: limiter(), until: ends}
		o.failure = func(at time.Duration) float64 { return float64(count(at >= begins)) }
		o.run(func(at time.Duration) {
			first += float64(count(at >= begins && at < begins+5*time.Second))
		}, func(began time.Duration, n int, _ bool) {
			if began >= settled {
				calls++
				attempts += float64(n)
			}
		})
	}
	return attempts / calls, first / float64(seeds)
}

// openErrors measures C in runs of the given length: of the calls in which each
// attempt fails with probability p, how many fail, in per cent, in each run. The
// rule begins as it does in a process that has just started.
func openErrors(limiter func() Limiter, rate, p float64, length time.Duration, runs int) []float64 {
	percent := make([]float64, runs)
	for i := range percent {
		var calls, failed float64
		o := openLoop{rate: rate, seed: uint64(i), limiter: limiter(), until: length}
		o.failure = func(time.Duration) float64 { return p }
		o.run(func(time.Duration) {}, func(_ time.Duration, _ int, ok bool) {
			calls++
			failed += float64(count(!ok))
		})
		percent[i] = 100 * failed / calls
	}
	return percent
}

// openRates are the calls a second at which the rules are compared.
var openRates = []float64{1, 10, 100, 1000}

// openChances are the rates of failures at which they are.
var openChances = []float64{0.05, 0.1, 0.3}

// openLengths are how long a run of C is at each rate, and openRuns how many
// there are. How long the runs of the old figures were is not known; these give
// what the AWS SDK's rule and stormbreak show there, which tell the length of a
// run by what they had banked.
var (
	openLengths = []time.Duration{
		100 * time.Second, 100 * time.Second, 30 * time.Second, 30 * time.Second,
	}
	openRuns = []int{40, 20, 10, 3}
)

// openFigures are what is measured of a rule, at each of openRates.
type openFigures struct {
	amplification [4]float64      // A
	burst         [4]float64      // B
	errors        [3][4][]float64 // C, at each of openChances, in each run
}

func openMeasure(limiter func() Limiter) *openFigures {
	f := new(openFigures)
	for i, rate := range openRates {
		f.amplification[i], f.burst[i] = openOutage(limiter, rate)
		for j, p := range openChances {
			f.errors[j][i] = openErrors(limiter, rate, p, openLengths[i], openRuns[i])
		}
	}
	return f
}

// finagleInTower is what the old row of Finagle turns out to be: its deposits, in
// the window of tower, that forgets in half the time. The rival is Finagle's own.
type finagleInTower struct{ tower }

func (f *finagleInTower) Begin(now time.Duration, _ *Held) { f.budget.deposit(now) }

func (f *finagleInTower) Done(time.Duration, *Held, AttemptEnd) {}

// openRules are the rules that are measured, Ration's first.
func openRules() []Rival {
	return append([]Rival{{Name: "ration", New: newRationLimiter}}, Rivals()...)
}

// openMeasured measures every rule, and Finagle's in the window of tower, once for
// all the tests.
var openMeasured = sync.OnceValue(func() map[string]*openFigures {
	rules := append(openRules(), Rival{Name: "finagle in tower", New: func() Limiter {
		return &finagleInTower{tower{budget: defaultTowerBudget()}}
	}})
	figures := make([]*openFigures, len(rules))
	var measured sync.WaitGroup
	for i, r := range rules {
		measured.Go(func() { figures[i] = openMeasure(r.New) })
	}
	measured.Wait()
	byName := make(map[string]*openFigures)
	for i, r := range rules {
		byName[r.Name] = figures[i]
	}
	return byName
})
