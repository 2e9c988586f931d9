package rationsim

import (
	"context"
	"fmt"
)

// RunTopology runs one simulation. The error tells every problem of the topology
// and its policies, or that ctx has ended. It is safe for concurrent use: runs
// share nothing.
func RunTopology(ctx context.Context, t Topology, seed uint64) (*TopologyReport, error) {
	e, err := newEngine(t, seed)
	if err != nil {
		return nil, err
	}
	if err := e.run(ctx); err != nil {
		return nil, err
	}
	return e.report(seed), nil
}

// CompareSeeds runs every variant with the seeds seed, seed+1, … , n of them, on
// as many cores as there are. The result, one for each variant in their order,
// does not depend on how many that is. The error tells every problem of the
// variants, or that ctx has ended.
func CompareSeeds(
	ctx context.Context, variants []Variant, seed uint64, n int,
) ([]*TopologyBands, error) {
	if n < 1 {
		return nil, errSeeds
	}
	for _, v := range variants {
		if err := v.Topology.Check(); err != nil {
			return nil, fmt.Errorf("variant %q:\n%w", v.Name, err)
		}
	}
	reports, err := inParallel(ctx, len(variants)*n, func(ctx context.Context, i int) (
		*TopologyReport, error,
	) {
		return RunTopology(ctx, variants[i/n].Topology, seed+uint64(i%n))
	})
	if err != nil {
		return nil, err
	}
	var bands []*TopologyBands
	for i, v := range variants {
		bands = append(bands, newTopologyBands(v.Name, reports[i*n:(i+1)*n:(i+1)*n]))
	}
	return bands, nil
}

// TopologyBands are the reports of one variant over several seeds. [BandOf] gives
// the range of any number in them, and [Separates] compares two. It is a value.
type TopologyBands struct {
	Name    string            // of the variant
	Reports []*TopologyReport // by seed

	Entries  []EntryBands   // as in the topology
	Edges    []EdgeBands    // as in the reports
	Services []ServiceBands // as in the topology
}

// EntryBands are the ranges of what the users of one entry saw.
type EntryBands struct {
	EdgeBands

	TimeToRecover Band // seconds
	Recovered     int  // runs that did
}

// EdgeBands are the ranges of the headline numbers of one edge. A number that a
// run does not have is left out of its band.
type EdgeBands struct {
	From, To string // as in the reports

	Availability   Band // of [EdgeReport]
	LoadMultiplier Band // of [EdgeReport]
	Amplification  Band // of [EdgeReport]
	P99            Band // seconds
}

// ServiceBands are the ranges of the headline numbers of one service.
type ServiceBands struct {
	Name string // of the service

	LoadMultiplier Band // of [ServiceReport]
	Amplification  Band // of [ServiceReport]
}

// BandOf returns the range of a number over several reports, of which number
// returns false for one that does not have it.
func BandOf[R any](reports []R, number func(R) (float64, bool)) Band {
	return band(reports, number)
}

func newTopologyBands(name string, reports []*TopologyReport) *TopologyBands {
	b := &TopologyBands{Name: name, Reports: reports}
	for i := range reports[0].Entries {
		x := EntryBands{EdgeBands: edgeBands(reports, func(r *TopologyReport) *EdgeReport {
			return &r.Entries[i].EdgeReport
		})}
		x.TimeToRecover = BandOf(reports, func(r *TopologyReport) (float64, bool) {
			n := &r.Entries[i]
			if n.Recovered {
				x.Recovered++
			}
			return n.TimeToRecover.Seconds(), n.Recovered
		})
		b.Entries = append(b.Entries, x)
	}
	for i := range reports[0].Edges {
		b.Edges = append(b.Edges, edgeBands(reports, func(r *TopologyReport) *EdgeReport {
			return &r.Edges[i]
		}))
	}
	for i, s := range reports[0].Services {
		x := ServiceBands{Name: s.Name}
		x.LoadMultiplier = BandOf(reports, func(r *TopologyReport) (float64, bool) {
			return r.Services[i].LoadMultiplier, true
		})
		x.Amplification = BandOf(reports, func(r *TopologyReport) (float64, bool) {
			return r.Services[i].Amplification, true
		})
		b.Services = append(b.Services, x)
	}
	return b
}

func edgeBands(reports []*TopologyReport, of func(*TopologyReport) *EdgeReport) EdgeBands {
	share := func(value func(*EdgeReport) float64) Band {
		return BandOf(reports, func(r *TopologyReport) (float64, bool) {
			d := of(r)
			return value(d), d.Calls > 0
		})
	}
	first := of(reports[0])
	return EdgeBands{
		From:           first.From,
		To:             first.To,
		Availability:   share(func(d *EdgeReport) float64 { return d.Availability }),
		LoadMultiplier: share(func(d *EdgeReport) float64 { return d.LoadMultiplier }),
		Amplification:  share(func(d *EdgeReport) float64 { return d.Amplification }),
		P99: BandOf(reports, func(r *TopologyReport) (float64, bool) {
			d := of(r)
			if d.Latency == nil {
				return 0, false
			}
			return d.Latency.P99.Seconds(), true
		}),
	}
}
