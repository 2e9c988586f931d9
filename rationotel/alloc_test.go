package rationotel_test

import (
	"context"
	"testing"

	"github.com/ration-go/ration"
)

func TestRecordingASuccessAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	attach(t)
	e := ration.MustNew(ration.Policy{
		Name:           "allocations",
		AttemptTimeout: ration.NoLimit, Deadline: ration.NoLimit, Ceiling: ration.NoCeiling,
	})
	ctx := context.Background()
	succeed := func(context.Context) (int, error) { return 1, nil }
	for name, e := range map[string]*ration.Executor{"plain": e, "key": e.For("host")} {
		n := testing.AllocsPerRun(1000, func() {
			if _, err := ration.Do(ctx, e, succeed); err != nil {
				t.Fatal(err)
			}
		})
		// The promise is 2. More than none would be a new cost all the same.
		if n > 0 {
			t.Errorf("%s: a success that is recorded allocates %v times, want 0", name, n)
		}
	}
}
