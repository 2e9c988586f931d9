package rationotel_test

import (
	"context"
	"testing"

	"github.com/ration-go/ration"
)

// A call that succeeds at once is recorded without an allocation, also under a span
// that is sampled, of which the SDK keeps exemplars.
func TestRecordingASuccessAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	attach(t)
	e := ration.MustNew(ration.Policy{
		Name:           "allocations",
		AttemptTimeout: ration.NoLimit, Deadline: ration.NoLimit, Ceiling: ration.NoCeiling,
	})
	provider, _ := newTracer()
	sampled, span := provider.Tracer("test").Start(context.Background(), "caller")
	defer span.End()
	succeed := func(context.Context) (int, error) { return 1, nil }
	for _, tc := range []struct {
		name string
		ctx  context.Context
		e    *ration.Executor
	}{
		{"plain", context.Background(), e},
		{"key", context.Background(), e.For("host")},
		{"sampled", sampled, e},
	} {
		n := testing.AllocsPerRun(1000, func() {
			if _, err := ration.Do(tc.ctx, tc.e, succeed); err != nil {
				t.Fatal(err)
			}
		})
		if n > 0 {
			t.Errorf("%s: a success that is recorded allocates %v times", tc.name, n)
		}
	}
}
