package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ration-go/ration/rationsim"
)

// assumptions says what was simulated and what was taken for granted, as rows of a
// name or keyword and a sentence.
func (r *topologyResult) assumptions() [][2]string {
	var rows [][2]string
	for _, e := range r.base.Entries {
		rows = append(rows, [2]string{entryName(e), loadText(e, r.base.Duration)})
	}
	for _, s := range r.base.Services {
		rows = append(rows, [2]string{s.Name, serviceText(s)})
	}
	rows = append(rows, r.edgeAssumptions()...)
	rows = append(rows, r.floorAssumptions()...)
	if slices.ContainsFunc(r.base.Services, func(s rationsim.Service) bool {
		return s.Concurrency == 0
	}) {
		rows = append(rows, [2]string{"no limit", "load does not slow a service without one"})
	}
	rows = append(rows,
		[2]string{"failures", "a timeout, an outage, a full queue and work that fails are transient; " +
			"a request fails when a call it makes does, unless that is optional"},
		[2]string{"worst", "the most that a service got in any one second while calls arrive, or that " +
			"an edge sent: per call that the arrivals cause there without retries in it or, where that " +
			"is more, in a second on average"},
		[2]string{"fails by", "what ended most of the calls that failed"},
		[2]string{"wasted", "answers that nobody waited for any more, of all requests"},
	)
	if _, ends := troubleEnds(r.base); ends {
		rows = append(rows, [2]string{"recovered", "from the end of the last trouble to the first " +
			"arrival from which on, for a second, every arriving call succeeds"})
	}
	if r.seeds() > 1 {
		rows = append(rows, [2]string{"apart", "two ranges over the seeds do not overlap, so that " +
			"their difference is more than the luck of a seed; single numbers are medians"})
	}
	return rows
}

func loadText(e rationsim.Entry, duration time.Duration) string {
	l := e.Load
	var text string
	switch {
	case l.Users > 0:
		text = fmt.Sprintf("%s users, each calling again %s after its answer, on average",
			count(l.Users), short(l.Think))
	case l.Trace != nil:
		text = fmt.Sprintf("%s recorded arrivals", count(len(l.Trace)))
	case l.Shape != nil:
		text = fmt.Sprintf("%s calls a second on average, from %s to %s, at random",
			rounded(averageRate(l, duration)), decimal(leastRate(l)), decimal(mostRate(l)))
	default:
		text = fmt.Sprintf("%s calls a second at random (Poisson), whatever becomes of them",
			decimal(l.Rate))
	}
	if l.Burst != (rationsim.Burst{}) {
		text += fmt.Sprintf(", in bursts of %s (index of dispersion %s)", short(l.Burst.Length),
			rounded(l.Burst.Dispersion(averageRate(l, duration))))
	}
	text += fmt.Sprintf(", for %s", short(duration))
	if l.Sheddable > 0 {
		text += fmt.Sprintf("; %s%% sheddable", decimal(100*l.Sheddable))
	}
	if l.CriticalPlus > 0 {
		text += fmt.Sprintf("; %s%% critical plus", decimal(100*l.CriticalPlus))
	}
	if e.Clients > 1 {
		text += fmt.Sprintf("; from %s processes", count(e.Clients))
	}
	return text
}

func leastRate(l rationsim.Load) float64 {
	return slices.MinFunc(l.Shape, byRate).Rate
}

func mostRate(l rationsim.Load) float64 {
	return slices.MaxFunc(l.Shape, byRate).Rate
}

func byRate(a, b rationsim.Point) int {
	switch {
	case a.Rate < b.Rate:
		return -1
	case a.Rate > b.Rate:
		return 1
	}
	return 0
}

// rounded shows a computed number with as many digits as matter.
func rounded(x float64) string { return fmt.Sprintf("%.4g", x) }

func serviceText(s rationsim.Service) string {
	var parts []string
	if s.Replicas > 1 {
		parts = append(parts, fmt.Sprintf("%s replicas", count(s.Replicas)))
	}
	parts = append(parts, workText(s.Latency))
	if s.FailureRate > 0 {
		parts = append(parts, decimal(100*s.FailureRate)+"% fail")
	}
	parts = append(parts, capacityText(s))
	if s.CancelsWork {
		parts = append(parts, "work is cancelled when the caller has gone")
	}
	if s.KeepsDeadline {
		parts = append(parts, "calls keep the caller's deadline")
	}
	if s.Parallel && len(s.Calls) > 1 {
		parts = append(parts, "calls in parallel")
	}
	return strings.Join(append(parts, troubleTexts(s)...), "; ")
}

func workText(l rationsim.Latency) string {
	switch {
	case l.Exponential > 0:
		return fmt.Sprintf("works %s on average, exponential", short(l.Exponential))
	case l.Quantiles != nil:
		last := l.Quantiles[len(l.Quantiles)-1]
		return fmt.Sprintf("works as its quantiles say, up to %s", short(last.Value))
	case l.P50 == l.P99:
		return fmt.Sprintf("works %s, always", short(l.P50))
	}
	return fmt.Sprintf("works p50 %s, p99 %s (log-normal)", short(l.P50), short(l.P99))
}

func capacityText(s rationsim.Service) string {
	if s.Concurrency == 0 {
		return "no limit"
	}
	each := ""
	if s.Replicas > 1 {
		each = " each"
	}
	text := fmt.Sprintf("%s at once and %s in queue%s", count(s.Concurrency), count(s.Queue), each)
	if s.Order == rationsim.LIFO {
		text += ", last come first"
	}
	if s.DropExpired {
		text += ", dropped when expired"
	}
	return text
}

