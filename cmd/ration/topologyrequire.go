package main

import (
	"github.com/ration-go/ration/rationconfig/strict"
)

// require reports the keys without which there is nothing to simulate.
func (f *topologySection) require(d *strict.Document) {
	d.Need("duration", "say how long calls arrive, such as 5m")
	if len(f.Entries) == 0 {
		d.Need("entries", "say where load comes in, such as [{name: users, to: api, load: {rate: 500}}]")
	}
	if len(f.Services) == 0 {
		d.Need("services", "say what is called, such as [{name: api, latency: {p50: 20ms, p99: 200ms}}]")
	}
	for i := range f.Entries {
		at := strict.At("entries", i)
		d.Need(at+".to", "say which service is called")
		d.Need(at+".load", "say how calls arrive, such as {rate: 500}")
		f.Entries[i].Load.require(d, at+".load")
	}
	for i := range f.Services {
		at := strict.At("services", i)
		d.Need(at+".name", "entries and calls refer to it")
		d.Need(at+".latency", "say how fast it is, such as {p50: 20ms, p99: 200ms}")
		f.Services[i].serviceSettings.require(d, at)
		for j := range f.Services[i].Calls {
			d.Need(strict.At(at+".calls", j)+".to", "say which service is called")
		}
	}
	for i := range f.Variants {
		at := strict.At("variants", i)
		d.Need(at+".name", "it heads a part of the output")
		for j := range f.Variants[i].Set {
			s, at := &f.Variants[i].Set[j], strict.At(at+".set", j)
			s.Load.require(d, at+".load")
			s.serviceSettings.require(d, at)
		}
	}
}

func (l *loadSection) require(d *strict.Document, at string) {
	if l == nil {
		return
	}
	for i := range l.Shape {
		d.Need(strict.At(at+".shape", i)+".at", "say when, such as 30s")
		d.Need(strict.At(at+".shape", i)+".rate", "say how many calls a second there are then")
	}
	if l.Ramp != nil {
		d.Need(at+".ramp.rate", "say how many calls a second there are before it")
		d.Need(at+".ramp.to", "say how many calls a second there are after it")
		requireSpan(d, at+".ramp")
	}
	if l.Spike != nil {
		d.Need(at+".spike.rate", "say how many calls a second there are outside it")
		d.Need(at+".spike.times", "say how many times as many there are in it, such as 5")
		requireSpan(d, at+".spike")
	}
	if l.Daily != nil {
		d.Need(at+".daily.low", "say how many calls a second there are at night")
		d.Need(at+".daily.high", "say how many calls a second there are at the peak")
		d.Need(at+".daily.peak", "say when the peak is, such as 14h")
	}
	if l.Users != nil {
		d.Need(at+".think", "say how long a user waits before the next call, such as 2s")
	}
	if l.Burst != nil {
		d.Need(at+".burst.length", "say how long a burst lasts on average, such as 2s")
		if l.Burst.Dispersion == nil {
			d.Need(at+".burst.factor", "say how many times the average the rate is in a burst; "+
				"or give the dispersion")
			d.Need(at+".burst.share", "say which share of the time is in bursts, such as 10%")
		}
	}
}

func (s *serviceSettings) require(d *strict.Document, at string) {
	if s.Latency != nil {
		s.Latency.require(d, at+".latency")
	}
	for i := range s.Brownouts {
		at := strict.At(at+".brownouts", i)
		requireSpan(d, at)
		d.Need(at+".slower", "say how many times slower, such as 8")
	}
	for i := range s.Outages {
		requireSpan(d, strict.At(at+".outages", i))
	}
	for i := range s.Failures {
		at := strict.At(at+".failures", i)
		requireSpan(d, at)
		d.Need(at+".rate", "say which share fails, such as 30%")
	}
	for i := range s.Bad {
		d.Need(strict.At(at+".bad", i)+".replica", "say which, from 0")
	}
	if s.Cold != nil {
		d.Need(at+".cold.slower", "say how many times slower a cold replica is, such as 10")
		d.Need(at+".cold.halfLife", "say after how many requests half of the excess is gone")
	}
	if s.RateLimit != nil {
		d.Need(at+".rateLimit.perSecond", "say how many requests a second pass")
		d.Need(at+".rateLimit.burst", "say how many pass at once")
	}
}

func (l *serviceLatency) require(d *strict.Document, at string) {
	switch {
	case l.Exponential != nil:
	case l.Quantiles != nil:
		for i := range l.Quantiles {
			d.Need(strict.At(at+".quantiles", i)+".q", "say which share of the work takes that long at most")
			d.Need(strict.At(at+".quantiles", i)+".value", "say how long it takes")
		}
	default:
		d.Need(at+".p50", "say how long half of the work takes at most; or give quantiles")
		d.Need(at+".p99", "say how long 99 of 100 requests take at most; or give quantiles")
	}
}
