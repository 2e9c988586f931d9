package rationsim

import (
	"context"
	"errors"
)

// RunTopology runs one simulation. The error tells every problem of the topology
// and its policies, or that ctx has ended. It is safe for concurrent use: runs
// share nothing.
func RunTopology(ctx context.Context, t Topology, seed uint64) (*TopologyReport, error) {
	return nil, errors.New("rationsim: RunTopology is under construction")
}

// CompareSeeds runs every variant with the seeds seed, seed+1, … , n of them, on
// as many cores as there are. The result, one for each variant in their order,
// does not depend on how many that is. The error tells every problem of the
// variants, or that ctx has ended.
func CompareSeeds(
	ctx context.Context, variants []Variant, seed uint64, n int,
) ([]*TopologyBands, error) {
	return nil, errors.New("rationsim: CompareSeeds is under construction")
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
	From, To       string
	Availability   Band
	LoadMultiplier Band
	Amplification  Band
	P99            Band // seconds
}

// ServiceBands are the ranges of the headline numbers of one service.
type ServiceBands struct {
	Name           string
	LoadMultiplier Band
	Amplification  Band
}

// BandOf returns the range of a number over several reports, of which number
// returns false for one that does not have it.
func BandOf[R any](reports []R, number func(R) (float64, bool)) Band {
	return band(reports, number)
}
