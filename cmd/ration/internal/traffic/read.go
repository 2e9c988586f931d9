package traffic

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"
)

// A Source is a file, or standard input.
type Source struct {
	Name  string
	Open  func() (io.ReadCloser, error)
	Again bool // it can be opened several times, which is not so of a pipe
}

// Options say how to read. The zero Options guess everything.
type Options struct {
	Input    string        // one of [Inputs]; "" = what the first lines look like
	Format   string        // of an access log, as the server's configuration has it
	Fields   Fields        // of JSON lines
	Unit     time.Duration // of a duration in JSON lines that has none; 0 = guess
	Metric   string        // of Prometheus; "" = the histogram that looks like durations
	Interval time.Duration // between two scrapes; 0 = not known
	Points   int           // of the rate over time, at most; 0 = 24

	// Arrival is called with the time of each call, in the order of the lines.
	// nil = nobody wants to know.
	Arrival func(at time.Time)
}

// Fields are names of members of JSON lines, with dots for members of members. An
// empty one is guessed.
type Fields struct {
	Time, Duration, Status, Host string
}

// Inputs are what can be read.
func Inputs() []string { return []string{"nginx", "apache", "json", "otlp", "prometheus"} }

const (
	defaultPoints = 24
	sampleSize    = 128 << 10
	mostFaults    = 5
)

// Read reads all sources, in constant memory, and sums them up. The error is one of
// opening or reading, or tells why what was read cannot be used.
func Read(sources []Source, o Options) (*Summary, error) {
	if o.Points == 0 {
		o.Points = defaultPoints
	}
	c := &collector{options: o, inferred: inferred{arrival: o.Arrival}}
	c.summary.Counts.Unit = "lines"
	same, err := duplicates(sources)
	if err != nil {
		return nil, err
	}
	for i, s := range sources {
		if original := same[i]; original != "" {
			c.assume("duplicate", "%s holds what %s does, and is read once", s.Name, original)
			continue
		}
		if err := c.source(s); err != nil {
			return nil, err
		}
	}
	return c.finish()
}

// A collector adds records up.
type collector struct {
	options Options
	summary Summary
	reader  reader

	file     string
	calls    uint64
	retries  uint64
	nulls    uint64
	backs    uint64 // steps back in time of more than a minute
	latest   time.Time
	arrive   timeline
	tally    tally
	traces   traces
	inferred inferred
	scrapes  []*scrape
}

// A reader makes a record of a line.
type reader interface {
	parse(line []byte, r *record) error
}

func (c *collector) assume(name, format string, args ...any) {
	c.summary.Assumptions = append(c.summary.Assumptions,
		Assumption{name, fmt.Sprintf(format, args...)})
}

func (c *collector) fault(line int, err error) {
	c.summary.Counts.Malformed++
	if len(c.summary.Faults) < mostFaults {
		c.summary.Faults = append(c.summary.Faults, Fault{c.file, line, err.Error()})
	}
}

// source reads one file to its end. What breaks off is used as far as it goes.
func (c *collector) source(s Source) error {
	f, err := s.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	c.file = s.Name
	c.summary.Files = append(c.summary.Files, s.Name)
	r, err := unpack(f)
	if err != nil {
		return c.broken(err)
	}
	sample, r, err := peek(r)
	if err != nil {
		return c.broken(err)
	}
	input := c.options.Input
	if input == "" {
		input = guessInput(sample)
	}
	if err := c.one(input); err != nil {
		return err
	}
	switch input {
	case "otlp":
		err = c.spans(r)
	case "prometheus":
		err = c.scrape(r)
	default:
		if c.reader, err = c.options.reader(input, sample); err == nil {
			err = c.lines(r)
		}
	}
	return c.broken(err)
}

// broken notes that a file ends in the middle, which is no reason to throw the rest
// away. Other errors it returns.
func (c *collector) broken(err error) error {
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return nil
	case isBroken(err):
		c.assume("broken file", "%s breaks off (%v); what comes before that is used", c.file, err)
		return nil
	}
	return err
}

// one refuses to mix what cannot be added up.
func (c *collector) one(input string) error {
	had := c.summary.Input
	lines := func(input string) bool { return input != "otlp" && input != "prometheus" }
	if had != "" && had != input && !(lines(had) && lines(input)) {
		return fmt.Errorf("%s looks like %s, and the file before it like %s; read them apart, or say "+
			"--input", c.file, input, had)
	}
	c.summary.Input = input
	return nil
}

func (c *collector) lines(r io.Reader) error {
	lines := newLineReader(r, longestLine)
	var rec record
	c.latest = time.Time{} // files come in any order
	for {
		line, err := lines.next()
		if err != nil && !errors.Is(err, errLongLine) {
			return err
		}
		c.summary.Counts.Read++
		if err == nil {
			if n := len(line); n > 0 && line[0] == 0 {
				// What a crash, or truncation under a writer, leaves in front.
				line = bytes.TrimLeft(line, "\x00")
				c.nulls += uint64(n - len(line))
			}
			if len(bytes.TrimSpace(line)) == 0 {
				c.summary.Counts.Empty++
				continue
			}
			err = c.reader.parse(line, &rec)
		}
		if err != nil {
			c.fault(lines.n, err)
			continue
		}
		c.add(&rec)
	}
}

// add counts a record.
func (c *collector) add(r *record) {
	if r.local {
		c.summary.Counts.Local++
		return
	}
	c.summary.Counts.Used++
	if c.latest.Sub(r.at) > time.Minute+r.duration {
		c.backs++
	}
	c.latest = r.at
	if r.retry {
		c.retries++
	} else {
		c.calls++
		c.arrive.add(r.at, r.duration, r.timed, r.failed || r.gaveUp)
		if c.options.Arrival != nil {
			c.options.Arrival(r.at)
		}
	}
	c.tally.status(r.status)
	if len(r.attempts) == 0 {
		c.tally.add(r.host, r.duration, r.timed, r.failed, r.gaveUp)
		return
	}
	c.retries += uint64(len(r.attempts) - 1)
	for i := range r.attempts {
		a := &r.attempts[i]
		gaveUp := r.gaveUp && i == len(r.attempts)-1
		c.tally.add(a.host, a.duration, a.timed, a.failed && !gaveUp, gaveUp)
	}
}
