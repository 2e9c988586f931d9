package ration

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ration-go/ration/internal/window"
)

// BreakerSettings describe a circuit breaker: after a run of failures it refuses
// attempts for a while, then lets single probes find out whether the dependency
// is back. Every zero field means its default. A policy without settings has no
// breaker; [NoBreaker] says so where an adapter would add one.
//
// Only transient failures are evidence, an attempt's own timeout among them. A
// throttled, permanent or cancelled attempt, one that met the call's deadline, a
// refusal of this process and a panic are none: they neither trip the breaker
// nor reset its count, and only hand back the probe they may have held.
//
// Settings are a value; they must not be changed once a policy uses them.
type BreakerSettings struct {
	// ConsecutiveFailures trips the breaker. 0 = 5; negative turns this trip
	// off, which needs a FailureRatio.
	ConsecutiveFailures int

	// FailureRatio, in (0, 1], trips it when that share of the last Window's
	// attempts failed, given MinimumCalls of them. 0 = off.
	FailureRatio float64
	Window       time.Duration // 0 = 30 s
	MinimumCalls int           // 0 = 20

	// Break is how long the first break lasts; it doubles with each break that
	// follows without a recovery, up to MaxBreak. 0 = 15 s and 2 min. Each is
	// shortened by up to half at random, so that a fleet does not probe in step.
	Break    time.Duration
	MaxBreak time.Duration

	Probes         int // attempts let through at once while half-open; 0 = 1
	ProbeSuccesses int // successful probes that close it; 0 = 2
}

// NoBreaker is the spelling of off for adapters that would otherwise add one.
var NoBreaker = &BreakerSettings{}

func (s BreakerSettings) withDefaults() BreakerSettings {
	s.ConsecutiveFailures = orDefault(s.ConsecutiveFailures, 5)
	s.Window = orDefault(s.Window, 30*time.Second)
	s.MinimumCalls = orDefault(s.MinimumCalls, 20)
	// A default gives way to what the caller wrote beside it.
	longest := orDefault(s.MaxBreak, max(2*time.Minute, s.Break))
	s.Break = orDefault(s.Break, min(15*time.Second, longest))
	s.MaxBreak = longest
	s.Probes = orDefault(s.Probes, 1)
	s.ProbeSuccesses = orDefault(s.ProbeSuccesses, 2)
	return s
}

func (s BreakerSettings) check(c *checker) {
	if !(s.FailureRatio >= 0 && s.FailureRatio <= 1) {
		c.problem("Breaker.FailureRatio %v is outside (0, 1]; 0 turns it off", s.FailureRatio)
	}
	if s.ConsecutiveFailures < 0 && s.FailureRatio == 0 {
		c.problem("Breaker.ConsecutiveFailures %d and FailureRatio 0 leave nothing that trips it; "+
			"to have no breaker use NoBreaker", s.ConsecutiveFailures)
	}
	if s.FailureRatio == 0 && (s.Window != 0 || s.MinimumCalls != 0) {
		c.problem("Breaker.Window %v and MinimumCalls %d have no effect without a FailureRatio",
			s.Window, s.MinimumCalls)
	}
	c.duration("Breaker.Window", s.Window, 10*time.Millisecond)
	c.count("Breaker.MinimumCalls", s.MinimumCalls)
	c.duration("Breaker.Break", s.Break, 0)
	c.duration("Breaker.MaxBreak", s.MaxBreak, 0)
	if s.Break > 0 && s.MaxBreak > 0 && s.MaxBreak < s.Break {
		c.problem("Breaker.MaxBreak %v is below Break %v", s.MaxBreak, s.Break)
	}
	c.count("Breaker.Probes", s.Probes)
	c.count("Breaker.ProbeSuccesses", s.ProbeSuccesses)
}

// BreakerState is the state of a breaker.
type BreakerState int

// The states. BreakerOff is that of an executor without a breaker.
const (
	BreakerOff BreakerState = iota
	BreakerClosed
	BreakerOpen
	BreakerHalfOpen
)

// String returns the state's name.
func (s BreakerState) String() string {
	switch s {
	case BreakerClosed:
		return "closed"
	case BreakerOpen:
		return "open"
	case BreakerHalfOpen:
		return "half-open"
	}
	return "off"
}

// BreakerStatus is what can be seen of a breaker from outside.
type BreakerStatus struct {
	State BreakerState
	Since time.Time     // when it left the closed state; zero while closed or off
	Break time.Duration // what is left of the break while open
}

