package main

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ration-go/ration/rationsim"
)

// load returns how calls arrive at an entry.
func (b *topologyBuilder) load(l *loadSection) (rationsim.Load, error) {
	x := rationsim.Load{
		Rate:         orZero(l.Rate),
		Users:        orZero(l.Users),
		Think:        time.Duration(orZero(l.Think)),
		Sheddable:    float64(orZero(l.Sheddable)),
		CriticalPlus: float64(orZero(l.CriticalPlus)),
	}
	for _, p := range l.Shape {
		x.Shape = append(x.Shape, rationsim.Point{At: time.Duration(*p.At), Rate: *p.Rate})
	}
	switch {
	case l.Ramp != nil:
		x.Shape = rationsim.Ramp(*l.Ramp.Rate, *l.Ramp.To,
			time.Duration(*l.Ramp.From), time.Duration(*l.Ramp.For))
	case l.Spike != nil:
		x.Shape = rationsim.Spike(*l.Spike.Rate, *l.Spike.Times,
			time.Duration(*l.Spike.From), time.Duration(*l.Spike.For))
	case l.Daily != nil:
		x.Shape = rationsim.Daily(*l.Daily.Low, *l.Daily.High, time.Duration(*l.Daily.Peak))
	}
	if l.Burst != nil {
		x.Burst = l.Burst.burst(averageRate(x, b.duration))
	}
	if l.Trace == nil {
		return x, nil
	}
	file := b.path(*l.Trace)
	if b.traces[file] == nil {
		trace, err := openTrace(file)
		if err != nil {
			return x, err
		}
		b.traces[file] = trace
	}
	x.Trace = b.traces[file]
	return x, nil
}

func (s *burstSection) burst(rate float64) rationsim.Burst {
	length := time.Duration(*s.Length)
	if s.Dispersion != nil {
		return rationsim.BurstOf(rate, *s.Dispersion, length)
	}
	return rationsim.Burst{Factor: *s.Factor, Share: float64(*s.Share), Length: length}
}

// averageRate returns how many calls a second an open load has on average.
func averageRate(l rationsim.Load, duration time.Duration) float64 {
	if len(l.Shape) == 0 {
		return l.Rate
	}
	// The area under the shape, from point to point and on both sides of them.
	area := 0.0
	last := rationsim.Point{At: 0, Rate: l.Shape[0].Rate}
	for _, p := range append(l.Shape, rationsim.Point{
		At: max(duration, l.Shape[len(l.Shape)-1].At), Rate: l.Shape[len(l.Shape)-1].Rate,
	}) {
		area += areaBetween(last, p, duration)
		last = p
	}
	return area / duration.Seconds()
}

// areaBetween integrates from one point to the next, up to the end.
func areaBetween(a, b rationsim.Point, end time.Duration) float64 {
	if a.At >= end {
		return 0
	}
	if b.At > end {
		slope := (b.Rate - a.Rate) / (b.At - a.At).Seconds()
		b = rationsim.Point{At: end, Rate: a.Rate + slope*(end-a.At).Seconds()}
	}
	return (a.Rate + b.Rate) / 2 * (b.At - a.At).Seconds()
}

// expectedCalls returns about how many calls arrive by a load.
func expectedCalls(l rationsim.Load, duration time.Duration) float64 {
	switch {
	case l.Users > 0:
		// As many as if the answers took no time.
		return float64(l.Users) * duration.Seconds() / l.Think.Seconds()
	case l.Trace != nil:
		return float64(len(l.Trace))
	}
	return averageRate(l, duration) * duration.Seconds()
}

// maxTrace is as many arrivals as a simulation takes.
const maxTrace = 50_000_000

// openTrace reads recorded arrivals. One whose name ends with .gz is unpacked.
func openTrace(file string) ([]time.Duration, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fileError(file, err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		if r, err = gzip.NewReader(bufio.NewReader(f)); err != nil {
			return nil, fileError(file, err)
		}
	}
	return readTrace(file, r)
}

// readTrace reads a trace: one arrival a line, in seconds since the start, in order.
// Empty lines, and lines that begin with #, are skipped.
func readTrace(file string, r io.Reader) (trace []time.Duration, err error) {
	lines := bufio.NewScanner(r)
	last := time.Duration(0)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		s, err := strconv.ParseFloat(text, 64)
		if err != nil || !(s >= 0 && s < math.MaxInt64/1e9) {
			return nil, lineFault(file, n, fmt.Sprintf(
				"%q is not an arrival in seconds since the start, such as 12.345", shortened(text)))
		}
		at := time.Duration(math.Round(s * 1e9))
		switch {
		case at < last:
			return nil, lineFault(file, n, "is earlier than the line before; sort the arrivals")
		case len(trace) == maxTrace:
			return nil, lineFault(file, n, fmt.Sprintf("has more than %d arrivals", maxTrace))
		}
		trace, last = append(trace, at), at
	}
	if err := lines.Err(); err != nil {
		return nil, fileError(file, err)
	}
	if len(trace) == 0 {
		return nil, lineFault(file, 1, "has no arrival")
	}
	return trace, nil
}
