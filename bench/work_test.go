package bench

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ration-go/ration"
)

// A work is the function that is called under a policy.
type work func(ctx context.Context) (int, error)

// A plan says what a row asks of a peer.
type plan struct {
	budget, breaker, timeout bool

	// eager retries at once and never runs out of budget, so that the machinery
	// of failures is measured and not the wait.
	eager bool
}

const (
	attempts       = 3
	firstDelay     = 100 * time.Millisecond
	longestDelay   = 30 * time.Second
	attemptTimeout = 10 * time.Second
	tripAfter      = 5 // failures in a row
	breakFor       = 15 * time.Second
)

// A maker is a peer that calls functions under a policy.
type maker struct {
	name                     string
	budget, breaker, timeout bool // what it can do
	make                     func(tb testing.TB, p plan) func(context.Context, work) (int, error)
}

// makers are all of them, in the order of the tables. Retry libraries have no
// breaker of their own; their documentation leaves it to the caller to nest one,
// which here is gobreaker's, as in most programs.
var makers = []maker{
	{ours, true, true, true, rationCall},
	{"failsafe-go", true, true, true, failsafeCall},
	{"backoff", false, false, false, backoffCall},
	{"backoff+gobreaker", false, true, true, backoffCall},
	{"retry-go", false, false, false, avastCall},
	{"retry-go+gobreaker", false, true, true, avastCall},
	{"go-retry", false, false, false, goRetryCall},
	{"go-retry+gobreaker", false, true, true, goRetryCall},
	{"aws", true, false, false, awsCall},
	{"aws+gobreaker", true, true, true, awsCall},
}

// fits reports whether m is a peer for p: it has all that p asks, and nothing that
// it does not. Where budget is not demanded, a peer without one is let in: the
// tables mark it, since it does less.
func (m maker) fits(p plan, demandBudget bool) bool {
	if demandBudget && p.budget && !m.budget {
		return false
	}
	all := m.name == ours || m.name == "failsafe-go"
	return all || m.breaker == p.breaker
}

// peersFor returns the peers for p that call fn, and the floor below them. Ours
// allocates at most allocs.
func peersFor(
	p plan, demandBudget bool, allocs float64, fn func() work, below func(n int),
) []peer {
	var peers []peer
	for _, m := range makers {
		if !m.fits(p, demandBudget) {
			continue
		}
		peers = append(peers, peer{m.name, func(tb testing.TB) func(int) {
			call, fn, ctx := m.make(tb, p), fn(), context.Background()
			return func(n int) {
				for range n {
					call(ctx, fn)
				}
			}
		}, allocs})
	}
	return append(peers, floorOf(below))
}

var (
	errDown   = errors.New("connection refused")
	errOursIn = ration.Transient(errDown)
)

func succeed(context.Context) (int, error) { return 1, nil }

func alwaysSucceed() work { return succeed }

// failing returns a work that fails n attempts with err and then succeeds once. With
// n = attempts it never succeeds: each call uses up n failures.
func failing(n int, err error) func() work {
	return func() work {
		failed := 0
		return func(context.Context) (int, error) {
			if failed == n && n < attempts {
				failed = 0
				return 1, nil
			}
			failed++
			return 0, err
		}
	}
}
