package main

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/ration-go/ration/cmd/ration/internal/traffic"
)

// mostArrivals is as many as a simulation takes.
const mostArrivals = 50_000_000

// A tracer collects arrivals, as a simulation replays them. Unlike everything else
// that is read, it keeps a number for each call.
type tracer struct {
	at     []int64 // nanoseconds since 1970
	beyond int
}

func (t *tracer) add(at time.Time) {
	if len(t.at) == mostArrivals {
		t.beyond++
		return
	}
	t.at = append(t.at, at.UnixNano())
}

// arrivals returns the calls of the time that the summary covers, in order, since its
// beginning. Calls that are known to the second are spread over it, evenly: all at
// once would be bursts that nobody has seen.
func (t *tracer) arrivals(s *traffic.Summary) []time.Duration {
	slices.Sort(t.at)
	from := s.From.UnixNano()
	var out []time.Duration
	for i := 0; i < len(t.at); {
		j := i + 1
		for j < len(t.at) && t.at[j] == t.at[i] {
			j++
		}
		for k := i; k < j; k++ {
			at := time.Duration(t.at[k] - from)
			if j-i > 1 && t.at[i]%int64(time.Second) == 0 {
				at += time.Second * time.Duration(k-i) / time.Duration(j-i)
			}
			if at >= 0 && at < s.Duration {
				out = append(out, at)
			}
		}
		i = j
	}
	slices.Sort(out)
	return out
}

// write writes a trace: one arrival a line.
func (t *tracer) write(file string, s *traffic.Summary) (err error) {
	if t.beyond > 0 {
		return usage("--arrivals holds %s calls at most, and there are %s more", count(mostArrivals),
			count(t.beyond))
	}
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("--arrivals: %w", err)
	}
	w := bufio.NewWriter(f)
	fmt.Fprintf(w, "# Arrivals in seconds since %s, by ration calibrate.\n",
		s.From.Format(time.RFC3339))
	for _, at := range t.arrivals(s) {
		fmt.Fprintf(w, "%.6f\n", at.Seconds())
	}
	if err = w.Flush(); err == nil {
		err = f.Close()
	} else {
		f.Close()
	}
	return err
}
