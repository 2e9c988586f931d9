package traffic

import (
	"bytes"
	"strconv"
	"time"
)

// A role is what a field of an access log is good for.
type role int

const (
	roleNone role = iota
	roleTimeLocal
	roleTimeISO
	roleTimeEpoch
	roleDuration
	roleStatus
	roleHost
	roleUpstreamTime
	roleUpstreamStatus
	roleUpstreamHost
)

// list reports whether a field has one value for each upstream, with ", " or " : "
// between them.
func (r role) list() bool { return r >= roleUpstreamTime }

// A field is a value in a line and the text that follows it, up to the next one.
type field struct {
	role   role
	unit   time.Duration // of a duration
	layout string        // of a time
	after  string
}

// An accessLog reads the lines of one format: a text, and fields with texts behind.
type accessLog struct {
	name   string // for people
	before string
	fields []field
	start  bool // the time is when a request came, and not when it ended
	loose  bool // more may follow at the end of a line
	clock  clock
	hosts  interner
}

// parse reads one line.
func (a *accessLog) parse(line []byte, r *record) error {
	*r = record{attempts: r.attempts[:0]}
	var timed, any bool
	rest := line
	if !bytes.HasPrefix(rest, []byte(a.before)) {
		return fault("does not begin with " + quoted([]byte(a.before)))
	}
	rest = rest[len(a.before):]
	for i := range a.fields {
		f := &a.fields[i]
		n := f.end(rest, a.loose && i == len(a.fields)-1)
		if n < 0 {
			return fault("ends before field " + strconv.Itoa(i+1) + " of the format")
		}
		value := rest[:n]
		rest = rest[min(n+len(f.after), len(rest)):]
		if f.role == roleNone {
			continue
		}
		any = true
		if err := a.take(f, value, r); err != nil {
			return err
		}
		timed = timed || f.role <= roleTimeEpoch
	}
	if len(rest) > 0 && !a.loose {
		return fault("goes on after the last field with " + quoted(rest))
	}
	if !timed || !any {
		return fault("has no time")
	}
	a.complete(r)
	return nil
}

// end returns where a value ends, and -1 if it does not.
func (f *field) end(rest []byte, loose bool) int {
	if f.after == "" {
		if i := bytes.IndexByte(rest, ' '); loose && i >= 0 {
			return i
		}
		return len(rest)
	}
	after := []byte(f.after)
	for from := 0; ; {
		i := bytes.Index(rest[from:], after)
		if i < 0 {
			return -1
		}
		i += from
		if !f.within(rest, i) {
			return i
		}
		from = i + 1
	}
}

// within reports whether what looks like the end of a value at i is part of it: a
// quote that is escaped, or a blank within a list of upstreams.
func (f *field) within(rest []byte, i int) bool {
	switch {
	case f.after[0] == '"':
		backslashes := 0
		for j := i - 1; j >= 0 && rest[j] == '\\'; j-- {
			backslashes++
		}
		return backslashes%2 == 1
	case f.role.list() && f.after[0] == ' ':
		return i > 0 && rest[i-1] == ',' || bytes.HasPrefix(rest[i:], []byte(" : ")) ||
			i > 1 && rest[i-1] == ':' && rest[i-2] == ' '
	}
	return false
}

// take puts a value into the record.
func (a *accessLog) take(f *field, value []byte, r *record) (err error) {
	switch f.role {
	case roleTimeLocal:
		r.at, err = a.clock.calendar(value, f.layout)
	case roleTimeISO:
		r.at, err = a.clock.calendar(value, isoTimes...)
	case roleTimeEpoch:
		r.at, err = epoch(value)
	case roleDuration:
		r.duration, r.timed, err = number(value, f.unit)
	case roleStatus:
		r.status, err = status(value)
	case roleHost:
		r.host = a.hosts.name(value)
	default:
		err = takeUpstreams(f.role, value, r, &a.hosts)
	}
	return err
}

// status parses a status; - and 000 are that of a connection that was closed before
// there was any.
func status(value []byte) (int, error) {
	if string(value) == "-" || string(value) == "" {
		return 0, nil
	}
	n := 0
	for _, c := range value {
		if c < '0' || c > '9' || n > 999 {
			return 0, fault("has the status " + quoted(value) + ", which is not one of HTTP")
		}
		n = n*10 + int(c-'0')
	}
	if n != 0 && (n < 100 || n > 999) {
		return 0, fault("has the status " + quoted(value) + ", which is not one of HTTP")
	}
	return n, nil
}

// takeUpstreams reads a list. A comma goes on to the next server that was tried, and
// a colon to another group after an internal redirect.
func takeUpstreams(role role, value []byte, r *record, hosts *interner) error {
	if string(value) == "-" || len(value) == 0 {
		if role == roleUpstreamTime {
			r.local = true
		}
		return nil
	}
	for i := 0; len(value) > 0; i++ {
		var one []byte
		one, value = cutUpstream(value)
		for len(r.attempts) <= i {
			r.attempts = append(r.attempts, attempt{})
		}
		x := &r.attempts[i]
		var err error
		switch role {
		case roleUpstreamTime:
			x.duration, x.timed, err = number(one, time.Second)
		case roleUpstreamStatus:
			var n int
			n, err = status(one)
			x.failed = failing(n)
		case roleUpstreamHost:
			x.host = hosts.name(one)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func cutUpstream(value []byte) (one, rest []byte) {
	comma, colon := bytes.Index(value, []byte(", ")), bytes.Index(value, []byte(" : "))
	switch {
	case comma < 0 && colon < 0:
		return value, nil
	case colon < 0 || comma >= 0 && comma < colon:
		return value[:comma], value[comma+2:]
	}
	return value[:colon], value[colon+3:]
}

// complete works out what the fields say together.
func (a *accessLog) complete(r *record) {
	if !a.start && r.timed {
		r.at = r.at.Add(-r.duration)
	}
	r.gaveUp = r.status == statusGaveUp
	r.failed = failing(r.status)
	if !a.has(roleUpstreamStatus) {
		r.failAttempts()
	}
}

// failAttempts says that all attempts but the last have failed, or there would not be
// a next.
func (r *record) failAttempts() {
	for i := range r.attempts {
		r.attempts[i].failed = i < len(r.attempts)-1 || r.failed
	}
}

func (a *accessLog) has(role role) bool {
	for i := range a.fields {
		if a.fields[i].role == role {
			return true
		}
	}
	return false
}
