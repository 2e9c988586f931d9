package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationconfig"
	"github.com/ration-go/ration/rationconfig/strict"
	"github.com/ration-go/ration/rationsim"
)

// A comparison is what there is to simulate: policies on one scenario, or variants
// of a topology.
type comparison struct {
	scenario rationsim.Scenario
	configs  []rationsim.Config
	topology *topologyComparison // nil unless the scenario is one of services
	seed     *uint64             // nil when it does not say
}

// scenarioFile has the keys of a scenario file. docs/scenario.md and the help topic
// of that name explain each of them.
type scenarioFile struct {
	Name       *string
	Duration   *strict.Duration `in:"(0,)"`
	Rate       *float64         `in:"(0,)"`
	Seed       *uint64          `in:"[0,9007199254740991]"`
	Dependency *dependencySection
	Policies   []policySection
	topologySection
}

type policySection struct {
	Name *string
	rationconfig.Policy
}

type dependencySection struct {
	Latency     *latencySection
	FailureRate *strict.Share `in:"[0,1]"`
	Brownouts   []brownoutSection
	Outages     []outageSection
	Concurrency *int `in:"[0,1e7]"`
	Queue       *int `in:"[0,1e7]"`
}

type latencySection struct {
	P50 *strict.Duration `in:"(0,)"`
	P99 *strict.Duration `in:"(0,)"`
}

type brownoutSection struct {
	From   *strict.Duration `in:"[0,)"`
	For    *strict.Duration `in:"(0,)"`
	Slower *float64         `in:"[1,1e6]"`
}

type outageSection struct {
	From *strict.Duration `in:"[0,)"`
	For  *strict.Duration `in:"(0,)"`
}

// openScenario reads a scenario file, or standard input when it is called -.
func openScenario(file string, stdin io.Reader) (*comparison, error) {
	if file == "-" {
		return readScenario("stdin", stdin)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fileError(file, err)
	}
	defer f.Close()
	return readScenario(file, f)
}

func readScenario(file string, r io.Reader) (*comparison, error) {
	d, err := strict.Read(file, r)
	var unusable *strict.Error
	switch {
	case errors.As(err, &unusable):
		return nil, err
	case err != nil:
		return nil, fileError(file, err)
	}
	var f scenarioFile
	d.Decode(&f)
	if f.topologySection.present() {
		return f.topology(d, file)
	}
	f.require(d)
	// What follows looks at several keys at a time, and would report a key that
	// could not be read a second time.
	if err := d.Err(); err != nil {
		return nil, err
	}
	f.check(d)
	if err := d.Err(); err != nil {
		return nil, err
	}
	return f.build(file)
}

// fileError says why there is nothing to read.
func fileError(file string, err error) error {
	text := "cannot be read"
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		text = "does not exist"
		if _, ok := preset(file); ok {
			text += "; for the preset of that name use --preset " + file
		}
	case errors.Is(err, syscall.EISDIR):
		text = "is a directory; name a file"
	case errors.As(err, &path):
		text += ": " + path.Err.Error()
	default:
		text += ": " + err.Error()
	}
	return &strict.Error{Problems: []strict.Problem{{File: file, Text: text}}}
}

// require reports the keys without which there is nothing to simulate.
func (f *scenarioFile) require(d *strict.Document) {
	d.Need("duration", "say how long calls arrive, such as 5m")
	d.Need("rate", "say how many calls arrive a second, such as 500")
	dependency := f.Dependency
	if dependency == nil || dependency.Latency == nil {
		d.Need("dependency.latency", "say how fast it is, such as {p50: 20ms, p99: 200ms}")
	} else {
		d.Need("dependency.latency.p50", "say how long half of the attempts take at most")
		d.Need("dependency.latency.p99", "say how long 99 of 100 attempts take at most")
	}
	if dependency != nil {
		for i := range dependency.Brownouts {
			at := strict.At("dependency.brownouts", i)
			requireSpan(d, at)
			d.Need(at+".slower", "say how many times slower, such as 8")
		}
		for i := range dependency.Outages {
			requireSpan(d, strict.At("dependency.outages", i))
		}
	}
	for i := range f.Policies {
		d.Need(strict.At("policies", i)+".name", "it heads the column of the table")
	}
	if f.Policies != nil && len(f.Policies) == 0 {
		d.Problem("policies", "is an empty list; name at least one, or leave the key out to compare "+
			"the default policy with and without a budget")
	}
}

