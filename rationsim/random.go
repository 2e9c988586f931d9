package rationsim

import "math"

// A stream is a source of random numbers for one purpose. It has no state: each
// number is a hash of the seed, the purpose and what it is for, so that two
// policies that are compared on one seed meet the same arrivals, and the third
// attempt of call 712 takes the same time under both. Noise that is common to
// both sides cancels; with one shared sequence, the first extra retry would
// shift every number after it.
type stream struct{ key uint64 }

// The purposes.
const (
	purposeArrival = iota + 1
	purposeLatency
	purposeFailure
	purposeDecision
	purposeBalance
	purposeClient
	purposeLevel
	purposeThought
	purposeBurst
)

func newStream(seed uint64, purpose uint64) stream {
	return stream{mix(mix(seed) + purpose)}
}

// of returns the stream of the i-th of several things with one purpose.
func (s stream) of(i int) stream {
	if i == 0 {
		return s
	}
	return stream{mix(s.key ^ mix(uint64(i)))}
}

// at returns a number in [0, 1) for the n-th event of item i.
func (s stream) at(i, n uint64) float64 {
	return float64(float64(mix(mix(s.key+i)+n)>>11) / (1 << 53))
}

// mix is the finalizer of SplitMix64 with its increment: a bijection that turns
// counters into bits that pass as random.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// The functions below exist because a report must be the same to the byte on
// every machine. Those of package math are not: some architectures have them in
// assembly, and a compiler may fuse x*y + z into one rounding where the machine
// can, across statements and inlined functions too. The conversions, here and all
// over the package, forbid that, as the language promises.

// polynomial evaluates c[0] + c[1] x + c[2] x² + … .
func polynomial(x float64, c []float64) float64 {
	sum := 0.0
	for i := len(c) - 1; i >= 0; i-- {
		sum = float64(sum*x) + c[i]
	}
	return sum
}

const (
	ln2High = 6.93147180369123816490e-01 // the leading bits of ln 2
	ln2Low  = 1.90821492927058770002e-10 // the rest
)

// expSeries are 1/n!, enough of them for an argument up to ln(2)/2.
var expSeries = series(15, func(n int, last float64) float64 { return last / max(float64(n), 1) })

// logSeries are 2/(2n+1): ln((1+s)/(1-s)) is s times their polynomial in s².
var logSeries = series(14, func(n int, _ float64) float64 { return 2 / float64(2*n+1) })

func series(n int, next func(n int, last float64) float64) []float64 {
	c := make([]float64, n)
	last := 1.0
	for i := range c {
		last = next(i, last)
		c[i] = last
	}
	return c
}

// exp returns e^x.
func exp(x float64) float64 {
	k := math.Floor(x/math.Ln2 + 0.5)
	r := x - float64(k*ln2High)
	r -= float64(k * ln2Low)
	return math.Ldexp(polynomial(r, expSeries), int(k))
}

// log returns the natural logarithm of x > 0.
func log(x float64) float64 {
	m, k := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, k = 2*m, k-1
	}
	s := (m - 1) / (m + 1)
	return float64(float64(k)*math.Ln2) + float64(s*polynomial(float64(s*s), logSeries))
}

// normal returns the p-quantile of the standard normal distribution, p in
// (0, 1): algorithm AS 241 of Wichura (1988), PPND16, good to 16 digits.
func normal(p float64) float64 {
	q := p - 0.5
	if math.Abs(q) <= 0.425 {
		r := 0.180625 - float64(q*q)
		return float64(q*polynomial(r, ppndA)) / polynomial(r, ppndB)
	}
	r := p
	if q > 0 {
		r = 1 - p
	}
	r = math.Sqrt(-log(r))
	var z float64
	if r <= 5 {
		z = polynomial(r-1.6, ppndC) / polynomial(r-1.6, ppndD)
	} else {
		z = polynomial(r-5, ppndE) / polynomial(r-5, ppndF)
	}
	if q < 0 {
		return -z
	}
	return z
}

var (
	ppndA = []float64{
		3.3871328727963666080e0, 1.3314166789178437745e+2,
		1.9715909503065514427e+3, 1.3731693765509461125e+4,
		4.5921953931549871457e+4, 6.7265770927008700853e+4,
		3.3430575583588128105e+4, 2.5090809287301226727e+3,
	}
	ppndB = []float64{
		1, 4.2313330701600911252e+1,
		6.8718700749205790830e+2, 5.3941960214247511077e+3,
		2.1213794301586595867e+4, 3.9307895800092710610e+4,
		2.8729085735721942674e+4, 5.2264952788528545610e+3,
	}
	ppndC = []float64{
		1.42343711074968357734e0, 4.63033784615654529590e0,
		5.76949722146069140550e0, 3.64784832476320460504e0,
		1.27045825245236838258e0, 2.41780725177450611770e-1,
		2.27238449892691845833e-2, 7.74545014278341407640e-4,
	}
	ppndD = []float64{
		1, 2.05319162663775882187e0,
		1.67638483018380384940e0, 6.89767334985100004550e-1,
		1.48103976427480074590e-1, 1.51986665636164571966e-2,
		5.47593808499534494600e-4, 1.05075007164441684324e-9,
	}
	ppndE = []float64{
		6.65790464350110377720e0, 5.46378491116411436990e0,
		1.78482653991729133580e0, 2.96560571828504891230e-1,
		2.65321895265761230930e-2, 1.24266094738807843860e-3,
		2.71155556874348757815e-5, 2.01033439929228813265e-7,
	}
	ppndF = []float64{
		1, 5.99832206555887937690e-1,
		1.36929880922735805310e-1, 1.48753612908506148525e-2,
		7.86869131145613259100e-4, 1.84631831751005468180e-5,
		1.42151175831644588870e-7, 2.04426310338993978564e-15,
	}
)
