package ration_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ration-go/ration"
)

func TestMeasured(t *testing.T) {
	measuredBase := ration.Backoff{Measured: &ration.MeasuredBase{}}
	const octave = 1 << 16 * time.Microsecond // which the histogram tells exactly
	for _, tc := range []struct {
		name                string
		p                   ration.Policy
		calls               int
		later               time.Duration
		ceiling, backoff    time.Duration
		ceilingIs, backedBy string
	}{
		{name: "no base unless asked for", calls: 20,
			ceiling: 3 * octave, ceilingIs: "warm", backedBy: "off"},
		{name: "off", p: ration.Policy{Ceiling: ration.NoCeiling, Backoff: ration.NoBackoff},
			calls: 20, ceilingIs: "off", backedBy: "off"},
		{name: "never called", p: ration.Policy{Backoff: measuredBase},
			ceilingIs: "cold", backedBy: "cold"},
		{name: "too few", p: ration.Policy{Backoff: measuredBase}, calls: 19,
			ceilingIs: "cold", backedBy: "cold"},
		{name: "both", p: ration.Policy{Backoff: measuredBase}, calls: 20,
			ceiling: 3 * octave, ceilingIs: "warm", backoff: octave, backedBy: "warm"},
		{name: "above the attempt timeout, where it does not bind",
			p: ration.Policy{AttemptTimeout: 100 * ms}, calls: 20,
			ceiling: 3 * octave, ceilingIs: "warm", backedBy: "off"},
		{name: "forgotten after five minutes", p: ration.Policy{Backoff: measuredBase}, calls: 20,
			later: 6 * time.Minute, ceilingIs: "cold", backedBy: "cold"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tc.p.Unlisted = true
				e := ration.MustNew(tc.p)
				for range tc.calls {
					_ = e.Run(context.Background(), func(context.Context) error {
						time.Sleep(octave)
						return nil
					})
				}
				time.Sleep(tc.later)
				c, cs := e.MeasuredCeiling(time.Now())
				b, bs := e.MeasuredBackoff(time.Now())
				want := fmt.Sprint(tc.ceiling, " ", tc.ceilingIs, " ", tc.backoff, " ", tc.backedBy)
				if got := fmt.Sprint(c, " ", cs, " ", b, " ", bs); got != want {
					t.Errorf("%s, want %s", got, want)
				}
			})
		})
	}
}

// Each key has estimates of its own, and one from Once has those of its key.
func TestMeasuredByKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := ration.MustNew(ration.Policy{Unlisted: true})
		a := e.For("a")
		for range 20 {
			_ = a.Once().Run(context.Background(), func(context.Context) error { return nil })
		}
		for _, tc := range []struct {
			of   *ration.Executor
			want ration.EstimateState
		}{
			{e, ration.EstimateCold},
			{a, ration.EstimateWarm},
			{a.Once(), ration.EstimateWarm},
			{e.For("b"), ration.EstimateCold},
		} {
			if _, got := tc.of.MeasuredCeiling(time.Now()); got != tc.want {
				t.Errorf("key %q is %v, want %v", tc.of.Key(), got, tc.want)
			}
		}
	})
}

func TestMeasuredAllocs(t *testing.T) {
	e := ration.MustNew(ration.Policy{
		Unlisted: true, Backoff: ration.Backoff{Measured: &ration.MeasuredBase{}},
	})
	now := time.Now()
	if n := testing.AllocsPerRun(100, func() {
		e.MeasuredCeiling(now)
		e.MeasuredBackoff(now)
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
