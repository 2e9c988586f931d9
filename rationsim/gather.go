package rationsim

import "time"

// turn completes the seconds before the given one.
func (e *engine) turn(second int) {
	for k := e.second; k < second; k++ {
		until := time.Duration(k+1) * time.Second
		for _, d := range e.edges {
			d.tally.turn(k, d.budget(until))
		}
		if k == e.last { // which is the hour after it and all that follows
			until = max(until, e.now)
		}
		for _, s := range e.servers {
			s.tally.turn(k, until, s.Concurrency*len(s.replicas))
		}
	}
}

// budget returns how much of the callers' budgets is spent, on average.
func (d *edge) budget(at time.Duration) float64 {
	sum := 0.0
	for i := range d.clients {
		if d.clients[i].limiter == nil {
			sum += d.clients[i].executor.Budget().UtilizationAt(epoch.Add(at))
		}
	}
	return sum / float64(len(d.clients))
}

// report gathers what was counted.
func (e *engine) report(seed uint64) *TopologyReport {
	r := &TopologyReport{Name: e.topology.Name, Seed: seed}
	weights := e.weights()
	length := 0
	for _, d := range e.edges {
		length = max(length, d.tally.used)
	}
	for _, s := range e.servers {
		length = max(length, s.tally.used)
	}
	arrived := e.arrived()
	for i, n := range e.entries {
		x := EntryReport{EdgeReport: e.edgeReport(n.edge, weights.edges[n.edge.index], length)}
		x.From = e.topology.Entries[i].name()
		x.ByCriticality = n.tally.byCriticality()
		x.TimeToRecover, x.Recovered = n.tally.recovery()
		r.Entries = append(r.Entries, x)
	}
	for _, s := range e.servers {
		for _, d := range s.edges {
			x := e.edgeReport(d, weights.edges[d.index], length)
			x.From = s.Name
			r.Edges = append(r.Edges, x)
		}
	}
	for i, s := range e.servers {
		x := s.tally.report(s.Name)
		x.Timeline = fit(x.Timeline, length)
		sent := func(k int) int { return at(x.Timeline, k).Received }
		x.Amplification = e.amplification(weights.servers[i], sent)
		if n := dot(weights.servers[i], arrived); n > 0 {
			x.LoadMultiplier = float64(x.Received) / n
		}
		r.Services = append(r.Services, x)
	}
	return r
}

func (e *engine) edgeReport(d *edge, weights []float64, length int) EdgeReport {
	x := d.tally.report()
	x.To = d.server.Name
	x.Timeline = fit(x.Timeline, length)
	x.Amplification = e.amplification(weights, func(k int) int { return at(x.Timeline, k).Attempts })
	return x
}

// fit returns s with n items.
func fit[T any](s []T, n int) []T {
	if n <= len(s) {
		return s[:n:n]
	}
	return append(s, make([]T, n-len(s))...)
}

// at returns item i of s, and nothing beyond its end.
func at[T any](s []T, i int) (item T) {
	if i < len(s) {
		item = s[i]
	}
	return item
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += float64(a[i] * b[i])
	}
	return sum
}

// arrived returns how many calls each entry had.
func (e *engine) arrived() []float64 {
	counts := make([]float64, len(e.entries))
	for i, n := range e.entries {
		for _, calls := range n.tally.calls {
			counts[i] += float64(calls)
		}
	}
	return counts
}

// amplification measures what was sent in a second against the larger of two
// loads. The arrivals expected in a second would not do alone: at 500 a second,
// the busiest of 300 seconds has 13 % more by chance, which hides all that a
// budget lets through. Nor would the arrivals that there were: a quiet second
// that gets the retries of a busy one, or the last, broken one, would look like
// a storm.
func (e *engine) amplification(weights []float64, sent func(second int) int) (worst float64) {
	means := e.means()
	for k := 0; time.Duration(k)*time.Second < e.topology.Duration; k++ {
		load := 0.0
		for i, n := range e.entries {
			from := time.Duration(k) * time.Second
			expected, ok := n.load.expected(from, from+time.Second)
			if !ok {
				expected = means[i]
			}
			offered := float64(at(n.edge.tally.timeline, k).Offered)
			load += float64(weights[i] * max(offered, expected))
		}
		worst = max(worst, float64(sent(k))/max(load, 1))
	}
	return worst
}

// means returns the calls per second of each entry, on average over the run.
func (e *engine) means() []float64 {
	means := e.arrived()
	for i := range means {
		means[i] /= max(e.topology.Duration.Seconds(), 1)
	}
	return means
}

// weights are how many calls one call at each entry causes when nothing is
// retried or refused: on each edge, and at each service.
type weights struct{ edges, servers [][]float64 }

func (e *engine) weights() weights {
	w := weights{make([][]float64, len(e.edges)), make([][]float64, len(e.servers))}
	numbers := make(map[*server]int, len(e.servers))
	for i, s := range e.servers {
		numbers[s] = i
		w.servers[i] = make([]float64, len(e.entries))
	}
	for i := range e.edges {
		w.edges[i] = make([]float64, len(e.entries))
	}
	flow := func(d *edge, entry int, calls float64) {
		calls = float64(calls * float64(d.times))
		w.edges[d.index][entry] += calls
		w.servers[numbers[d.server]][entry] += calls
	}
	for i, n := range e.entries {
		flow(n.edge, i, 1)
	}
	order, _ := e.topology.order() // callers first, so that each is complete by its turn
	for _, k := range order {
		for i := range e.entries {
			for _, d := range e.servers[k].edges {
				flow(d, i, w.servers[k][i])
			}
		}
	}
	return w
}