func troubleTexts(s rationsim.Service) (parts []string) {
	for _, b := range s.Brownouts {
		parts = append(parts,
			fmt.Sprintf("%s times as slow %s", decimal(b.Slower), spanText(b.From, b.For)))
	}
	for _, o := range s.Outages {
		parts = append(parts, "down "+spanText(o.From, o.For))
	}
	for _, f := range s.Failures {
		parts = append(parts, fmt.Sprintf("%s%% fail %s", decimal(100*f.Rate), spanText(f.From, f.For)))
	}
	for _, b := range s.Bad {
		parts = append(parts, badText(b))
	}
	if c := s.Cold; c != nil {
		parts = append(parts, fmt.Sprintf("%s times as slow after an outage, the excess halved by "+
			"every %s requests", decimal(c.Slower), count(c.HalfLife)))
	}
	if l := s.RateLimit; l != nil {
		text := fmt.Sprintf("answers 429 beyond %s a second", decimal(l.PerSecond))
		if l.RetryAfter > 0 {
			text += fmt.Sprintf(", with Retry-After %s", short(l.RetryAfter))
		}
		parts = append(parts, text)
	}
	return parts
}

func badText(b rationsim.BadReplica) string {
	var does []string
	if b.Slower > 1 {
		does = append(does, fmt.Sprintf("is %s times as slow", decimal(b.Slower)))
	}
	if b.FailureRate > 0 {
		does = append(does, fmt.Sprintf("fails %s%%", decimal(100*b.FailureRate)))
	}
	when := "from " + short(b.From) + " on"
	if b.For > 0 {
		when = spanText(b.From, b.For)
	}
	return fmt.Sprintf("replica %d %s %s", b.Replica, strings.Join(does, " and "), when)
}

// edgeAssumptions says what decides on each edge. Edges on which the same does share
// a row.
func (r *topologyResult) edgeAssumptions() (rows [][2]string) {
	edges := edgesOf(r.base)
	var texts []string
	by := make(map[string][]string)
	for _, e := range edges {
		text := e.text()
		if by[text] == nil {
			texts = append(texts, text)
		}
		by[text] = append(by[text], e.name())
	}
	for _, text := range texts {
		names := strings.Join(by[text], ", ")
		if len(texts) == 1 && len(edges) > 1 {
			names = "every edge"
		}
		rows = append(rows, [2]string{"policy", names + ": " + text})
	}
	return rows
}

func (e edge) name() string { return e.from + " -> " + e.to }

func (e edge) text() string { return strings.Join(e.parts(), ", ") }

func (e edge) parts() []string {
	p := resolved(e.policy)
	attempts := "1 attempt"
	if p.Attempts > 1 {
		attempts = fmt.Sprintf("%d attempts", p.Attempts)
	}
	parts := []string{attempts, limitText(p.AttemptTimeout) + " each"}
	if ceilingText(p) != off {
		parts = append(parts, "ceiling "+ceilingText(p))
	}
	parts = append(parts, limitText(p.Deadline)+" in all")
	if p.Attempts > 1 {
		parts = append(parts, "backoff "+strings.ReplaceAll(backoffText(p), ",", ""))
	}
	switch {
	case p.Attempts == 1:
	case e.limiter:
		parts = append(parts, "another limiter")
	case p.Budget == nil:
		parts = append(parts, "no budget")
	default:
		parts = append(parts, "budget "+budgetText(p))
	}
	if hasBreaker(p) {
		parts = append(parts, "breaker")
	}
	if e.obey {
		parts = append(parts, "obeys a give-up")
	}
	if e.times > 1 {
		parts = append(parts, fmt.Sprintf("%d times a request", e.times))
	}
	if e.optional {
		parts = append(parts, "optional")
	}
	return parts
}

// floorAssumptions point at floors that add up: a budget allows so many retries a
// second whatever fails, and it does in every process for itself.
func (r *topologyResult) floorAssumptions() (rows [][2]string) {
	for _, e := range edgesOf(r.base) {
		p := resolved(e.policy)
		rate := r.callRate(e.to)
		if p.Budget == nil || p.Attempts < 2 || e.executors < 2 || rate == 0 {
			continue
		}
		floor := float64(e.executors) * p.Budget.MinimumPerSecond()
		share := floor / rate
		if share <= p.Budget.Fraction() {
			continue
		}
		rows = append(rows, [2]string{"floor", fmt.Sprintf("%s: %s processes with a floor of %s/s each "+
			"send up to %s retries a second into a total outage, %.0f%% of the %s calls a second there, "+
			"after the %s with which their buckets start", e.name(), count(e.executors),
			decimal(p.Budget.MinimumPerSecond()), decimal(floor), 100*share, rounded(rate),
			decimal(float64(e.executors)*p.Budget.Tokens(time.Unix(0, 0))))})
	}
	return rows
}

// callRate returns how many calls a second reach a service on average when nothing is
// retried, which is what its load is measured by.
func (r *topologyResult) callRate(service string) float64 {
	for _, s := range r.bands[0].Reports[0].Services {
		if s.Name == service && s.LoadMultiplier > 0 {
			return float64(s.Received) / s.LoadMultiplier / r.base.Duration.Seconds()
		}
	}
	return 0
}
