package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ration-go/ration/cmd/ration/internal/traffic"
	"github.com/ration-go/ration/rationconfig/strict"
)

// calibrateOptions are the arguments of the command.
type calibrateOptions struct {
	read     traffic.Options
	files    []string
	output   string // a file; "" = standard output
	arrivals string // a file for the trace; "" = none
	json     bool
}

// calibrate is the command of that name.
func calibrate(ctx context.Context, args []string, std streams) error {
	o, err := calibrateFlags(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return help(ctx, []string{"calibrate"}, std)
	case err != nil:
		return err
	}
	var trace tracer
	if o.arrivals != "" {
		o.read.Arrival = trace.add
	}
	s, err := interruptible(ctx, func() (*traffic.Summary, error) {
		return traffic.Read(trafficSources(o.files, std.in), o.read)
	})
	if err != nil {
		return trafficError(err)
	}
	if o.arrivals != "" {
		if err := trace.write(o.arrivals, s); err != nil {
			return err
		}
	}
	return o.write(s, std)
}

func calibrateFlags(args []string) (o calibrateOptions, err error) {
	points := whole{value: 24, least: 1, most: 1000}
	unit := unitFlag{}
	flags := flag.NewFlagSet("calibrate", flag.ContinueOnError)
	flags.StringVar(&o.read.Input, "input", "", "")
	flags.StringVar(&o.read.Format, "format", "", "")
	flags.StringVar(&o.read.Fields.Time, "time-field", "", "")
	flags.StringVar(&o.read.Fields.Duration, "duration-field", "", "")
	flags.StringVar(&o.read.Fields.Status, "status-field", "", "")
	flags.StringVar(&o.read.Fields.Host, "host-field", "", "")
	flags.Var(&unit, "unit", "")
	flags.StringVar(&o.read.Metric, "metric", "", "")
	flags.DurationVar(&o.read.Interval, "interval", 0, "")
	flags.Var(&points, "points", "")
	flags.StringVar(&o.output, "o", "", "")
	flags.StringVar(&o.arrivals, "arrivals", "", "")
	flags.BoolVar(&o.json, "json", false, "")
	if o.files, err = parse(flags, args); err != nil {
		return o, err
	}
	o.read.Points, o.read.Unit = int(points.value), unit.unit
	if o.files == nil {
		o.files = []string{"-"}
	}
	return o, o.check()
}

func (o *calibrateOptions) check() error {
	switch {
	case o.read.Input != "" && !slices.Contains(traffic.Inputs(), o.read.Input):
		return usage("--input %q cannot be read; %s", o.read.Input,
			strict.Meant(o.read.Input, traffic.Inputs()))
	case o.read.Interval < 0:
		return usage("--interval %v is negative", o.read.Interval)
	case slices.Contains(o.files, ""):
		return usage("takes files, and the name of one is empty")
	}
	dashes := 0
	for _, file := range o.files {
		if file == "-" {
			dashes++
		}
	}
	if dashes > 1 {
		return usage("reads standard input once, and got - %d times", dashes)
	}
	return nil
}

// trafficSources returns what the names stand for.
func trafficSources(files []string, stdin io.Reader) (sources []traffic.Source) {
	for _, file := range files {
		s := traffic.Source{Name: file, Open: func() (io.ReadCloser, error) { return os.Open(file) }}
		if info, err := os.Stat(file); err == nil {
			s.Again = info.Mode().IsRegular()
		}
		if file == "-" {
			s = traffic.Source{
				Name: "stdin", Open: func() (io.ReadCloser, error) { return io.NopCloser(stdin), nil },
			}
		}
		sources = append(sources, s)
	}
	return sources
}

// trafficError tells a file that is not there from one that cannot be used; both are
// input that is of no use.
func trafficError(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return fileError(path.Path, err)
	}
	return usage("%s", strings.ReplaceAll(err.Error(), "\n", "; "))
}

// write puts out the scenario, and what was assumed on standard error; or with
// --json, all that was read.
func (o *calibrateOptions) write(s *traffic.Summary, std streams) error {
	scenario := calibratedScenario(s, calibratedName(o.files[0]))
	if o.output != "" {
		if err := os.WriteFile(o.output, scenario, 0o666); err != nil {
			return fmt.Errorf("--o %s: %w", o.output, err)
		}
	}
	text := scenario
	switch {
	case o.json:
		var err error
		if text, err = summaryJSON(s); err != nil {
			return err
		}
	case o.output != "":
		text = nil
	}
	if _, err := std.out.Write(text); err != nil {
		return err
	}
	if o.json {
		return nil
	}
	_, err := std.err.Write(calibrationNotes(s))
	return err
}

// calibrationNotes are for whoever ran the command, who may not look into the file.
func calibrationNotes(s *traffic.Summary) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "ration calibrate: %s\n", countsText(s))
	for _, f := range s.Faults {
		fmt.Fprintf(&b, "%s:%d: %s\n", f.File, f.Line, f.Text)
	}
	if more := int(s.Counts.Malformed) - len(s.Faults); more > 0 {
		fmt.Fprintf(&b, "and %s more\n", count(more))
	}
	for _, a := range s.Assumptions {
		fmt.Fprintf(&b, "assumption: %s: %s\n", a.Name, a.Text)
	}
	return b.Bytes()
}

// countsText says what has become of every line.
func countsText(s *traffic.Summary) string {
	n := &s.Counts
	text := fmt.Sprintf("%s %s read as %s, %s used", count(int(n.Read)), n.Unit, s.Input,
		count(int(n.Used)))
	for _, part := range []struct {
		n    uint64
		what string
	}{
		{n.Malformed, "malformed"}, {n.Empty, "empty"}, {n.Local, "answered by the proxy"},
		{n.Other, "of other kinds"},
	} {
		if part.n > 0 {
			text += fmt.Sprintf(", %s %s", count(int(part.n)), part.what)
		}
	}
	return text
}

// unitFlag is the unit of a number.
type unitFlag struct{ unit time.Duration }

// String implements [flag.Value].
func (u *unitFlag) String() string { return u.unit.String() }

// Set implements [flag.Value].
func (u *unitFlag) Set(text string) (err error) {
	if u.unit, err = time.ParseDuration("1" + text); err != nil || len(text) > 2 {
		return errors.New("it is not one of s, ms, us, ns")
	}
	return nil
}
