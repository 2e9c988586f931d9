package traffic

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What stands in for what scrapes do not say.
const (
	standInRate     = 100
	standInDuration = 5 * time.Minute
)

// A family is what all series of one histogram come to.
type family struct {
	name          string
	good          map[float64]float64 // successes up to each bound
	total, failed float64
	labelled      bool // there is a status
	tally         tally
	resets        int
	odd           int // series that are no histograms
}

// finishScrapes sums scrapes up: two give what has happened between them, one what has
// happened since the start of the process.
func (c *collector) finishScrapes() (*Summary, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	c.scrapes = slices.DeleteFunc(c.scrapes, func(p *scrape) bool { return len(p.series) == 0 })
	first, last := (*scrape)(nil), c.scrapes[len(c.scrapes)-1]
	if len(c.scrapes) > 1 {
		first = c.scrapes[0]
	}
	if len(c.scrapes) > 2 {
		c.assume("scrapes", "of %d scrapes the first and the last count", len(c.scrapes))
	}
	f, others := c.choose(families(first, last))
	if f == nil || f.total == 0 {
		return nil, fmt.Errorf("no histogram has counted anything; name one with --metric: %s",
			strings.Join(others, ", "))
	}
	c.summary.Input = "Prometheus, histogram " + f.name
	service := f.service(c)
	entry := Entry{Name: "clients", To: service.Name, Calls: uint64(f.total)}
	c.rate(f, first, last, &entry)
	c.summary.Entries = []Entry{entry}
	c.summary.Services = []Service{service}
	if len(others) > 0 {
		c.assume("metric", "%s is the one that counts; there are %s besides (--metric)", f.name,
			strings.Join(others, ", "))
	}
	if f.resets > 0 {
		c.assume("resets", "%d series count less in the second scrape, and are taken to have begun anew",
			f.resets)
	}
	if f.odd > 0 {
		c.assume("odd", "%d series whose buckets do not rise are left out", f.odd)
	}
	if !f.labelled {
		c.assume("failures", "the histogram has no label of a status; none is taken to have failed")
	}
	c.assume("burstiness", "a histogram does not tell; calls are taken to be independent")
	c.assume("retries", "none can be seen in these records: if callers retried, the rate and the "+
		"failures have retries in them")
	return &c.summary, nil
}

// families adds up the series of each histogram.
func families(first, last *scrape) []*family {
	found := make(map[string]*family)
	for _, key := range slices.Sorted(maps.Keys(last.series)) {
		x := last.series[key]
		f := found[x.family]
		if f == nil {
			f = &family{name: x.family, good: make(map[float64]float64)}
			found[x.family] = f
		}
		var was *series
		if first != nil {
			was = first.series[key]
		}
		f.add(x, was)
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *family) int {
		return cmp.Or(cmp.Compare(b.score(), a.score()), cmp.Compare(b.total, a.total),
			cmp.Compare(a.name, b.name))
	})
}

// score says how much a name looks like that of the durations of calls.
func (f *family) score() (n int) {
	for word, points := range map[string]int{
		"http": 2, "rpc": 2, "request": 2, "server": 1, "duration": 2, "latency": 2, "seconds": 1,
		"handling": 1, "gc": -4, "size": -6, "bytes": -6, "queue": -3, "sched": -4,
	} {
		if strings.Contains(f.name, word) {
			n += points
		}
	}
	return n
}

// choose returns the family that counts, and the names of the others.
func (c *collector) choose(all []*family) (chosen *family, others []string) {
	for i, f := range all {
		if i == 0 {
			chosen = f
			continue
		}
		if others = append(others, f.name); len(others) == 10 {
			break
		}
	}
	return chosen, others
}

// since returns the counts that x has beyond those of an earlier scrape, nil for none.
func (x *series) since(was *series) []float64 {
	counts := slices.Clone(x.counts)
	if was != nil {
		for i := range counts {
			counts[i] = max(0, counts[i]-was.counts[i])
		}
	}
	return counts
}

func (f *family) add(x, was *series) {
	if !x.ordered || was != nil && (!was.ordered || !slices.Equal(was.bounds, x.bounds)) {
		f.odd++
		return
	}
	if was != nil && was.total() > x.total() {
		f.resets++
		was = nil
	}
	counts := x.since(was)
	n := counts[len(counts)-1]
	f.total += n
	code, failed, known := statusOf(x.labels)
	f.labelled = f.labelled || known
	if known && n > 0 {
		f.tally.code(code)
		f.tally.statuses[code] += uint64(n) - 1
	}
	f.host(hostOf(x.labels), n, failed)
	if failed {
		f.failed += n
		return
	}
	for i, bound := range x.bounds {
		f.good[bound] += counts[i]
	}
}

