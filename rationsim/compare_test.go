package rationsim

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ration-go/ration"
)

// short returns the variants of a preset, cut to a length.
func short(t *testing.T, preset string, length time.Duration) []Variant {
	t.Helper()
	_, variants, ok := TopologyPreset(preset)
	if !ok {
		t.Fatalf("no preset %q", preset)
	}
	for i := range variants {
		variants[i].Topology.Duration = length
	}
	return variants
}

func TestComparisonDoesNotDependOnCores(t *testing.T) {
	variants := short(t, "metastable", 10*time.Second)
	var want []byte
	for _, cores := range []int{1, 2, 7} {
		before := runtime.GOMAXPROCS(cores)
		bands, err := CompareSeeds(t.Context(), variants, 1, 3)
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(bands)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%d cores give another result", cores)
		}
	}
}

// All presets give the same bytes on every machine. A change here is a change of
// what users were told.
func TestTopologiesRepeatToTheByte(t *testing.T) {
	skipUnderRace(t)
	var got bytes.Buffer
	for _, name := range TopologyPresetNames() {
		if _, _, ok := Preset(name); ok {
			continue // in presets.golden
		}
		_, variants, _ := TopologyPreset(name)
		for _, v := range variants {
			v.Topology.Duration = 75 * time.Second // all troubles have begun
			r, err := RunTopology(t.Context(), v.Topology, 42)
			if err != nil {
				t.Fatal(err)
			}
			b, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(b)
			n, last := r.Entries[0], r.Services[len(r.Services)-1]
			fmt.Fprintf(&got, "%s, %s: availability %.4f, bottom %.3fx, worst second %.3fx, %s\n",
				name, v.Name, n.Availability, last.LoadMultiplier, last.Amplification,
				hex.EncodeToString(sum[:8]))
		}
	}
	golden := filepath.Join("testdata", "topologies.golden")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the presets report\n%swant\n%s", got.Bytes(), want)
	}
}

func TestComparisonEndsWithItsContext(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := CompareSeeds(ctx, short(t, "chain", time.Minute), 1, 2); !errors.Is(err, cause) {
		t.Errorf("error is %v", err)
	}
	if _, err := RunSeedsContext(ctx, small(), Config{}, 1, 2); !errors.Is(err, cause) {
		t.Errorf("error is %v", err)
	}
	if _, err := ChainTable(ctx, 2, 1); !errors.Is(err, cause) {
		t.Errorf("error is %v", err)
	}
}

func TestComparisonOfBadInput(t *testing.T) {
	good := short(t, "chain", time.Second)
	bad := append(slices.Clone(good), Variant{Name: "wrong"})
	_, err := CompareSeeds(t.Context(), bad, 1, 1)
	if err == nil || !strings.Contains(err.Error(), `variant "wrong"`) {
		t.Errorf("error is %v", err)
	}
	if _, err := CompareSeeds(t.Context(), good, 1, 0); err == nil {
		t.Error("no error for no seeds")
	}
	if got, err := CompareSeeds(t.Context(), nil, 1, 1); len(got) != 0 || err != nil {
		t.Errorf("nothing to compare gives %v, %v", got, err)
	}
}

