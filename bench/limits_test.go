package bench

import "testing"

// BenchmarkLimits measures what the limits of docs/performance.md speak of as the
// gate does, by the fastest of many short rounds, and reports ratios. A benchmark
// that runs for longer is never left alone on a machine that others use, and its
// ratios are theirs as well.
func BenchmarkLimits(b *testing.B) {
	for _, g := range gates {
		reportBest(b, g.name, "times", func(b *testing.B) float64 {
			return minimumOf(g.loop(b)) / minimumOf(g.reference)
		})
	}
	// Nobody asks this timeout for its channel, as a function that waits does.
	reportBest(b, "timeout,waited-on,to-idle-timeout", "times", func(b *testing.B) float64 {
		return minimumOf(rationRow("Timeout", "waited-on")(b)) / minimumOf(idleLoop)
	})
	reportBest(b, "lookup,alone", "least-ns", func(b *testing.B) float64 {
		return minimumOf(rationRow("Extra", "for,keys=1000")(b))
	})
	reportBest(b, "http,stub", "added-ns", func(b *testing.B) float64 {
		peers := httpPeers(timed, stubbed, 0)
		return minimumOf(peers[0].prepare(b)) - minimumOf(peers[len(peers)-1].prepare(b))
	})
	const contract = 0.7 // a better one is not looked for
	for _, s := range shared {
		reportBest(b, "shared,"+s.name, "times", func(b *testing.B) float64 {
			best, seen := bestScaling(s.n, s.loop(b), contract)
			if !seen {
				b.Skip("there is no second processor to be had")
			}
			return best
		})
	}
}

// reportBest runs one measurement and reports the least of its results.
func reportBest(b *testing.B, name, unit string, measure func(b *testing.B) float64) {
	b.Run(name+"/"+ours, func(b *testing.B) {
		least := measure(b)
		for range b.N - 1 {
			least = min(least, measure(b))
		}
		b.ReportMetric(least, unit)
		b.ReportMetric(0, "ns/op") // which would mean nothing
	})
}

// limitNames are the names under BenchmarkLimits.
func limitNames() []string {
	names := []string{"timeout,waited-on,to-idle-timeout", "lookup,alone", "http,stub"}
	for _, g := range gates {
		names = append(names, g.name)
	}
	for _, s := range shared {
		names = append(names, "shared,"+s.name)
	}
	return names
}