func (f *family) host(name string, n float64, failed bool) {
	if name == "" || n == 0 {
		return
	}
	f.tally.add(name, 0, false, failed, false)
	h := f.tally.hosts[name]
	if h == nil {
		h = f.tally.hosts[otherHosts]
	}
	h.Requests += uint64(n) - 1
	if failed {
		h.Failed += uint64(n) - 1
	}
}

// statusOf returns the status that labels tell.
func statusOf(labels map[string]string) (code string, failed, known bool) {
	for _, name := range []string{
		"code", "status", "status_code", "http_status", "http_status_code", "http_response_status_code",
		"response_code", "grpc_code", "grpc_status", "rpc_grpc_status_code",
	} {
		code, ok := labels[name]
		if !ok {
			continue
		}
		n, err := strconv.Atoi(code)
		switch {
		case strings.Contains(name, "grpc") || err == nil && n < 100 && n >= 0 && code != "0":
			return code, failingRPC(code), true
		case err == nil:
			return code, failing(n), true
		case len(code) == 3 && strings.HasSuffix(strings.ToLower(code), "xx"):
			return code, code[0] == '5', true
		}
		return code, failingRPC(code) || strings.EqualFold(code, "error"), true
	}
	return "", false, false
}

func hostOf(labels map[string]string) string {
	for _, name := range []string{"instance", "host", "server_address", "upstream", "service"} {
		if labels[name] != "" {
			return labels[name]
		}
	}
	return ""
}

// service describes what was counted.
func (f *family) service(c *collector) Service {
	s := f.tally.service("dependency")
	s.Requests, s.Failed, s.Untimed = uint64(f.total), uint64(f.failed), 0
	bounds := slices.Sorted(maps.Keys(f.good))
	total := 0.0
	if n := len(bounds); n > 0 {
		total = f.good[bounds[n-1]]
	}
	if total == 0 {
		assumeOfService(c, &s)
		return s
	}
	unit := f.unit(c)
	last := Quantile{}
	for _, bound := range bounds {
		q := Quantile{round(f.good[bound]/total, 6), last.Value}
		if !math.IsInf(bound, 1) && bound >= 0 {
			q.Value = time.Duration(min(bound*float64(unit), float64(longestDuration)))
		} else if beyond := total * (1 - last.Q); beyond >= 0.5 {
			c.assume("tail", "%.0f of %.0f successes took longer than the last bucket, %v; they are taken "+
				"to have taken that long", beyond, total, last.Value)
		}
		// Series whose buckets differ may add up to what does not rise.
		if q.Q = max(q.Q, last.Q); q.Q > last.Q {
			if last.Q == 0 {
				// In the first bucket that has any, all are above the one before.
				s.Quantiles = append(s.Quantiles, Quantile{0, last.Value})
			}
			s.Quantiles = append(s.Quantiles, q)
		}
		last = q
	}
	return s
}

// unit goes by the name, as is the custom.
func (f *family) unit(c *collector) time.Duration {
	for suffix, unit := range map[string]time.Duration{
		"_seconds": time.Second, "_milliseconds": time.Millisecond, "_ms": time.Millisecond,
		"_microseconds": time.Microsecond, "_us": time.Microsecond, "_nanoseconds": 1,
	} {
		if strings.HasSuffix(f.name, suffix) {
			return unit
		}
	}
	if c.options.Unit != 0 {
		return c.options.Unit
	}
	c.assume("unit", "%s has no unit in its name; it is taken as seconds (--unit says another)",
		f.name)
	return time.Second
}

// rate works out the time in which the calls came.
func (c *collector) rate(f *family, first, last *scrape, e *Entry) {
	interval := c.options.Interval
	if first != nil && interval == 0 {
		interval = last.last.Sub(first.last)
	}
	e.Arrivals = Arrivals{Dispersion: 1, Rate: standInRate}
	c.summary.Duration = standInDuration
	switch {
	case interval > 0:
		c.summary.Duration = min(interval, longestDuration)
		e.Arrivals.Rate = f.total / interval.Seconds()
	case first != nil:
		c.assume("rate", "the scrapes have no timestamps; %d calls a second stand in for %.0f in an "+
			"unknown time (--interval)", standInRate, f.total)
	default:
		c.assume("rate", "one scrape has counted %.0f calls in an unknown time; %d calls a second "+
			"stand in (a second scrape, or --interval)", f.total, standInRate)
	}
	e.Arrivals.Points = []Point{{0, e.Arrivals.Rate}}
}