// A breaker is the live state behind [BreakerSettings]. The settings come with
// each call, since an update may change them; the state stays.
//
// Protocol. word holds the state and a generation that grows with every change
// of state. While closed, an attempt is admitted by loading word, and a success
// is recorded by loading word and failures and adding to a striped window: no
// line is written that another core writes, so that the path scales. All else
// happens under mu. An admission carries the word it saw; a result whose
// generation is over is dropped, so that a straggler from before a trip is
// never taken for a probe. A success that races with a trip may still be
// counted in the window that the trip has just emptied; it is one sample among
// at least MinimumCalls.
type breaker struct {
	word     atomic.Uint64 // generation<<2 | state
	failures atomic.Int32  // consecutive, in this generation; written under mu but for the reset
	origin   origin
	counts   window.Counts

	mu        sync.Mutex
	openedAt  instant
	leftAt    instant       // when it last left the closed state
	length    time.Duration // of the present break
	breaks    int           // in a row, without a recovery
	successes int           // of probes, in this half-open period
	probes    []probe
	lastProbe uint32
}

// A probe is a half-open slot. It is leased: the attempt that holds it gives it
// back, and if it hangs the slot is free again when the lease ends. A half-open
// breaker can therefore never run out of slots.
type probe struct {
	id      uint32
	granted instant
	lease   time.Duration
}

func (p probe) over(now instant) bool { return now.since(p.granted) >= p.lease }

// The states in the low bits of word. Closed is zero, so that a new breaker is.
const (
	stateClosed = iota
	stateOpen
	stateHalfOpen
	stateBits = 2
	stateMask = 1<<stateBits - 1
)

// An admission is the right to make one attempt.
type admission struct {
	word  uint64
	probe uint32 // 0 unless half-open
}

// A transition is a change of state to be reported once the lock is released.
type transition struct {
	kind  EventKind // 0 = none
	delay time.Duration
}

// admit asks for one attempt. lease bounds how long a probe may hold its slot.
func (b *breaker) admit(
	now instant, s *BreakerSettings, lease time.Duration,
) (a admission, ok bool, t transition) {
	if w := b.word.Load(); w&stateMask == stateClosed {
		return admission{word: w}, true, t
	}
	return b.admitSlow(now, s, lease)
}

func (b *breaker) admitSlow(
	now instant, s *BreakerSettings, lease time.Duration,
) (a admission, ok bool, t transition) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch b.state() {
	case stateClosed:
		return admission{word: b.word.Load()}, true, t
	case stateOpen:
		if b.breakLeft(now) > 0 {
			return a, false, t
		}
		b.enter(stateHalfOpen)
		t = transition{kind: EventBreakerHalfOpened}
	}
	for len(b.probes) >= s.Probes {
		if !b.reclaim(now) {
			return a, false, t
		}
	}
	// Zero means no probe, so the counter skips it when it wraps.
	b.lastProbe = max(b.lastProbe+1, 1)
	b.probes = append(b.probes, probe{id: b.lastProbe, granted: now, lease: lease})
	return admission{word: b.word.Load(), probe: b.lastProbe}, true, t
}

