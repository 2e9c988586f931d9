package window

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestMemoSteps(t *testing.T) {
	const ttl = 10 * sec
	type put struct {
		v     time.Duration
		known bool
	}
	type step struct {
		at    time.Duration
		put   *put // nil = only read
		ttl   time.Duration
		v     time.Duration
		known bool
		fresh bool
	}
	known := func(v time.Duration) *put { return &put{v, true} }
	unknown := &put{5, false}
	for name, steps := range map[string][]step{
		"never put": {
			{at: 0, ttl: ttl},
			{at: 0, ttl: math.MaxInt64},
		},
		"grows stale": {
			{at: sec, put: known(ms), ttl: ttl, v: ms, known: true, fresh: true},
			{at: 11 * sec, ttl: ttl, v: ms, known: true, fresh: true},
			{at: 11*sec + 1, ttl: ttl, v: ms, known: true},
			{at: 11*sec + 1, put: known(0), ttl: ttl, v: 0, known: true, fresh: true},
		},
		"unknown is remembered": {
			{at: 0, put: unknown, ttl: ttl, fresh: true},
			{at: 11 * sec, ttl: ttl},
		},
		// C36: the clock steps back an hour.
		"step back": {
			{at: 3600 * sec, put: known(ms), ttl: ttl, v: ms, known: true, fresh: true},
			{at: 3590 * sec, ttl: ttl, v: ms, known: true, fresh: true},
			{at: 3590*sec - 1, ttl: ttl, v: ms, known: true},
			{at: 0, put: known(2 * ms), ttl: ttl, v: 2 * ms, known: true, fresh: true},
		},
		"ends of time": {
			{at: math.MinInt64, put: known(ms), ttl: 0, v: ms, known: true, fresh: true},
			{at: math.MaxInt64, ttl: math.MaxInt64, v: ms, known: true},
			{at: -1, ttl: math.MaxInt64, v: ms, known: true, fresh: true},
			{at: 0, ttl: math.MaxInt64, v: ms, known: true},
		},
		"negative ttl": {
			{at: 0, put: known(ms), ttl: -1, v: ms, known: true},
		},
		"extreme values": {
			{at: 0, put: known(-1), ttl: ttl, v: 0, known: true, fresh: true},
			{at: 0, put: known(math.MinInt64), ttl: ttl, v: 0, known: true, fresh: true},
			{at: 0, put: known(math.MaxInt64), ttl: ttl, v: math.MaxInt64 - 2, known: true, fresh: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var m Memo
			for i, s := range steps {
				if s.put != nil {
					m.Put(int64(s.at), s.put.v, s.put.known)
				}
				v, known, fresh := m.Get(int64(s.at), s.ttl)
				if v != s.v || known != s.known || fresh != s.fresh {
					t.Errorf("step %d at %v: %v, %v, %v, want %v, %v, %v",
						i, s.at, v, known, fresh, s.v, s.known, s.fresh)
				}
			}
		})
	}
}

// TestMemoTorn has one writer put its own time as the value. A reader that
// finds the time it asks for must find that value or a later one with it.
func TestMemoTorn(t *testing.T) {
	const last = 200_000
	var m Memo
	var now atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := int64(1); i <= last; i++ {
			now.Store(i)
			m.Put(i, time.Duration(i), true)
		}
	})
	for range 2 {
		wg.Go(func() {
			for at := int64(0); at < last; {
				at = now.Load()
				if v, _, fresh := m.Get(at, 0); fresh && int64(v) < at {
					t.Errorf("value %d under the time %d", v, at)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestMemoWriters has two writers put once each, at the same moment, many times
// over. Neither round may leave the time of one beside the value of the other.
func TestMemoWriters(t *testing.T) {
	const rounds = 20_000
	var m Memo
	var round, done atomic.Int64
	var wg sync.WaitGroup
	for w := range int64(2) {
		wg.Go(func() {
			for i := int64(1); i <= rounds; i++ {
				for round.Load() < i {
					runtime.Gosched()
				}
				m.Put(2*i+w, time.Duration(2*i+w), true)
				done.Add(1)
			}
		})
	}
	torn := 0
	for i := int64(1); i <= rounds; i++ {
		round.Store(i)
		for done.Load() < 2*i {
			runtime.Gosched()
		}
		v, _, _ := m.Get(0, 0)
		if _, _, fresh := m.Get(int64(v), 0); !fresh || int64(v) < 2*i {
			torn++
		}
	}
	wg.Wait()
	if torn > 0 {
		t.Errorf("%d of %d rounds left a value beside the time of another", torn, rounds)
	}
}

func TestMemoAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	m := new(Memo)
	if n := testing.AllocsPerRun(100, func() {
		m.Put(1, ms, true)
		m.Get(1, ms)
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
