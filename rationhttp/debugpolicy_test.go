package rationhttp

import (
	"strings"
	"testing"
	"time"

	"github.com/ration-go/ration"
)

func TestInWords(t *testing.T) {
	private, err := ration.PrivateBudget(0.2, 5)
	if err != nil {
		t.Fatal(err)
	}
	shared, err := ration.SharedBudget("in words", 0.05, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		p    ration.Policy
		want string
	}{
		{"default", ration.Policy{},
			"Up to 3 attempts within 30s, each of at most 10s and, once measured, 3 times the p95 of " +
				"successes. Waits begin at 100ms, or 1s when throttled, grow by 2 up to 30s, and have " +
				"full jitter. Retries are bounded to 0.1 per success and 3 a second. No breaker."},
		{"one attempt", ration.Policy{Attempts: 1, Ceiling: ration.NoCeiling},
			"1 attempt within 30s, each of at most 10s. Nothing is retried. No breaker."},
		{"no bounds", ration.Policy{
			Attempts: 5, Deadline: ration.NoLimit, AttemptTimeout: ration.NoLimit,
			Backoff: ration.NoBackoff, Budget: ration.NoBudget, Breaker: ration.NoBreaker,
		}, "Up to 5 attempts, without a timeout of their own. No waits but what the dependency asks for. " +
			"No budget bounds the retries. No breaker."},
		{"numbers of its own", ration.Policy{
			Deadline: 90 * time.Second, AttemptTimeout: 1500 * time.Millisecond, Ceiling: ration.NoCeiling,
			Backoff: ration.Backoff{
				Transient: 20 * time.Millisecond, Factor: 3, Max: ration.NoLimit,
				Jitter: ration.EqualJitter, Measured: &ration.MeasuredBase{},
			},
			Budget:  private,
			Breaker: &ration.BreakerSettings{FailureRatio: 0.5, Break: time.Minute},
		}, "Up to 3 attempts within 1m30s, each of at most 1.5s. Waits begin at 20ms, or 1s when throttled, " +
			"grow by 3, follow what a call normally takes, and have equal jitter. Retries are bounded " +
			"to 0.2 per success and 5 a second. A breaker opens for 1m, and while its probes fail for up to 2m, " +
			"after 5 failures in a row or 50% of calls."},
		{"shared, and what the program decides", ration.Policy{
			Ceiling: ration.NoCeiling, Budget: shared,
			Backoff: ration.Backoff{Custom: func(ration.Next) time.Duration { return 0 }},
			Breaker: &ration.BreakerSettings{ConsecutiveFailures: 1, MaxBreak: 2 * time.Second},
		}, "Up to 3 attempts within 30s, each of at most 10s. Waits follow a curve of the program. Retries are " +
			`bounded to 0.05 per success and 0 a second, shared as "in words". ` +
			"A breaker opens for 2s after 1 failure in a row."},
		{"a ratio alone", ration.Policy{
			Attempts: 1, Ceiling: ration.NoCeiling,
			Breaker: &ration.BreakerSettings{ConsecutiveFailures: -1, FailureRatio: 0.25},
		}, "1 attempt within 30s, each of at most 10s. Nothing is retried. " +
			"A breaker opens for 15s, and while its probes fail for up to 2m, after 25% of calls."},
	} {
		tc.p.Unlisted = true
		if got := inWords(ration.MustNew(tc.p).Policy()); got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", tc.name, got, tc.want)
		}
	}
}

// A name cannot write lines into the explanation.
func TestExplained(t *testing.T) {
	name := "fair\n  attempts         1 in all\u202e"
	e := ration.MustNew(ration.Policy{Name: name, Unlisted: true}).For("a\nb" + strings.Repeat("c", 1<<20))
	got := explained(e)
	first, rest, _ := strings.Cut(got, "\n")
	if !strings.HasPrefix(first, `policy fair\n  attempts         1 in all\u202e, key a\nbccc`) {
		t.Errorf("begins with %s", first)
	}
	if !strings.HasPrefix(rest, "  attempts         3 in all\n") || len(got) > 4096 ||
		!strings.Contains(rest, "long failures") {
		t.Errorf("goes on with %d bytes: %.100s", len(rest), rest)
	}
}
