package rationsim

import (
	"math"
	"sort"
)

// A sampler is the live side of a [Latency].
type sampler struct {
	Latency
	mu, sigma float64 // of the logarithm of a log-normal, in nanoseconds
}

func newSampler(l Latency) sampler {
	s := sampler{Latency: l}
	if l.P50 > 0 {
		s.mu = log(float64(l.P50))
	}
	if l.P99 > l.P50 {
		s.sigma = (log(float64(l.P99)) - s.mu) / normal(0.99)
	}
	return s
}

// leastChance stands in for a random number of 0, whose normal quantile is
// infinite. It is below all others, which are multiples of 2^-53.
const leastChance = 0x1p-54

// sample returns the u-quantile in nanoseconds, u in [0, 1).
func (s *sampler) sample(u float64) float64 {
	switch {
	case s.Exponential > 0:
		return -log(1-u) * float64(s.Exponential)
	case len(s.Quantiles) > 0:
		return s.between(u)
	case s.sigma == 0:
		return exp(s.mu)
	}
	return exp(s.mu + float64(s.sigma*normal(max(u, leastChance))))
}

// between interpolates the quantiles.
func (s *sampler) between(u float64) float64 {
	q := s.Quantiles
	i := sort.Search(len(q), func(i int) bool { return q[i].Q > u })
	if i == len(q) {
		return float64(q[i-1].Value)
	}
	var low Quantile
	if i > 0 {
		low = q[i-1]
	}
	if i == 0 && q[0].Q == 0 {
		return float64(q[0].Value)
	}
	share := (u - low.Q) / (q[i].Q - low.Q)
	return float64(low.Value) + float64(share*float64(q[i].Value-low.Value))
}

// check adds the problems of l.
func (l Latency) check(c *checker, field string) {
	forms := 0
	if l.P50 != 0 || l.P99 != 0 {
		forms++
	}
	if len(l.Quantiles) > 0 {
		forms++
	}
	if l.Exponential != 0 {
		forms++
	}
	switch {
	case forms > 1:
		c.add("%s has more than one of P50 and P99, Quantiles, and Exponential", field)
	case l.Exponential != 0:
		c.span(field+".Exponential", l.Exponential)
	case len(l.Quantiles) > 0:
		l.checkQuantiles(c, field+".Quantiles")
	default:
		c.span(field+".P50", l.P50)
		c.span(field+".P99", l.P99)
		if l.P99 < l.P50 {
			c.add("%s.P99 %v is below P50 %v", field, l.P99, l.P50)
		}
	}
}

func (l Latency) checkQuantiles(c *checker, field string) {
	last := Quantile{Q: math.Inf(-1)}
	for i, q := range l.Quantiles {
		if !(q.Q >= 0 && q.Q <= 1) {
			c.add("%s[%d].Q %v is outside [0, 1]", field, i, q.Q)
		}
		if q.Value < 0 || q.Value > longest {
			c.add("%s[%d].Value %v is outside [0, %v]", field, i, q.Value, longest)
		}
		if q.Q < last.Q || q.Value < last.Value {
			c.add("%s[%d] is below the one before", field, i)
		}
		last = q
	}
}