// refuses reports whether an attempt would be refused for a while: the breaker
// is open. A half-open breaker whose slots are taken may have one free by the
// time of a retry, and is asked then.
func (b *breaker) refuses(now instant) bool {
	if b.word.Load()&stateMask != stateOpen {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state() == stateOpen && b.breakLeft(now) > 0
}

// succeeded records a successful attempt.
func (b *breaker) succeeded(
	now instant, s *BreakerSettings, a admission, stripe uint32,
) transition {
	if a.probe != 0 {
		return b.probeSucceeded(now, s, a)
	}
	if b.word.Load() != a.word {
		return transition{}
	}
	if b.failures.Load() != 0 {
		b.failures.Store(0)
	}
	if s.FailureRatio > 0 {
		b.counts.AddSuccess(b.origin.since(now), s.slot(), stripe)
	}
	return transition{}
}

func (b *breaker) probeSucceeded(now instant, s *BreakerSettings, a admission) transition {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.release(now, a, false) {
		return transition{}
	}
	b.successes++
	if b.successes < s.ProbeSuccesses {
		return transition{}
	}
	b.breaks = 0
	b.enter(stateClosed)
	return transition{kind: EventBreakerClosed}
}

// failed records a transient failure. timedOut says that the attempt's own
// timer ended it: such a result arrives when its lease is over by definition,
// and still is the probe's answer if nobody has taken the slot. u, in [0, 1),
// shortens the break that it may cause.
func (b *breaker) failed(
	now instant, s *BreakerSettings, a admission, timedOut bool, u float64,
) transition {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.probe != 0 {
		if !b.release(now, a, timedOut) {
			return transition{}
		}
		return b.open(now, s, u)
	}
	if b.word.Load() != a.word {
		return transition{}
	}
	run := b.failures.Add(1)
	if s.FailureRatio > 0 {
		b.counts.AddFailure(b.origin.since(now), s.slot())
	}
	if s.ConsecutiveFailures > 0 && int(run) >= s.ConsecutiveFailures || b.ratioTrips(now, s) {
		return b.open(now, s, u)
	}
	return transition{}
}

// returned hands back a probe whose attempt ended without evidence.
func (b *breaker) returned(now instant, a admission) {
	if a.probe == 0 {
		return
	}
	b.mu.Lock()
	b.release(now, a, true)
	b.mu.Unlock()
}

// release frees a's slot, and reports whether a may still speak as a probe: not
// when its lease ran out, unless it may be late, nor when the slot was given to
// another, nor when the period is over.
func (b *breaker) release(now instant, a admission, late bool) bool {
	if b.word.Load() != a.word {
		return false
	}
	for i, p := range b.probes {
		if p.id == a.probe {
			b.probes = append(b.probes[:i], b.probes[i+1:]...)
			return late || !p.over(now)
		}
	}
	return false
}

// renew reports whether a is still worth an attempt that has yet to start, and if
// a is a probe lets its lease begin now.
func (b *breaker) renew(now instant, a admission) bool {
	if a.probe == 0 {
		return b.word.Load() == a.word
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.word.Load() != a.word {
		return false
	}
	for i := range b.probes {
		if b.probes[i].id == a.probe {
			b.probes[i].granted = now
			return true
		}
	}
	return false
}

// reclaim frees one slot whose lease has ended, and reports whether there was
// one. It is asked only when every slot is taken, so that an answer which comes
// late still counts while nobody else needed its slot. A lease granted in the
// future means that the clock stepped back; it starts anew, so that it lasts no
// longer than it should by the clock that now runs.
func (b *breaker) reclaim(now instant) bool {
	for i := range b.probes {
		p := &b.probes[i]
		p.granted = min(p.granted, now)
		if p.over(now) {
			b.probes = append(b.probes[:i], b.probes[i+1:]...)
			return true
		}
	}
	return false
}

func (b *breaker) ratioTrips(now instant, s *BreakerSettings) bool {
	if s.FailureRatio == 0 {
		return false
	}
	good, bad := b.counts.Sum(b.origin.since(now), s.slot())
	return good+bad >= uint64(s.MinimumCalls) && float64(bad) >= s.FailureRatio*float64(good+bad)
}

// open starts a break. It grows by the nominal length, not by the shortened one.
func (b *breaker) open(now instant, s *BreakerSettings, u float64) transition {
	nominal := s.MaxBreak
	if grown := float64(s.Break) * math.Pow(2, float64(b.breaks)); grown < float64(nominal) {
		nominal = time.Duration(grown)
	}
	if b.breaks == 0 {
		b.leftAt = now
	}
	b.breaks++
	b.openedAt = now
	b.length = EqualJitter.apply(nominal, u)
	b.enter(stateOpen)
	return transition{kind: EventBreakerOpened, delay: b.length}
}

// enter changes the state. Callers hold mu.
func (b *breaker) enter(state uint64) {
	b.failures.Store(0)
	b.counts.Reset()
	b.probes = b.probes[:0]
	b.successes = 0
	generation := b.word.Load() >> stateBits
	b.word.Store((generation+1)<<stateBits | state)
}

func (b *breaker) state() uint64 { return b.word.Load() & stateMask }

// breakLeft returns what is left of the break, and is positive while it lasts.
// A break that began in the future means that the clock stepped back. It then
// starts anew: it must be over after its own length of the clock that now runs,
// not after the step as well. Callers hold mu.
func (b *breaker) breakLeft(now instant) time.Duration {
	if now < b.openedAt {
		b.openedAt = now
	}
	return b.length - now.since(b.openedAt)
}

// retryAfter returns the rest of the break, and false unless the breaker is open.
func (b *breaker) retryAfter(now instant) (time.Duration, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state() != stateOpen {
		return 0, false
	}
	return max(b.breakLeft(now), 0), true
}

// status describes the breaker. Reading it takes no slot and moves no state: a
// break that is over reads half-open, as the next attempt would find it. It does
// notice that the clock stepped back, since nobody else may ask for a while.
func (b *breaker) status(now instant) BreakerStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := BreakerStatus{State: BreakerClosed}
	switch b.state() {
	case stateOpen:
		s.State = BreakerOpen
		s.Break = max(b.breakLeft(now), 0)
		if s.Break == 0 {
			s.State = BreakerHalfOpen
		}
	case stateHalfOpen:
		s.State = BreakerHalfOpen
	}
	if s.State != BreakerClosed {
		s.Since = b.leftAt.time()
	}
	return s
}

// openUntil returns when the break ends, and longAgo unless the breaker is open.
func (b *breaker) openUntil() instant {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state() != stateOpen {
		return longAgo
	}
	return b.openedAt.add(b.length)
}

// slot is the width of one of the ten slots of the failure window.
func (s *BreakerSettings) slot() time.Duration { return s.Window / 10 }
