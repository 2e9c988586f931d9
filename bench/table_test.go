package bench

import (
	"runtime"
	"sync"
	"testing"
)

// A group is one benchmark and one table of docs/performance.md.
type group struct {
	name string
	rows []row
}

// A row is one job, done by each peer that can do it.
type row struct {
	name       string
	goroutines int // that share one peer's state; 0 = 1
	procs      int // GOMAXPROCS; 0 = as it is
	peers      []peer
}

// A peer is one implementation of a row's job.
type peer struct {
	name string

	// prepare builds the state and returns a function that does the job n times.
	// It is called once for each measurement, and the function by each of the
	// row's goroutines.
	prepare func(tb testing.TB) func(n int)

	// allocs is what one job of ours allocates at most. Of others it is not asked.
	allocs float64
}

// ours is the name of Ration in every row; variants are ours-and-something.
const ours = "ration"

// groups is the whole table. BenchmarkX runs the group of the same name, so that
// a group can be chosen with -bench.
var groups = []group{
	floorGroup,
	successGroup,
	timeoutGroup,
	failureGroup,
	refusalGroup,
	budgetGroup,
	extraGroup,
	scalingGroup,
	httpGroup,
	grpcGroup,
}

func BenchmarkFloor(b *testing.B)   { floorGroup.run(b) }
func BenchmarkSuccess(b *testing.B) { successGroup.run(b) }
func BenchmarkTimeout(b *testing.B) { timeoutGroup.run(b) }
func BenchmarkFailure(b *testing.B) { failureGroup.run(b) }
func BenchmarkRefusal(b *testing.B) { refusalGroup.run(b) }
func BenchmarkBudget(b *testing.B)  { budgetGroup.run(b) }
func BenchmarkExtra(b *testing.B)   { extraGroup.run(b) }
func BenchmarkScaling(b *testing.B) { scalingGroup.run(b) }
func BenchmarkHTTP(b *testing.B)    { httpGroup.run(b) }
func BenchmarkGRPC(b *testing.B)    { grpcGroup.run(b) }

func (g group) run(b *testing.B) {
	for _, r := range g.rows {
		for _, p := range r.peers {
			b.Run(r.name+"/"+p.name, func(b *testing.B) {
				loop := p.prepare(b)
				if r.procs != 0 {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(r.procs))
				}
				b.ReportAllocs()
				loop(1) // what is made once is not the job
				b.ResetTimer()
				share(b.N, max(r.goroutines, 1), loop)
			})
		}
	}
}

// share divides n jobs among goroutines, so that a figure is wall time per job.
func share(n, goroutines int, loop func(n int)) {
	if goroutines == 1 {
		loop(n)
		return
	}
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() { loop((n + i) / goroutines) })
	}
	wg.Wait()
}

// repeat makes a loop of a job that is too long for the call of it to matter.
func repeat(job func()) func(n int) {
	return func(n int) {
		for range n {
			job()
		}
	}
}
