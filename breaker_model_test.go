package ration

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A modelBreaker is the breaker as it is described: one goroutine, a word for
// the state, maps and slices, nothing packed and nothing counted twice.
type modelBreaker struct {
	s     BreakerSettings
	state string // closed, open, half-open
	epoch int    // how often the state has changed

	failures int // in a row
	calls    []modelCall
	origin   instant // of the first call ever, from which the window counts

	openedAt instant
	length   time.Duration
	opens    int // in a row, without a recovery

	granted   []int // the probes that hold a slot, in order
	probes    map[int]modelProbe
	successes int
	numbers   int
}

// A modelCall is an outcome in the failure window.
type modelCall struct {
	at     instant
	failed bool
}

type modelProbe struct {
	at    instant
	lease time.Duration
}

// A modelTicket is what an admitted attempt holds.
type modelTicket struct {
	epoch int
	probe int // 0 = none
}

func newModelBreaker(s BreakerSettings) *modelBreaker {
	return &modelBreaker{s: s, state: "closed", probes: map[int]modelProbe{}}
}

func (m *modelBreaker) called(now instant, failed bool) {
	if m.origin == 0 {
		m.origin = now
	}
	m.calls = append(m.calls, modelCall{at: now, failed: failed})
}

func (m *modelBreaker) change(state string) {
	m.state = state
	m.epoch++
	m.failures, m.successes = 0, 0
	m.calls, m.granted = nil, nil
}

// left is the rest of the break. A break from the future starts over.
func (m *modelBreaker) left(now instant) time.Duration {
	if m.openedAt > now {
		m.openedAt = now
	}
	return m.length - now.since(m.openedAt)
}

func (m *modelBreaker) admit(now instant, lease time.Duration) (modelTicket, string) {
	said := ""
	if m.state == "open" {
		if m.left(now) > 0 {
			return modelTicket{}, "refused"
		}
		m.change("half-open")
		said = "half-opened, "
	}
	if m.state == "closed" {
		return modelTicket{epoch: m.epoch}, "in"
	}
	for len(m.granted) >= m.s.Probes {
		if !m.takeBack(now) {
			return modelTicket{}, said + "refused"
		}
	}
	m.numbers++
	m.granted = append(m.granted, m.numbers)
	m.probes[m.numbers] = modelProbe{at: now, lease: lease}
	return modelTicket{epoch: m.epoch, probe: m.numbers}, said + "probe"
}

// takeBack frees the oldest slot that is held too long.
func (m *modelBreaker) takeBack(now instant) bool {
	for i, n := range m.granted {
		p := m.probes[n]
		if p.at > now {
			p.at = now
			m.probes[n] = p
		}
		if now.since(p.at) >= p.lease {
			m.granted = append(append([]int{}, m.granted[:i]...), m.granted[i+1:]...)
			return true
		}
	}
	return false
}

// free gives a slot back, and reports whether it was still held, and in time.
func (m *modelBreaker) free(now instant, t modelTicket) (held, inTime bool) {
	if t.epoch != m.epoch {
		return false, false
	}
	var rest []int
	for _, n := range m.granted {
		if n == t.probe {
			held = true
		} else {
			rest = append(rest, n)
		}
	}
	m.granted = rest
	p := m.probes[t.probe]
	return held, now.since(p.at) < p.lease
}

func (m *modelBreaker) succeeded(now instant, t modelTicket) string {
	if t.probe != 0 {
		held, inTime := m.free(now, t)
		if !held || !inTime {
			return ""
		}
		m.successes++
		if m.successes < m.s.ProbeSuccesses {
			return ""
		}
		m.opens = 0
		m.change("closed")
		return "closed"
	}
	if t.epoch == m.epoch {
		m.failures = 0
		m.called(now, false)
	}
	return ""
}

func (m *modelBreaker) failed(now instant, t modelTicket, timedOut bool, u float64) string {
	if t.probe != 0 {
		held, inTime := m.free(now, t)
		if !held || !inTime && !timedOut {
			return ""
		}
		return m.open(now, u)
	}
	if t.epoch != m.epoch {
		return ""
	}
	m.failures++
	m.called(now, true)
	if n := m.s.ConsecutiveFailures; n > 0 && m.failures >= n || m.tooMany(now) {
		return m.open(now, u)
	}
	return ""
}

// tooMany judges the calls of the last ten tenths of the window.
func (m *modelBreaker) tooMany(now instant) bool {
	if m.s.FailureRatio == 0 {
		return false
	}
	tenth := func(at instant) int64 { return int64(at.since(m.origin) / (m.s.Window / 10)) }
	all, failed := 0, 0
	for _, c := range m.calls {
		if age := tenth(now) - tenth(c.at); age >= 0 && age < 10 {
			all++
			if c.failed {
				failed++
			}
		}
	}
	return all >= m.s.MinimumCalls && float64(failed) >= m.s.FailureRatio*float64(all)
}

