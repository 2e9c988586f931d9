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
		add(f.From, f.For, failing(f.Rate), failing(f.Rate))
	}
	for _, b := range s.Bad {
		length := b.For
		if length == 0 {
			length = max(0, end-b.From)
		}
		add(b.From, length, "bad replica", badReplica(b))
	}
	return out
}

// failing names a share that fails.
func failing(share float64) string {
	return strings.Replace(percent(share), ".00%", "%", 1) + " fail"
}

// badReplica says what is bad about it. Replicas are counted from 0.
func badReplica(b rationsim.BadReplica) string {
	var words []string
	if b.Slower > 1 {
		words = append(words, factor(b.Slower)+" as slow")
	}
	if b.FailureRate > 0 {
		words = append(words, failing(b.FailureRate))
	}
	return fmt.Sprintf("replica %d: %s", b.Replica, strings.Join(words, " and "))
}

// details names the troubles in one line, "" for none.
func details(all []trouble) string {
	var words []string
	for _, t := range all {
		words = append(words, t.detail)
	}
	return strings.Join(words, "; ")
}
