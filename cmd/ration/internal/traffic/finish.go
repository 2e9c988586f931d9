package traffic

import (
	"fmt"
	"strings"
	"time"
)

// finish sums up what was collected.
func (c *collector) finish() (*Summary, error) {
	switch c.summary.Input {
	case "otlp":
		return c.finishSpans()
	case "prometheus":
		return c.finishScrapes()
	}
	if err := c.usable(); err != nil {
		return nil, err
	}
	s := &c.summary
	if a, ok := c.reader.(*accessLog); ok {
		s.Input = "access log: " + a.name
	} else {
		s.Input = "JSON lines"
	}
	entry := Entry{Name: "clients", To: "dependency", Calls: c.calls, Retries: c.retries}
	if err := c.over(&c.arrive, &entry, true); err != nil {
		return nil, err
	}
	s.Entries = []Entry{entry}
	service := c.tally.service("dependency")
	if a, ok := c.reader.(*accessLog); ok && a.has(roleUpstreamHost) {
		service.Replicas = len(service.Hosts)
	}
	s.Services = []Service{service}
	c.assumeOfLines(&service)
	assumeOfService(c, &service)
	return s, nil
}

// usable refuses input of which most makes no sense: a scenario from what is left
// would look like one, and be about something else.
func (c *collector) usable() error {
	n := &c.summary.Counts
	first := ""
	if len(c.summary.Faults) > 0 {
		f := c.summary.Faults[0]
		first = fmt.Sprintf("; the first of them, %s:%d, %s", f.File, f.Line, f.Text)
	}
	switch {
	case n.Read == 0:
		return fmt.Errorf("there is nothing in %s", strings.Join(c.summary.Files, ", "))
	case n.Malformed > n.Used+n.Local:
		how := c.summary.Input
		if a, ok := c.reader.(*accessLog); ok {
			how = "access log: " + a.name
		}
		return fmt.Errorf("%d of %d %s cannot be read as %s%s; say --input and --format, or what the "+
			"fields are called (ration calibrate -h)", n.Malformed, n.Read, n.Unit, how, first)
	case n.Used == 0:
		return fmt.Errorf("none of %d %s is a call to a dependency", n.Read, n.Unit)
	}
	return nil
}

// over describes an entry by its timeline. The first entry says when all began.
func (c *collector) over(t *timeline, e *Entry, first bool) error {
	from, seconds, stray := t.span()
	if len(seconds) == 0 {
		return fmt.Errorf("no call has a time")
	}
	c.summary.Counts.Stray += stray
	if first {
		c.summary.From = time.Unix(from, 0).UTC()
		c.summary.Duration = time.Duration(len(seconds)) * time.Second
	}
	e.Arrivals = arrivals(seconds, c.options.Points)
	if first && len(seconds) < leastSeconds {
		c.assume("burstiness", "%d seconds are too few to tell how bursty calls are; they are taken "+
			"to be independent", len(seconds))
	}
	e.Windows = windows(seconds)
	return nil
}

// assumeOfLines names what lines do not say.
func (c *collector) assumeOfLines(s *Service) {
	n := &c.summary.Counts
	if n.Stray > 0 {
		c.assume("clock", "%d calls are far from all others in time, or more than a week after the "+
			"first; they are left out of the rate", n.Stray)
	}
	if c.backs > 0 {
		c.assume("order", "%d lines are more than a minute earlier than the line before; their times "+
			"are taken as they are", c.backs)
	}
	if c.nulls > 0 {
		c.assume("zeros", "%d bytes of zero in front of lines are skipped", c.nulls)
	}
	if n.Local > 0 {
		c.assume("local", "%d calls went to no upstream server, and are left out", n.Local)
	}
	if c.retries > 0 {
		c.assume("retries seen", "%d of %d attempts are retries; they count as attempts and not as "+
			"calls, so that the policy under test makes its own", c.retries, s.Requests)
	} else {
		c.assume("retries", "none can be seen in these records: if callers retried, the rate and the "+
			"failures have retries in them")
	}
	switch r := c.reader.(type) {
	case *accessLog:
		r.assume(c)
	case *jsonLines:
		r.assume(c)
	}
}

func (a *accessLog) assume(c *collector) {
	switch {
	case a.has(roleUpstreamTime):
		c.assume("latency", "it is that of the upstream server, as the proxy has measured it")
	case a.has(roleDuration):
		c.assume("latency", "it is that of whole requests, with what sending the answer to the "+
			"client took")
	}
	if a.has(roleUpstreamTime) && !a.has(roleUpstreamStatus) {
		c.assume("attempts", "$upstream_status is not in the log; of several attempts all but the last "+
			"are taken to have failed")
	}
	if a.clock.noZone {
		c.assume("zone", "times without a zone are taken as UTC")
	}
	if !a.has(roleTimeEpoch) {
		c.assume("resolution", "times are known to the second; within one, calls are spread at random")
	}
}

func (j *jsonLines) assume(c *collector) {
	if j.guessedUnit != "" {
		c.assume("unit", "%q has no unit; it is taken as %s (--unit says another)", j.guessedUnit,
			map[time.Duration]string{time.Second: "seconds", time.Millisecond: "milliseconds"}[j.unitNow])
	}
	if j.endTimes {
		c.assume("end", "times are taken as those of the end of calls, from which the duration is "+
			"subtracted, since the member is not called a start")
	}
	if j.clock.noZone {
		c.assume("zone", "times without a zone are taken as UTC")
	}
}

// assumeOfService names what no record says.
func assumeOfService(c *collector, s *Service) {
	if s.Quantiles == nil {
		c.assume("latency", "no successful call of %s has a duration; p50 20ms and p99 200ms stand in "+
			"for what is not known", s.Name)
	}
	if s.Untimed > 0 && s.Quantiles != nil {
		c.assume("durations", "%d of %d attempts at %s have none; they are taken to be as long as the "+
			"others", s.Untimed, s.Requests, s.Name)
	}
	if s.Zero > 0 {
		c.assume("zero", "%d attempts at %s took 0, which is below the resolution of the log",
			s.Zero, s.Name)
	}
	if s.GaveUp > 0 {
		c.assume("gave up", "%d callers of %s left before the answer; they count neither as failures "+
			"nor for the latency, which is worse than it looks", s.GaveUp, s.Name)
	}
	if s.Failures > 0 && s.Failures != s.Mean {
		c.assume("failing", "failures of %s take as long as successes; in the records half of them "+
			"took %v at most", s.Name, threeDigits(s.Failures))
	}
}
