package rationsim

import (
	"math"
	"time"
)

// A Load is how calls arrive. Exactly one of Rate, Shape, Users and Trace is
// set. With the first two, calls arrive at random (Poisson) whatever becomes of
// them: an open loop. It is a value.
type Load struct {
	// Rate is the average number of calls per second, constant over the run.
	Rate float64

	// Shape is the rate over time, linear from each point to the next; before
	// the first point it is the first's rate and after the last the last's. Two
	// points at one time make a step. See [Ramp], [Spike] and [Daily].
	Shape []Point

	// Burst makes the arrivals of Rate or Shape burstier than independent ones,
	// with the same average. The zero Burst makes no difference.
	Burst Burst

	// Users is how many users there are in a closed loop: each waits for the end
	// of its call, then thinks, for an exponential time with the mean Think, and
	// calls again. A slow system is called less often. Think must be above 0.
	Users int
	Think time.Duration

	// Trace is recorded arrivals, replayed as they were: times since the start
	// of the run, in order. Those at or after the Duration do not arrive.
	Trace []time.Duration

	// Sheddable and CriticalPlus are the shares of calls at these levels of
	// criticality, each in [0, 1] and no more than 1 together. The rest is
	// [ration.Critical]. The level travels with the call to every service.
	Sheddable    float64
	CriticalPlus float64
}

// A Point is the rate of a [Load] at one time.
type Point struct {
	At   time.Duration // since the start
	Rate float64       // calls per second, 0 or more
}

// A Burst makes a load alternate between bursts and lulls, each of random
// (exponential) length: a Markov-modulated Poisson process of two states. In a
// burst the rate is Factor times the average; in a lull it is what keeps the
// average. See [Burst.Dispersion] for how bursty that is, and [BurstOf] for the
// way back. It is a value; the zero value is no burst.
type Burst struct {
	Factor float64       // 1 to 1/Share
	Share  float64       // of the time that is in bursts, in (0, 1)
	Length time.Duration // of a burst, on average
}

// Ramp returns a shape that goes evenly from one rate to another over the
// stretch that begins at from, and is constant before and after it.
func Ramp(rate, to float64, from, length time.Duration) []Point {
	return []Point{{from, rate}, {from + length, to}}
}

// Spike returns a shape of a constant rate that is times as high, at once, for
// the stretch that begins at from.
func Spike(rate, times float64, from, length time.Duration) []Point {
	high := rate * times
	end := from + length
	return []Point{{from, rate}, {from, high}, {end, high}, {end, rate}}
}

// Daily returns the shape of one day, hour by hour: a sine between low, half a
// day before the peak, and high, at it. It goes on for as many days as the
// longest run has.
func Daily(low, high float64, peak time.Duration) []Point {
	var points []Point
	for at := time.Duration(0); at <= longest; at += time.Hour {
		phase := 2 * math.Pi * float64(at-peak) / float64(24*time.Hour)
		share := (1 + math.Cos(phase)) / 2
		points = append(points, Point{at, low + math.Round((high-low)*share*1e6)/1e6})
	}
	return points
}

// Dispersion returns the index of dispersion of the arrivals, at an average of
// rate calls per second: the variance of how many arrive within a stretch, over
// their mean, for stretches much longer than a burst. Independent arrivals have
// 1.
func (b Burst) Dispersion(rate float64) float64 {
	if b == (Burst{}) {
		return 1
	}
	spread := (b.Factor - 1) * (b.Factor - 1) * b.Share / (1 - b.Share) // variance of the factor
	memory := b.Length.Seconds() * (1 - b.Share)
	return 1 + float64(2*rate*spread*memory)
}

// BurstOf returns bursts of the given average length that give arrivals at rate
// calls per second this index of dispersion, as [Burst.Dispersion] has it. They
// fill half of the time if that is possible; if not, they are rarer, with
// silence between them. At a dispersion of 1 or less there are none.
func BurstOf(rate, dispersion float64, length time.Duration) Burst {
	excess := (dispersion - 1) / (rate * length.Seconds())
	switch {
	case !(excess > 0 && excess < math.Inf(1)):
		return Burst{}
	case excess <= 1:
		return Burst{Factor: 1 + math.Sqrt(excess), Share: 0.5, Length: length}
	}
	// With silence between bursts, excess = 2 (1 - share)² / share.
	factor := 1 + float64(excess/4) + math.Sqrt(float64(excess/2)+float64(excess*excess/16))
	return Burst{Factor: factor, Share: 1 / factor, Length: length}
}

// check adds the problems of l.
func (l Load) check(c *checker, field string) {
	forms := 0
	for _, set := range []bool{l.Rate != 0, l.Shape != nil, l.Users != 0, l.Trace != nil} {
		if set {
			forms++
		}
	}
	if forms != 1 {
		c.add("%s has %d of Rate, Shape, Users and Trace, not one", field, forms)
	}
	if l.Rate != 0 {
		c.rate(field+".Rate", l.Rate)
	}
	c.count(field+".Users", l.Users, 0, maxServers)
	if l.Users > 0 {
		c.span(field+".Think", l.Think)
	}
	l.checkTimes(c, field)
	l.checkBurst(c, field+".Burst")
	c.share(field+".Sheddable", l.Sheddable)
	c.share(field+".CriticalPlus", l.CriticalPlus)
	if l.Sheddable+l.CriticalPlus > 1 {
		c.add("%s.Sheddable %v and CriticalPlus %v are more than 1 together",
			field, l.Sheddable, l.CriticalPlus)
	}
}

// checkTimes adds the problems of what is a list.
func (l Load) checkTimes(c *checker, field string) {
	for i, p := range l.Shape {
		if !(p.Rate >= 0 && p.Rate < math.Inf(1)) {
			c.add("%s.Shape[%d].Rate %v is not a finite number of 0 or more", field, i, p.Rate)
		}
		if p.At < 0 || i > 0 && p.At < l.Shape[i-1].At {
			c.add("%s.Shape[%d].At %v is out of order", field, i, p.At)
		}
	}
	for i, at := range l.Trace {
		if at < 0 || i > 0 && at < l.Trace[i-1] {
			c.add("%s.Trace[%d] %v is out of order", field, i, at)
			break // the rest may well be, too
		}
	}
}

func (l Load) checkBurst(c *checker, field string) {
	b := l.Burst
	if b == (Burst{}) {
		return
	}
	if l.Users > 0 || l.Trace != nil {
		c.add("%s has no effect on Users or a Trace", field)
	}
	if !(b.Share > 0 && b.Share < 1) {
		c.add("%s.Share %v is outside (0, 1)", field, b.Share)
	} else if !(b.Factor >= 1 && b.Factor <= (1+1e-9)/b.Share) {
		c.add("%s.Factor %v is outside [1, 1/Share]", field, b.Factor)
	}
	c.span(field+".Length", b.Length)
}

func (c *checker) rate(field string, rate float64) {
	if !(rate > 0 && rate < math.Inf(1)) {
		c.add("%s %v is not a finite number of calls per second above 0", field, rate)
	}
}

// most returns how many calls there are at most, or on average.
func (l Load) most(duration time.Duration) float64 {
	if l.Users > 0 {
		return float64(l.Users) * (1 + duration.Seconds()/l.Think.Seconds())
	}
	if n, ok := l.expected(0, duration); ok {
		return n
	}
	return float64(len(l.Trace))
}
