package traffic

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// mostSeries bounds how many series of a scrape are kept.
const mostSeries = 100_000

// A scrape is what one read of a metrics page has of histograms.
type scrape struct {
	series map[string]*series // by the name and the labels, without le
	first  time.Time          // of the timestamps, if there are any
	last   time.Time
}

// A series is one histogram.
type series struct {
	family  string // without _bucket
	labels  map[string]string
	bounds  []float64 // of the buckets, as they came; the last may be infinite
	counts  []float64 // up to each
	ordered bool      // bounds and counts rise, as they must
}

// scrape reads one page, or several behind each other: a bucket that was there already
// begins the next.
func (c *collector) scrape(r io.Reader) error {
	c.summary.Counts.Unit = "series"
	lines := newLineReader(r, longestLine)
	page := c.newScrape()
	for {
		line, err := lines.next()
		if err != nil && !errors.Is(err, errLongLine) {
			return err
		}
		line = bytes.TrimSpace(line)
		if err == nil && (len(line) == 0 || line[0] == '#') {
			continue
		}
		c.summary.Counts.Read++
		var s sampleLine
		if err == nil {
			s, err = parseSample(string(line))
		}
		if err == nil {
			page, err = c.bucket(page, &s)
		}
		if err != nil {
			c.fault(lines.n, err)
		}
	}
}

func (c *collector) newScrape() *scrape {
	page := &scrape{series: make(map[string]*series)}
	c.scrapes = append(c.scrapes, page)
	return page
}

// bucket adds a line to the page if it is of a bucket, and returns the page that the
// next line belongs to.
func (c *collector) bucket(page *scrape, s *sampleLine) (*scrape, error) {
	le, bucket := s.labels["le"]
	family, named := strings.CutSuffix(s.name, "_bucket")
	if !bucket || !named || c.options.Metric != "" && family != c.options.Metric {
		c.summary.Counts.Other++
		return page, nil
	}
	bound, err := strconv.ParseFloat(le, 64)
	if err != nil || math.IsNaN(bound) {
		return page, fault("has the bound " + quoted([]byte(le)) + ", which is not a number")
	}
	if page.has(s, family, bound) {
		page = c.newScrape()
	}
	if page.add(s, family, bound) {
		c.summary.Counts.Used++
	} else {
		c.summary.Counts.Other++
	}
	return page, nil
}

func (p *scrape) has(s *sampleLine, family string, bound float64) bool {
	x := p.series[s.key(family)]
	if x == nil {
		return false
	}
	for _, b := range x.bounds {
		if b == bound {
			return true
		}
	}
	return false
}

// add adds a bucket, and reports whether there was room for it.
func (p *scrape) add(s *sampleLine, family string, bound float64) bool {
	key := s.key(family)
	x := p.series[key]
	if x == nil {
		if len(p.series) == mostSeries {
			return false
		}
		delete(s.labels, "le")
		x = &series{family: family, labels: s.labels, ordered: true}
		p.series[key] = x
	}
	if n := len(x.bounds); n > 0 && (bound < x.bounds[n-1] || s.value < x.counts[n-1]) {
		x.ordered = false
	}
	x.bounds, x.counts = append(x.bounds, bound), append(x.counts, s.value)
	if !s.at.IsZero() {
		if p.first.IsZero() {
			p.first = s.at
		}
		p.last = s.at
	}
	return true
}

func (x *series) total() float64 { return x.counts[len(x.counts)-1] }

// A sampleLine is one line of a page.
type sampleLine struct {
	name   string
	labels map[string]string
	others string // the labels but le, as they are written
	value  float64
	at     time.Time
}

func (s *sampleLine) key(family string) string { return family + "{" + s.others }

// parseSample parses name{label="value",...} value [timestamp].
func parseSample(line string) (s sampleLine, err error) {
	i := strings.IndexAny(line, "{ \t")
	if i <= 0 {
		return s, fault("is not a series and a value: " + quoted([]byte(line)))
	}
	s.name = line[:i]
	rest := line[i:]
	if labels, ok := strings.CutPrefix(strings.TrimLeft(rest, " \t"), "{"); ok {
		if rest, err = s.cutLabels(labels); err != nil {
			return s, err
		}
	}
	rest, _, _ = strings.Cut(rest, " # ") // an exemplar of OpenMetrics
	words := strings.Fields(rest)
	if len(words) == 0 || len(words) > 2 {
		return s, fault("is not a series and a value: " + quoted([]byte(line)))
	}
	if s.value, err = strconv.ParseFloat(words[0], 64); err != nil {
		return s, fault("has the value " + quoted([]byte(words[0])) + ", which is not a number")
	}
	if strings.HasSuffix(s.name, "_bucket") && !(s.value >= 0 && s.value < 1e18) {
		return s, fault("has the count " + quoted([]byte(words[0])) + ", which cannot be one")
	}
	if len(words) == 2 {
		if s.at, err = epoch([]byte(words[1])); err != nil {
			return s, err
		}
	}
	return s, nil
}

// cutLabels takes the labels off, up to the brace that ends them.
func (s *sampleLine) cutLabels(text string) (rest string, err error) {
	s.labels = make(map[string]string)
	var others strings.Builder
	for {
		text = strings.TrimLeft(text, ", \t")
		if after, ok := strings.CutPrefix(text, "}"); ok {
			s.others = others.String()
			return after, nil
		}
		name, after, ok := strings.Cut(text, `="`)
		if !ok {
			return "", fault("has labels that do not end")
		}
		end := 0
		for end < len(after) && after[end] != '"' {
			if after[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(after) {
			return "", fault("has labels that do not end")
		}
		value := after[:end]
		text = after[end+1:]
		name = strings.TrimSpace(name)
		s.labels[name] = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n").Replace(value)
		if name != "le" {
			others.WriteString(name + "=" + strconv.Quote(value) + ",")
		}
	}
}
