package rationhttp

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ration-go/ration"
)

// inWords returns what a policy says, in sentences. Explain, beside it, says what
// comes of that.
func inWords(p ration.Policy) string {
	var w words
	w.attempts(&p)
	if p.Attempts > 1 {
		w.backoff(&p.Backoff)
	}
	w.budget(&p)
	w.breaker(p.Breaker)
	return strings.Join(w, " ")
}

type words []string

func (w *words) say(format string, args ...any) { *w = append(*w, fmt.Sprintf(format, args...)) }

func (w *words) attempts(p *ration.Policy) {
	text := "1 attempt"
	if p.Attempts > 1 {
		text = fmt.Sprintf("Up to %d attempts", p.Attempts)
	}
	if p.Deadline != ration.NoLimit {
		text += " within " + brief(p.Deadline)
	}
	if p.AttemptTimeout == ration.NoLimit {
		text += ", without a timeout of their own"
	} else {
		text += ", each of at most " + brief(p.AttemptTimeout)
	}
	if c := p.Ceiling; c != nil && c != ration.NoCeiling {
		text += fmt.Sprintf(" and, once measured, %g times the p%g of successes",
			c.Multiple, 100*c.Quantile)
	}
	w.say("%s.", text)
}

func (w *words) backoff(b *ration.Backoff) {
	switch {
	case b.Custom != nil:
		w.say("Waits follow a curve of the program.")
		return
	case b.Transient == 0:
		w.say("No waits but what the dependency asks for.")
		return
	}
	jitter := map[ration.Jitter]string{
		ration.FullJitter: "full", ration.EqualJitter: "equal", ration.NoJitter: "no",
	}[b.Jitter]
	text := fmt.Sprintf("Waits begin at %s, or %s when throttled, grow by %g",
		brief(b.Transient), brief(b.Throttled), b.Factor)
	if b.Max != ration.NoLimit {
		text += " up to " + brief(b.Max)
	}
	if b.Measured != nil {
		text += ", follow what a call normally takes"
	}
	w.say("%s, and have %s jitter.", text, jitter)
}

func (w *words) budget(p *ration.Policy) {
	b := p.Budget
	switch {
	case b == ration.NoBudget:
		w.say("No budget bounds the retries.")
	case b == nil && p.Attempts == 1:
		w.say("Nothing is retried.")
	case b == nil:
		w.say("Retries are bounded to %g per success and %d a second.",
			ration.DefaultBudgetFraction, ration.DefaultBudgetMinimumPerSecond)
	default:
		text := fmt.Sprintf("Retries are bounded to %g per success and %g a second",
			b.Fraction(), b.MinimumPerSecond())
		if b.Name() != "" {
			text += fmt.Sprintf(", shared as %q", b.Name())
		}
		w.say("%s.", text)
	}
}

func (w *words) breaker(s *ration.BreakerSettings) {
	if s == nil || s == ration.NoBreaker {
		w.say("No breaker.")
		return
	}
	trips := []string{}
	if n := s.ConsecutiveFailures; n >= 0 {
		if n == 0 {
			n = 5
		}
		trips = append(trips, counted(uint64(n), "failure")+" in a row")
	}
	if s.FailureRatio > 0 {
		trips = append(trips, fmt.Sprintf("%.3g%% of calls", 100*s.FailureRatio))
	}
	length, longest := breaks(s)
	text := "A breaker opens for " + brief(length)
	if longest > length {
		text += ", and while its probes fail for up to " + brief(longest) + ","
	}
	w.say("%s after %s.", text, strings.Join(trips, " or "))
}

// breaks returns how long the first break of a breaker is, and the longest.
func breaks(s *ration.BreakerSettings) (first, longest time.Duration) {
	longest = cmp.Or(s.MaxBreak, max(2*time.Minute, s.Break))
	return cmp.Or(s.Break, min(15*time.Second, longest)), longest
}

// explained returns what [ration.Executor.Explain] says, as it may be shown. A
// name that holds a line break must not write lines of its own.
func explained(e *ration.Executor) string {
	text := e.Explain()
	for _, name := range []string{e.Policy().Name, e.Key()} {
		if shown := legible(name, nameLength); shown != name {
			text = strings.Replace(text, name, shown, 1)
		}
	}
	lines := strings.Split(strings.TrimRight(cut(text, explainLength), "\n"), "\n")
	for i, line := range lines {
		lines[i] = legible(line, explainLength)
	}
	return strings.Join(lines, "\n")
}