func (m *modelBreaker) open(now instant, u float64) string {
	length := m.s.Break
	for range m.opens {
		length = min(2*length, m.s.MaxBreak)
	}
	m.opens++
	m.openedAt = now
	m.length = length - time.Duration((1-u)*float64(length/2))
	m.change("open")
	return "opened " + m.length.String()
}

func (m *modelBreaker) status(now instant) string {
	if m.state != "open" {
		return m.state
	}
	if left := m.left(now); left > 0 {
		return fmt.Sprintf("open, %v left", left)
	}
	return "half-open"
}

// replayBreaker runs a history on a breaker and on the model, and compares
// every answer. A clock that steps back is for the histories without a ratio:
// what the failure window makes of one is tested where it is. It returns how
// often each answer was given.
func replayBreaker(t *testing.T, s stateScript) (met map[string]int) {
	t.Helper()
	met = map[string]int{}
	settings := BreakerSettings{
		ConsecutiveFailures: 1 + s.below(5),
		Break:               time.Duration(1+s.below(100)) * second / 4,
		Probes:              1 + s.below(4),
		ProbeSuccesses:      1 + s.below(4),
	}
	settings.MaxBreak = settings.Break * time.Duration(1+s.below(10))
	ratio := s.next() < 128
	if ratio {
		settings.FailureRatio = float64(1+s.below(20)) / 20
		settings.Window = time.Duration(1+s.below(30)) * second
		settings.MinimumCalls = 1 + s.below(20)
		if s.next() < 128 {
			settings.ConsecutiveFailures = -1
		}
	}
	r := newBreakerRig(settings)
	m := newModelBreaker(r.s)
	tickets := map[string]modelTicket{}
	now := instant(s.wide())
	if s.next() < 128 {
		now = 0
	}
	if ratio && now == 0 {
		now = 1 // the windows count from here, and take 0 for no time at all
	}
	for i := 0; len(s) > 0; i++ {
		to := s.advance(now, 500*time.Millisecond)
		if !ratio || to > now {
			now = to
		}
		op, got, want := stepBreaker(&s, r, m, tickets, now)
		if got != want {
			t.Fatalf("step %d, %s at %d: %q, want %q (%+v)", i, op, now, got, want, r.s)
		}
		if got, want := len(r.probes), len(m.granted); got != want {
			t.Fatalf("after step %d, %s at %d: %d slots are taken, want %d", i, op, now, got, want)
		}
		action, _, _ := strings.Cut(op, " ")
		result, _, _ := strings.Cut(got, " ")
		met[action+": "+result]++
	}
	return met
}

// stepBreaker does one thing to both. An attempt may end more than once, and
// long after: neither may matter.
func stepBreaker(
	s *stateScript, r *breakerRig, m *modelBreaker, tickets map[string]modelTicket, now instant,
) (op, got, want string) {
	name := string(rune('a' + s.below(8)))
	r.u = float64(s.next()) / 256
	if _, held := tickets[name]; !held || s.next() < 32 {
		r.lease = time.Duration(s.below(40)) * second / 4
		ticket, said := m.admit(now, r.lease)
		got = enter(name)(r, now)
		if said != "refused" && said != "half-opened, refused" {
			tickets[name] = ticket
		}
		return "enter " + name, got, said
	}
	ticket := tickets[name]
	if s.next() < 208 {
		delete(tickets, name)
	}
	switch s.below(8) {
	case 0, 1:
		return "succeed " + name, succeeds(name)(r, now), m.succeeded(now, ticket)
	case 2, 3:
		return "fail " + name, fails(name)(r, now), m.failed(now, ticket, false, r.u)
	case 4:
		return "time out " + name, timesOut(name)(r, now), m.failed(now, ticket, true, r.u)
	case 5:
		if ticket.probe != 0 {
			m.free(now, ticket)
		}
		return "return " + name, ignored(name)(r, now), ""
	case 6:
		return "look", seen(r, now), m.status(now)
	default:
		refused := m.state == "open" && m.left(now) > 0
		return "ask", refusing(r, now), fmt.Sprint(refused)
	}
}

func TestBreakerModel(t *testing.T) {
	r := newStateRand(5)
	met := map[string]int{}
	for range rounds(2000) {
		for answer, n := range replayBreaker(t, randomScript(r, 1000)) {
			met[answer] += n
		}
	}
	for _, answer := range []string{
		"enter: in", "enter: probe", "enter: refused", "enter: half-opened,",
		"succeed: closed", "succeed: ", "fail: opened", "fail: ", "time: opened", "time: ",
		"look: open,", "look: half-open", "look: closed", "ask: true", "ask: false",
	} {
		if met[answer] < rounds(100) {
			t.Errorf("%q was met %d times, which tests little: %v", answer, met[answer], met)
		}
	}
}

func FuzzBreaker(f *testing.F) {
	r := newStateRand(6)
	for _, length := range []int{20, 100, 400, 1000} {
		f.Add([]byte(randomScript(r, length)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) <= 4000 {
			replayBreaker(t, data)
		}
	})
}
