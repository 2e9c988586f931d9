package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/ration-go/ration/rationsim"
)

// A trouble is a stretch of time in which something is worse than usual.
type trouble struct {
	from, to float64 // seconds since the start
	what     string  // in a few words
	detail   string  // in more
}

func troubleAt(from, length time.Duration, what, detail string) trouble {
	return trouble{
		from: from.Seconds(), to: (from + length).Seconds(), what: what,
		detail: fmt.Sprintf("%s from %s to %s", detail, clock(from), clock(from+length)),
	}
}

// troubles returns those of a service in a run that ends after a while. Those of
// services other than the focus carry the name.
func troubles(s rationsim.Service, prefix string, end time.Duration) (out []trouble) {
	add := func(from, length time.Duration, what, detail string) {
		out = append(out, troubleAt(from, length, prefix+what, prefix+detail))
	}
	for _, b := range s.Brownouts {
		add(b.From, b.For, "brownout "+factor(b.Slower),
			fmt.Sprintf("brownout, %s as slow", factor(b.Slower)))
	}
	for _, o := range s.Outages {
		add(o.From, o.For, "outage", "outage")
	}
	for _, f := range s.Failures {
		what := percent(f.Rate)
		what = strings.Replace(what, ".00%", "%", 1)
		add(f.From, f.For, what+" fail", what+" of its work fails")
	}
	for _, b := range s.Bad {
		length := b.For
		if length == 0 {
			length = max(0, end-b.From)
		}
		add(b.From, length, "bad replica", fmt.Sprintf("replica %d bad", b.Replica))
	}
	return out
}

// details names the troubles in one line, "" for none.
func details(all []trouble) string {
	var words []string
	for _, t := range all {
		words = append(words, t.detail)
	}
	return strings.Join(words, "; ")
}
