package main

import (
	"github.com/ration-go/ration/rationconfig"
	"github.com/ration-go/ration/rationconfig/strict"
)

// topologySection has the keys by which a scenario file describes services that
// call each other, in place of one dependency. docs/scenario.md explains each.
type topologySection struct {
	Question *string
	Entries  []entrySection
	Services []serviceSection
	Variants []variantSection
}

// present reports whether the file describes a topology, or tries to.
func (f *topologySection) present() bool {
	return f.Entries != nil || f.Services != nil || f.Variants != nil || f.Question != nil
}

type entrySection struct {
	Name *string
	To   *string
	entrySettings
	edgeSettings
}

// entrySettings are what a variant may set of an entry.
type entrySettings struct {
	Clients *int `in:"[1,1e5]"`
	Load    *loadSection
}

type callSection struct {
	To *string
	edgeSettings
	callSettings
}

// edgeSettings are what a variant may set of any edge.
type edgeSettings struct {
	Policy     *rationconfig.Policy
	PolicyFile *string
	Limiter    *string
	ObeyGiveUp *bool
}

// callSettings are what it may set besides of an edge between services.
type callSettings struct {
	Times    *int `in:"[1,1000]"`
	Optional *bool
}

type loadSection struct {
	Rate         *float64 `in:"(0,)"`
	Shape        []pointSection
	Ramp         *rampSection
	Spike        *spikeSection
	Daily        *dailySection
	Users        *int             `in:"[1,1e6]"`
	Think        *strict.Duration `in:"(0,)"`
	Trace        *string
	Burst        *burstSection
	Sheddable    *strict.Share `in:"[0,1]"`
	CriticalPlus *strict.Share `in:"[0,1]"`
}

type pointSection struct {
	At   *strict.Duration `in:"[0,)"`
	Rate *float64         `in:"[0,)"`
}

type rampSection struct {
	Rate *float64         `in:"[0,)"`
	To   *float64         `in:"[0,)"`
	From *strict.Duration `in:"[0,)"`
	For  *strict.Duration `in:"(0,)"`
}

type spikeSection struct {
	Rate  *float64         `in:"(0,)"`
	Times *float64         `in:"(0,)"`
	From  *strict.Duration `in:"[0,)"`
	For   *strict.Duration `in:"(0,)"`
}

type dailySection struct {
	Low  *float64         `in:"[0,)"`
	High *float64         `in:"(0,)"`
	Peak *strict.Duration `in:"[0,)"`
}

type burstSection struct {
	Factor     *float64         `in:"[1,)"`
	Share      *strict.Share    `in:"(0,1)"`
	Dispersion *float64         `in:"[1,)"`
	Length     *strict.Duration `in:"(0,)"`
}

type serviceSection struct {
	Name *string
	serviceSettings
	Calls []callSection
}

// serviceSettings are what a variant may set of a service.
type serviceSettings struct {
	Replicas      *int `in:"[1,10000]"`
	Latency       *serviceLatency
	FailureRate   *strict.Share `in:"[0,1]"`
	Concurrency   *int          `in:"[0,1e7]"`
	Queue         *int          `in:"[0,1e7]"`
	Order         *orderWord
	DropExpired   *bool
	CancelsWork   *bool
	KeepsDeadline *bool
	Brownouts     []brownoutSection
	Outages       []outageSection
	Failures      []failingSection
	Bad           []badSection
	Cold          *coldSection
	RateLimit     *rateLimitSection
	Parallel      *bool
}

type serviceLatency struct {
	latencySection
	Quantiles   []quantileSection
	Exponential *strict.Duration `in:"(0,)"`
}

type quantileSection struct {
	Q     *strict.Share    `in:"[0,1]"`
	Value *strict.Duration `in:"[0,)"`
}

type failingSection struct {
	From *strict.Duration `in:"[0,)"`
	For  *strict.Duration `in:"(0,)"`
	Rate *strict.Share    `in:"[0,1]"`
}

type badSection struct {
	Replica     *int             `in:"[0,9999]"`
	From        *strict.Duration `in:"[0,)"`
	For         *strict.Duration `in:"(0,)"`
	Slower      *float64         `in:"[1,1e6]"`
	FailureRate *strict.Share    `in:"[0,1]"`
}

type coldSection struct {
	Slower   *float64 `in:"[1,1e6]"`
	HalfLife *int     `in:"[1,)"`
}

type rateLimitSection struct {
	PerSecond  *float64         `in:"(0,)"`
	Burst      *int             `in:"[1,)"`
	RetryAfter *strict.Duration `in:"[0,)"`
}

// A variantSection is the topology with something changed, under a name.
type variantSection struct {
	Name *string
	Set  []setSection
}

// A setSection says what is changed, and to what. Exactly one of Edge, Entry and
// Service names it.
type setSection struct {
	Edge    *string
	Entry   *string
	Service *string
	edgeSettings
	callSettings
	entrySettings
	serviceSettings
}

// orderWord is the order of a queue: fifo or lifo.
type orderWord string

// Set implements [strict.Scalar].
func (o *orderWord) Set(text string) bool {
	*o = orderWord(text)
	return text == "fifo" || text == "lifo"
}

// Want implements [strict.Scalar].
func (o *orderWord) Want() string { return "fifo or lifo" }
