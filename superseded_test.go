package ration_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ration-go/ration"
)

// A holder is a failure that holds something.
type holder struct{ released []time.Time }

func (h *holder) Error() string { return "held" }
func (h *holder) Superseded()   { h.released = append(h.released, time.Now()) }

// A failure lets go of what it holds when a retry is decided, before the wait; the
// last one keeps it.
func TestSuperseded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backoff := ration.ConstantBackoff(time.Second)
		backoff.Jitter = ration.NoJitter
		e := ration.MustNew(ration.Policy{Backoff: backoff})
		start := time.Now()
		var held []*holder
		_, err := ration.Do(t.Context(), e, func(context.Context) (int, error) {
			held = append(held, &holder{})
			return 0, fmt.Errorf("wrapped: %w", ration.Transient(held[len(held)-1]))
		})
		if len(held) != 3 || !errors.Is(err, held[2]) {
			t.Fatalf("%d attempts, error %v", len(held), err)
		}
		for i, h := range held {
			want := []time.Time{start.Add(time.Duration(i) * time.Second)}
			if i == 2 {
				want = nil
			}
			if fmt.Sprint(h.released) != fmt.Sprint(want) {
				t.Errorf("attempt %d: released at %v, want %v", i+1, h.released, want)
			}
		}
	})
}

// A refusal comes in the place of the failure, after a pause.
func TestSupersededByRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := ration.MustNew(ration.Policy{Breaker: &ration.BreakerSettings{ConsecutiveFailures: 1}})
		start := time.Now()
		h := &holder{}
		err := e.Run(t.Context(), func(context.Context) error { return ration.Transient(h) })
		if !errors.Is(err, ration.ErrUnavailable) || !errors.Is(err, h) {
			t.Fatal(err)
		}
		if len(h.released) != 1 || !h.released[0].Equal(start) {
			t.Errorf("released at %v, want once, before the pause", h.released)
		}
	})
}