func requireSpan(d *strict.Document, at string) {
	d.Need(at+".from", "say when it begins, such as 30s")
	d.Need(at+".for", "say how long it lasts, such as 1m")
}

// check reports what keys say together.
func (f *scenarioFile) check(d *strict.Document) {
	if f.Name != nil {
		checkName(d, "name", *f.Name)
	}
	s := f.scenario("")
	if err := s.Check(); err != nil {
		for _, problem := range problemsOf(err) {
			d.FieldProblem("", strings.TrimPrefix(problem.Error(), "rationsim: "))
		}
	}
	late := func(path string, i int, from time.Duration) {
		if from >= s.Duration {
			d.Problem(strict.At(path, i)+".from", "%v is not before the end of the run at %v",
				short(from), short(s.Duration))
		}
	}
	for i, b := range s.Dependency.Brownouts {
		late("dependency.brownouts", i, b.From)
	}
	for i, o := range s.Dependency.Outages {
		late("dependency.outages", i, o.From)
	}
	names := make(map[string]int)
	for i := range f.Policies {
		p, at := &f.Policies[i], strict.At("policies", i)
		checkName(d, at+".name", *p.Name)
		if first, twice := names[*p.Name]; twice {
			d.Problem(at+".name", "%q is also that of policies[%d]; change one", *p.Name, first)
		} else {
			names[*p.Name] = i
		}
		p.Check(d, at)
	}
}

func problemsOf(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// checkName refuses a name that a table cannot hold, or with which a file could
// write to the terminal of whoever runs it.
func checkName(d *strict.Document, path, name string) {
	const most = 40
	switch {
	case strings.TrimSpace(name) != name || name == "":
		d.Problem(path, "%q is empty or has space around it", name)
	case len([]rune(name)) > most:
		d.Problem(path, "is longer than %d characters", most)
	case strings.ContainsFunc(name, unprintable):
		d.Problem(path, "%+q holds what cannot be printed", name)
	}
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// build returns what the file describes. It expects that nothing is wrong with it.
func (f *scenarioFile) build(file string) (*comparison, error) {
	c := &comparison{
		scenario: f.scenario(f.name(file)),
		seed:     f.Seed,
	}
	if f.Policies == nil {
		c.configs = []rationsim.Config{
			{Name: "no budget", Policy: ration.Policy{Budget: ration.NoBudget}},
			{Name: "budget"},
		}
	}
	for i := range f.Policies {
		p, err := f.Policies[i].Build()
		if err != nil {
			return nil, err
		}
		p.Name = *f.Policies[i].Name
		c.configs = append(c.configs, rationsim.Config{Name: p.Name, Policy: p})
	}
	return c, nil
}

// name returns what the scenario is called: as it says, or as its file is.
func (f *scenarioFile) name(file string) string {
	if f.Name != nil {
		return *f.Name
	}
	base := filepath.Base(file)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

func (f *scenarioFile) scenario(name string) rationsim.Scenario {
	d := f.Dependency
	s := rationsim.Scenario{
		Name:     name,
		Duration: time.Duration(*f.Duration),
		Rate:     *f.Rate,
		Dependency: rationsim.Dependency{
			Latency: rationsim.Latency{
				P50: time.Duration(*d.Latency.P50),
				P99: time.Duration(*d.Latency.P99),
			},
			FailureRate: float64(orZero(d.FailureRate)),
			Concurrency: orZero(d.Concurrency),
			Queue:       orZero(d.Queue),
		},
	}
	s.Dependency.Brownouts = brownouts(d.Brownouts)
	s.Dependency.Outages = outages(d.Outages)
	return s
}

func orZero[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
