package ration_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ration-go/ration"
)

// errBackend is the failure of a dependency, and errDown the same in a form that
// the default classifier retries.
var (
	errBackend = errors.New("backend said no")
	errDown    = ration.Transient(errBackend)
	errSlow    = ration.Throttled(errBackend, 0)
)

// A recorder is a listener that keeps what it hears.
type recorder struct {
	mu     sync.Mutex
	events []ration.Event
}

func (r *recorder) hear(ev ration.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, ev)
}

// take returns the events since the last take.
func (r *recorder) take() []ration.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.events
	r.events = nil
	return events
}

// kinds names the kinds of events in order.
func kinds(events []ration.Event) string {
	var names []string
	for _, ev := range events {
		names = append(names, ev.Kind.String())
	}
	return strings.Join(names, " ")
}

// only returns the events of one kind.
func only(events []ration.Event, kind ration.EventKind) []ration.Event {
	return slices.DeleteFunc(slices.Clone(events), func(ev ration.Event) bool {
		return ev.Kind != kind
	})
}

// terminal returns the one terminal event of a call, which must be its last.
func terminal(t *testing.T, events []ration.Event) ration.Event {
	t.Helper()
	var last ration.Event
	n := 0
	for _, ev := range events {
		if ev.Terminal() {
			n++
		}
		last = ev
	}
	if n != 1 || !last.Terminal() {
		t.Errorf("events %q: want one terminal event, the last", kinds(events))
	}
	return last
}

// failing returns a function that fails with the given errors, one a time, and
// then succeeds. Its value is the number of the attempt.
func failing(errs ...error) func(context.Context) (int, error) {
	n := 0
	return func(context.Context) (int, error) {
		n++
		if n <= len(errs) {
			return n, errs[n-1]
		}
		return n, nil
	}
}

// always returns a function that fails with err for ever, and counts.
func always(err error, attempts *int) func(context.Context) error {
	return func(context.Context) error {
		*attempts++
		return err
	}
}

func succeed(context.Context) error { return nil }

// bucketOf returns a budget of n tokens, at least 1, that deposits a tenth.
func bucketOf(t testing.TB, n float64) *ration.Budget {
	t.Helper()
	floor := n / 10
	if n <= 1 {
		floor = 0
	}
	b, err := ration.NewBudget(0.1, floor)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// near compares what went through floating point.
func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// checkIs compares err with what it must match and what it must not.
func checkIs(t *testing.T, err error, is, isNot []error) {
	t.Helper()
	for _, target := range is {
		if !errors.Is(err, target) {
			t.Errorf("%v does not match %v", err, target)
		}
	}
	for _, target := range isNot {
		if errors.Is(err, target) {
			t.Errorf("%v matches %v", err, target)
		}
	}
}
