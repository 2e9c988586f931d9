package traffic

import (
	"cmp"
	"slices"
	"time"
)

const (
	chunkLength = 3600 // seconds

	// mostChunks is eight days of hours: a simulation takes a week.
	mostChunks = 192

	// strayGap and strayShare say which hours are the work of a wrong clock: few
	// calls, far from the others.
	strayGap   = 3600
	strayShare = 0.01
)

// A second is what began within one.
type second struct {
	calls, failed uint32
	succeeded     uint32 // with a duration
	slow          float32
}

type chunk [chunkLength]second

// A timeline counts by seconds, in any order. Its memory is bounded by mostChunks,
// which is 10 MB; what is beyond is counted and left out.
type timeline struct {
	chunks map[int64]*chunk
	last   *chunk // of hour
	hour   int64
	beyond uint64
}

// at returns a second, nil beyond the bound.
func (t *timeline) at(unix int64) *second {
	hour := floorDiv(unix, chunkLength)
	if t.last == nil || hour != t.hour {
		c := t.chunks[hour]
		if c == nil {
			if len(t.chunks) == mostChunks {
				t.beyond++
				return nil
			}
			if t.chunks == nil {
				t.chunks = make(map[int64]*chunk)
			}
			c = new(chunk)
			t.chunks[hour] = c
		}
		t.last, t.hour = c, hour
	}
	return &t.last[unix-hour*chunkLength]
}

func floorDiv(a, b int64) int64 {
	if a < 0 {
		return -((b - 1 - a) / b)
	}
	return a / b
}

// add counts a call or an attempt. Only what has succeeded tells how slow it was.
func (t *timeline) add(at time.Time, d time.Duration, timed, failed bool) {
	s := t.at(at.Unix())
	if s == nil {
		return
	}
	s.calls++
	switch {
	case failed:
		s.failed++
	case timed:
		s.succeeded++
		s.slow += float32(d.Seconds())
	}
}

// span returns the seconds from the first call to the last, those of a wrong clock
// left out, of which it returns how many calls there are.
func (t *timeline) span() (from int64, seconds []second, stray uint64) {
	clusters := t.clusters()
	if len(clusters) == 0 {
		return 0, nil, t.beyond
	}
	total := uint64(0)
	for _, c := range clusters {
		total += c.calls
	}
	// The largest, and every other that is no stray.
	largest := slices.MaxFunc(clusters, func(a, b cluster) int {
		return cmp.Compare(a.calls, b.calls)
	})
	first, last := largest.from, largest.to
	for _, c := range clusters {
		far := c.from-last > 24*strayGap || first-c.to > 24*strayGap
		if c != largest && (far || float64(c.calls) < strayShare*float64(total)) {
			continue
		}
		first, last = min(first, c.from), max(last, c.to)
	}
	const week = 7 * 24 * 3600
	last = min(last, first+week-1)
	seconds = make([]second, last-first+1)
	kept := uint64(0)
	for i := range seconds {
		if c := t.chunks[floorDiv(first+int64(i), chunkLength)]; c != nil {
			seconds[i] = c[first+int64(i)-floorDiv(first+int64(i), chunkLength)*chunkLength]
			kept += uint64(seconds[i].calls)
		}
	}
	return first, seconds, total - kept + t.beyond
}

// A cluster is a stretch of seconds without a gap that is long.
type cluster struct {
	from, to int64
	calls    uint64
}

func (t *timeline) clusters() (found []cluster) {
	hours := make([]int64, 0, len(t.chunks))
	for hour := range t.chunks {
		hours = append(hours, hour)
	}
	slices.Sort(hours)
	for _, hour := range hours {
		for i, s := range t.chunks[hour] {
			if s.calls == 0 {
				continue
			}
			at := hour*chunkLength + int64(i)
			if n := len(found); n == 0 || at-found[n-1].to > strayGap {
				found = append(found, cluster{from: at})
			}
			c := &found[len(found)-1]
			c.to = at
			c.calls += uint64(s.calls)
		}
	}
	return found
}