// On one seed every variant meets the same arrivals, and the same attempt of the
// same call takes the same work, also below the first hop.
func TestVariantsMeetTheSame(t *testing.T) {
	variants := short(t, "chain", 20*time.Second)
	bands, err := CompareSeeds(t.Context(), variants, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	first := bands[0].Reports[0]
	for _, b := range bands[1:] { // nothing fails before 30 s
		r := b.Reports[0]
		if !reflect.DeepEqual(r.Services, first.Services) {
			t.Errorf("%q and %q differ where their policies do not", b.Name, bands[0].Name)
		}
	}
}

// Running changes nothing that the topology reaches.
func TestTopologyIsAValue(t *testing.T) {
	_, variants, _ := TopologyPreset("brownout")
	p := variants[1].Topology
	p.Duration = 5 * time.Second
	before := p.Clone()
	topologyRun(t, p, 1)
	if !reflect.DeepEqual(p, before) {
		t.Error("a run changed its topology")
	}
	changed := p.WithLimiter(nil).WithObedience()
	if !reflect.DeepEqual(p, before) || !changed.Services[0].Calls[0].ObeyGiveUp ||
		changed.Entries[0].Policy.Budget != ration.NoBudget {
		t.Error("a copy shares what it changed")
	}
}

// Beyond two million calls quantiles are near, and until then exact.
func TestLatenciesOfMany(t *testing.T) {
	skipUnderRace(t)
	var few, many latencies
	sample := newSampler(usual)
	s := newStream(1, purposeLatency)
	for i := range uint64(exactLatencies + 1000) {
		d := time.Duration(sample.sample(s.at(i, 0)))
		many.add(d)
		few.exact = append(few.exact, d)
		few.count++
		few.max = max(few.max, d)
	}
	if many.slots == nil || many.exact != nil {
		t.Fatal("all are kept")
	}
	want, got := few.report(), many.report()
	for _, tt := range []struct{ got, want time.Duration }{
		{got.P50, want.P50}, {got.P90, want.P90}, {got.P99, want.P99}, {got.Max, want.Max},
	} {
		if math.Abs(float64(tt.got)/float64(tt.want)-1) > 0.002 {
			t.Errorf("quantiles are %+v, want %+v", got, want)
		}
	}
	for _, d := range []time.Duration{0, 1, 511, 512, 1023, 1024, 1025, time.Hour, math.MaxInt64} {
		if got := slotMiddle(slotOf(d)); math.Abs(float64(got-d)) > 0.001*float64(d) {
			t.Errorf("%d ns reads as %d ns", d, got)
		}
	}
}

// A limiter is told of each call in order, and has the last word on its retries.
func TestLimiterIsTold(t *testing.T) {
	var log []string
	p := calls(ration.Policy{Ceiling: ration.NoCeiling, Backoff: ration.ConstantBackoff(ms)},
		[]time.Duration{0}, Service{Name: "one", Latency: constant(ms), FailureRate: 1})
	for _, tt := range []struct {
		retry, resume bool
		want          string
	}{
		{true, true, "begin done retry resume done retry resume done end"},
		{false, true, "begin done retry end"},
		{true, false, "begin done retry resume end"},
	} {
		log = nil
		p := p.WithLimiter(func() Limiter { return &recorder{&log, tt.retry, tt.resume} })
		r := topologyRun(t, p, 1)
		if got := strings.Join(log, " "); got != tt.want {
			t.Errorf("%+v: told %q", tt, got)
		}
		refused := !tt.retry || !tt.resume
		if got := r.Entries[0].Stops[ration.StopBudgetExhausted] == 1; got != refused {
			t.Errorf("%+v: stops are %v", tt, r.Entries[0].Stops)
		}
	}
}

// A recorder is a limiter that notes what it is told.
type recorder struct {
	log           *[]string
	retry, resume bool
}

func (r *recorder) note(what string) { *r.log = append(*r.log, what) }

func (r *recorder) Begin(time.Duration, *Held)            { r.note("begin") }
func (r *recorder) Done(time.Duration, *Held, AttemptEnd) { r.note("done") }
func (r *recorder) Retry(time.Duration, *Held, AttemptEnd) bool {
	r.note("retry")
	return r.retry
}

func (r *recorder) Resume(time.Duration, *Held) bool {
	r.note("resume")
	return r.resume
}

func (r *recorder) End(time.Duration, *Held, bool) { r.note("end") }

// Memory is flat: what a run allocates grows with its executors and seconds, not
// with its calls, the 8 bytes for each latency aside.
func TestAllocationsPerCall(t *testing.T) {
	skipUnderRace(t)
	t.Run("allocations", func(t *testing.T) {
		measure := func(length time.Duration) float64 {
			p := pods()
			p.Duration = length
			p.Services[0].Brownouts = nil
			return testing.AllocsPerRun(1, func() { ran(t, p, 1) })
		}
		calls := 5000.0 * 10
		if per := (measure(20*time.Second) - measure(10*time.Second)) / calls; per > 0.1 {
			t.Errorf("%v allocations for each further call", per)
		}
	})
	t.Run("events", func(t *testing.T) {
		p := pods()
		p.Duration = 10 * time.Second
		e := ran(t, p, 1)
		calls := float64(e.edges[0].tally.latencies.count)
		// Arrival, work at both hops, and the timers of both attempts.
		if per := float64(e.scheduled) / calls; per > 5.1 {
			t.Errorf("%v events for each call", per)
		}
	})
}
