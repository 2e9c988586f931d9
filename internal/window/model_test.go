package window

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"time"
)

// The models below are what the estimators must be indistinguishable from: one
// goroutine, no stripes, no buckets, exact arithmetic, no care for speed.

// modelEpoch divides with numbers that cannot overflow. Int.Div rounds down
// for a positive divisor.
func modelEpoch(now, width int64) int64 {
	e := new(big.Int).Div(big.NewInt(now), big.NewInt(max(width, 16)))
	return e.Int64()
}

// modelRank is ceil(q*n) for the decimal fraction that q was written as.
func modelRank(q float64, n int) int {
	exact, _ := new(big.Rat).SetString(strconv.FormatFloat(q, 'g', -1, 64))
	exact.Mul(exact, new(big.Rat).SetInt64(int64(n)))
	up := new(big.Int).Add(exact.Num(), exact.Denom())
	up.Sub(up, big.NewInt(1)).Div(up, exact.Denom())
	return min(max(int(up.Int64()), 1), n)
}

// modelBounds lists the upper bound of every bucket, by the definition: each
// microsecond to 8, then eighths of each doubling to 2^27.
func modelBounds() []time.Duration {
	var bounds []time.Duration
	for us := 1; us <= 8; us++ {
		bounds = append(bounds, time.Duration(us)*time.Microsecond)
	}
	for octave := 8; octave < 1<<27; octave *= 2 {
		for eighth := 1; eighth <= 8; eighth++ {
			us := octave + octave/8*eighth
			bounds = append(bounds, time.Duration(us)*time.Microsecond)
		}
	}
	return bounds
}

type modelLatency struct {
	width  int64
	bounds []time.Duration
	ring   map[int64]modelSlice
}

type modelSlice struct {
	epoch     int64
	durations []time.Duration
}

func newModelLatency(window time.Duration) *modelLatency {
	return &modelLatency{
		width:  int64(window) / 4,
		bounds: modelBounds(),
		ring:   map[int64]modelSlice{},
	}
}

func modelPlace(epoch, places int64) int64 {
	return new(big.Int).Mod(big.NewInt(epoch), big.NewInt(places)).Int64()
}

// record keeps, of the epochs that fall on one place of the ring, the one
// written last.
func (m *modelLatency) record(now int64, d time.Duration) {
	if d < 0 {
		return
	}
	e := modelEpoch(now, m.width)
	s := m.ring[modelPlace(e, 4)]
	if s.epoch != e {
		s = modelSlice{epoch: e}
	}
	s.durations = append(s.durations, d)
	m.ring[modelPlace(e, 4)] = s
}

// live returns the durations in the window, in order.
func (m *modelLatency) live(now int64) []time.Duration {
	e := modelEpoch(now, m.width)
	var in []time.Duration
	for _, s := range m.ring {
		if e-4 < s.epoch && s.epoch <= e {
			in = append(in, s.durations...)
		}
	}
	slices.Sort(in)
	return in
}

// quantile returns the exact sample and what the estimator makes of it.
func (m *modelLatency) quantile(
	now int64, q float64, minSamples int,
) (exact, bound time.Duration, ok bool) {
	in := m.live(now)
	if len(in) == 0 || len(in) < minSamples {
		return 0, 0, false
	}
	exact = in[modelRank(q, len(in))-1]
	i, _ := slices.BinarySearch(m.bounds, exact)
	return exact, m.bounds[min(i, len(m.bounds)-1)], true
}

// modelCounts holds, for each stripe and place, one epoch and a count. Epochs
// are cut to 32 bits as documented.
type modelCounts struct {
	successes [stripeCount]modelRing
	failures  modelRing
}

type modelRing map[int64]*modelSlot

type modelSlot struct {
	epoch uint32
	n     uint64
}

func newModelCounts() *modelCounts {
	m := &modelCounts{failures: modelRing{}}
	for i := range m.successes {
		m.successes[i] = modelRing{}
	}
	return m
}

func (r modelRing) add(now, width int64) {
	e := modelEpoch(now, width)
	s := r[modelPlace(e, 10)]
	if s == nil || s.epoch != uint32(e) {
		s = &modelSlot{epoch: uint32(e)}
		r[modelPlace(e, 10)] = s
	}
	s.n = min(s.n+1, math.MaxUint32)
}

func (r modelRing) sum(now, width int64) (n uint64) {
	e := modelEpoch(now, width)
	for age := range int64(10) {
		if s := r[modelPlace(e-age, 10)]; s != nil && s.epoch == uint32(e-age) {
			n += s.n
		}
	}
	return n
}

func (m *modelCounts) sum(now, width int64) (successes, failures uint64) {
	for _, r := range m.successes {
		successes += r.sum(now, width)
	}
	return successes, m.failures.sum(now, width)
}

// script turns bytes into calls, so that random histories and fuzzed ones run
// through the same code. It yields zeros when it runs out.
type script []byte

func (s *script) byte() byte {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return b
}

// wide yields a number of any size, small or huge, of either sign.
func (s *script) wide() int64 {
	mantissa, shift := int64(int8(s.byte())), s.byte()%64
	return mantissa << shift
}
