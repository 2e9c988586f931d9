package main

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/ration-go/ration/rationsim"
)

// writeTopologyFiles writes the files that the flags ask for.
func (o *simulateOptions) writeTopologyFiles(r *topologyResult) error {
	if o.csv == "" {
		return nil
	}
	return writeTo(o.csv, func(w io.Writer) error { return writeCSV(w, r.bands) })
}

// writeFiles does so for policies on one dependency. The simulator makes the same of
// them when they are written as a topology, and that has all timelines.
func (o *simulateOptions) writeFiles(ctx context.Context, c *comparison, r *result) error {
	if o.csv == "" {
		return nil
	}
	bands, err := rationsim.CompareSeeds(ctx, c.asTopology().variants, r.seed, r.seeds())
	if err != nil {
		return err
	}
	return writeTo(o.csv, func(w io.Writer) error { return writeCSV(w, bands) })
}

// pathless drops the name of the file from an error that is told with it.
func pathless(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
