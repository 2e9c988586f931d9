package rationsim

import (
	"math"
	"testing"
	"time"

	"github.com/ration-go/ration"
)

// queueing returns a service of c servers with exponential work at rate 1/mean,
// and callers who wait for it as long as it takes.
func queueing(rate float64, mean time.Duration, c, queue int, length time.Duration) Topology {
	return Topology{
		Duration: length,
		Entries:  []Entry{{To: "queue", Policy: patient(), Load: Load{Rate: rate}}},
		Services: []Service{{
			Name: "queue", Latency: Latency{Exponential: mean}, Concurrency: c, Queue: queue,
		}},
	}
}

// erlangB is the share of arrivals that c servers lose which have no queue, at an
// offered load of a: Erlang's first formula.
func erlangB(c int, a float64) float64 {
	b := 1.0
	for k := 1; k <= c; k++ {
		b = a * b / (float64(k) + a*b)
	}
	return b
}

// erlangC is the share of arrivals that wait for one of c servers: his second.
func erlangC(c int, a float64) float64 {
	b := erlangB(c, a)
	rho := a / float64(c)
	return b / (1 - rho*(1-b))
}

// meanLatency returns how long a call takes on average.
func meanLatency(e *engine) float64 {
	sum := 0.0
	for _, l := range e.edges[0].tally.latencies.exact {
		sum += l.Seconds()
	}
	return sum / float64(e.edges[0].tally.latencies.count)
}

// The mean wait of an M/M/c queue is C(c, a) / (c mu - lambda), that of an M/M/1
// rho / (mu - lambda). The tolerance is that of a long run at a high load, whose
// waits are correlated.
func TestWaitAgainstErlang(t *testing.T) {
	skipUnderRace(t)
	const mean = 10 * time.Millisecond
	for _, tt := range []struct {
		servers   int
		rho       float64
		tolerance float64
	}{
		{1, 0.5, 0.03}, {1, 0.8, 0.06}, {2, 0.7, 0.05}, {8, 0.8, 0.06}, {40, 0.9, 0.08},
	} {
		mu := 1 / mean.Seconds()
		rate := tt.rho * mu * float64(tt.servers)
		length := time.Duration(400_000 / rate * float64(time.Second))
		e := ran(t, queueing(rate, mean, tt.servers, 1_000_000, length), 1)
		wait := meanLatency(e) - mean.Seconds()
		want := erlangC(tt.servers, tt.rho*float64(tt.servers)) / (mu*float64(tt.servers) - rate)
		if math.Abs(wait/want-1) > tt.tolerance {
			t.Errorf("M/M/%d at %v: mean wait %.6f s, want %.6f s", tt.servers, tt.rho, wait, want)
		}
		t.Logf("M/M/%d at %v: mean wait %.6f s, formula %.6f s", tt.servers, tt.rho, wait, want)
	}
}

// Without a queue, Erlang's first formula says how much is lost, whatever the
// distribution of the work; of an M/M/1 with K places, (1-rho) rho^K / (1-rho^(K+1)).
func TestLossAgainstErlang(t *testing.T) {
	skipUnderRace(t)
	const mean, n = 10 * time.Millisecond, 300_000
	for _, tt := range []struct {
		name           string
		servers, queue int
		load           float64 // erlangs
		latency        Latency
		want           float64
	}{
		{"M/M/1/1", 1, 0, 0.5, Latency{Exponential: mean}, erlangB(1, 0.5)},
		{"M/M/5/5", 5, 0, 4, Latency{Exponential: mean}, erlangB(5, 4)},
		{"M/D/5/5", 5, 0, 4, Latency{P50: mean, P99: mean}, erlangB(5, 4)},
		{"M/M/50/50", 50, 0, 55, Latency{Exponential: mean}, erlangB(50, 55)},
		{"M/M/1/4", 1, 3, 0.9, Latency{Exponential: mean}, 0.1 * math.Pow(0.9, 4) / (1 - math.Pow(0.9, 5))},
	} {
		rate := tt.load / mean.Seconds()
		length := time.Duration(n / rate * float64(time.Second))
		p := queueing(rate, mean, tt.servers, tt.queue, length)
		p.Services[0].Latency = tt.latency
		r := topologyRun(t, p, 2)
		got := float64(r.Services[0].Shed) / float64(r.Services[0].Received)
		if math.Abs(got-tt.want) > 0.006 {
			t.Errorf("%s: %v is lost, want %v", tt.name, got, tt.want)
		}
		t.Logf("%s: %.5f is lost, formula %.5f", tt.name, got, tt.want)
	}
}

// Little's law: what is held and queued on average is what arrives in a second
// times how long it stays, whatever the distributions and the order.
func TestLittlesLaw(t *testing.T) {
	for _, order := range []Order{FIFO, LIFO} {
		p := queueing(180, 10*time.Millisecond, 2, 1_000_000, 5*time.Minute)
		p.Services[0].Order = order
		e := ran(t, p, 3)
		stay := meanLatency(e)
		r := e.report(3)
		held := 0.0
		for _, s := range r.Services[0].Timeline {
			held += s.Busy
		}
		arrived := float64(r.Services[0].Received) / 300
		// What is queued is not in the timeline: its law is that of the rest.
		wait := stay - held/300/arrived
		want := erlangC(2, 1.8) / (200 - 180)
		if math.Abs(wait/want-1) > 0.15 {
			t.Errorf("%v: waits of %v s on average, want %v s", order, wait, want)
		}
		if work := held / 300 / arrived; math.Abs(work/0.01-1) > 0.02 {
			t.Errorf("%v: %v s of work for each request, want 0.01", order, work)
		}
	}
}

// A closed loop of n users with exponential work and thoughts and one server is
// the machine repair model: M/M/1 with a finite population.
func TestClosedLoopAgainstMachineRepair(t *testing.T) {
	const users = 10
	work, think := 10*time.Millisecond, 60*time.Millisecond
	p := queueing(1, work, 1, users, 20*time.Minute)
	p.Entries[0].Load = Load{Users: users, Think: think}
	r := topologyRun(t, p, 1)
	ratio, term, sum := work.Seconds()/think.Seconds(), 1.0, 1.0
	for k := range users {
		term *= float64(users-k) * ratio
		sum += term
	}
	want := (1 - 1/sum) / work.Seconds() // as often as the server is busy
	got := float64(r.Services[0].Succeeded) / p.Duration.Seconds()
	if math.Abs(got/want-1) > 0.01 {
		t.Errorf("%v calls a second, want %v", got, want)
	}
}

// The attempts of nested loops at independent failures: each hop sees what the
// one below fails after its own tries, 1 + p + p² attempts for p, then p³.
func TestNestedIndependentFailures(t *testing.T) {
	skipUnderRace(t)
	const p = 0.6
	c := Chain(2, p)
	c.Duration = 2 * time.Minute
	c = c.WithPolicies(func(_, _ string, _ ration.Policy) ration.Policy { return unbounded() })
	r := topologyRun(t, c, 1)
	p3 := p * p * p
	for i, want := range []float64{1 + p3 + p3*p3, (1 + p + p*p) * (1 + p3 + p3*p3)} {
		if got := r.Services[i].LoadMultiplier; math.Abs(got/want-1) > 0.01 {
			t.Errorf("hop %d gets %v requests for each call, want %v", i+1, got, want)
		}
	}
	if got, want := r.Entries[0].Availability, 1-p3*p3*p3; math.Abs(got-want) > 0.001 {
		t.Errorf("availability is %v, want %v", got, want)
	}
}
