package traffic

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Names of members as proxies and loggers have them: nginx and Apache in JSON, Envoy,
// Traefik, Caddy, HAProxy, zap, zerolog, logrus, pino, Python. The first that a line
// has is taken.
var (
	startNames = []string{
		"start_time", "StartUTC", "startTime", "start", "request_start",
	}
	timeNames = []string{
		"time", "timestamp", "ts", "@timestamp", "msec", "time_iso8601", "time_local", "t", "datetime",
		"date", "eventTime", "asctime", "StartLocal",
	}
	durationNames = []string{
		"request_time", "duration", "duration_ms", "durationMs", "latency", "latency_ms", "latencyMs",
		"elapsed", "elapsed_ms", "elapsedMs", "response_time", "responseTime", "response_time_ms",
		"took", "took_ms", "Duration", "duration_s", "duration_seconds", "duration_us", "duration_ns",
		"latency_s", "latency_us", "latency_ns", "latency_seconds", "httpRequest.latency",
		"http.duration", "time_taken", "dur", "rt",
	}
	statusNames = []string{
		"status", "status_code", "statusCode", "response_code", "responseCode", "http_status", "code",
		"DownstreamStatus", "response.status", "http.status_code", "http.response.status_code",
		"res.statusCode", "httpRequest.status", "http.status", "sc_status",
	}
	hostNames = []string{
		"upstream_host", "upstream_addr", "upstream", "host", "http_host", "server_name", "authority",
		"vhost", "request.host", "RequestHost", "server", "hostname", "http.host", "service", "target",
	}
	attemptNames = []string{
		"upstream_request_attempt_count", "attempts", "RetryAttempts", "retry_count", "retries",
		"attempt", "resend_count", "http.request.resend_count",
	}
	errorNames          = []string{"error", "err", "failed", "success", "ok"}
	upstreamNames       = []string{"upstream_response_time", "upstream_time", "urt"} // of nginx
	upstreamStatusNames = []string{"upstream_status"}
)

// startNamed are names of the time at which a request came; others may be either.
func startNamed(name string) bool {
	return strings.HasPrefix(strings.ToLower(name), "start") || name == "request_start"
}

// jsonLines reads lines that are objects.
type jsonLines struct {
	unit  time.Duration
	names [numMembers][]string
	paths map[string]slot
	roots map[string]bool // names of members that hold one that is looked for
	found [numMembers]member
	clock clock
	hosts interner

	guessedUnit string // the name of a duration whose unit was guessed
	unitNow     time.Duration
	endTimes    bool // some time is taken for the end
}

// The members that are looked for.
const (
	memberStart = iota
	memberTime
	memberDuration
	memberStatus
	memberHost
	memberAttempts
	memberError
	memberUpstream
	memberUpstreamStatus
	numMembers
)

// A slot says which member a name stands for; less goes before more.
type slot struct{ member, rank int }

// A member is one that a line has.
type member struct {
	name  string
	value []byte // without the quotes of a string
	text  bool
	rank  int
}

func newJSONLines(o *Options) *jsonLines {
	j := &jsonLines{unit: o.Unit, paths: make(map[string]slot), roots: make(map[string]bool)}
	j.names = [...][]string{
		startNames, timeNames, durationNames, statusNames, hostNames, attemptNames, errorNames,
		upstreamNames, upstreamStatusNames,
	}
	f := &o.Fields
	for i, name := range []string{"", f.Time, f.Duration, f.Status, f.Host} {
		if name != "" {
			j.names[i] = []string{name}
		}
	}
	if o.Fields.Time != "" {
		j.names[memberStart] = nil
	}
	for i, names := range j.names {
		for rank, name := range names {
			j.paths[name] = slot{i, rank}
			for at, c := range name {
				if c == '.' {
					j.roots[name[:at]] = true
				}
			}
		}
	}
	return j
}

// parse reads one line.
func (j *jsonLines) parse(line []byte, r *record) error {
	*r = record{attempts: r.attempts[:0]}
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' || !json.Valid(line) {
		return fault("is not an object in JSON: " + quoted(line))
	}
	j.found = [numMembers]member{}
	j.object(line, "", 0)
	if err := j.duration(r); err != nil {
		return err
	}
	if err := j.time(r); err != nil {
		return err
	}
	if m := j.found[memberStatus]; m.value != nil {
		if n, err := status(m.value); err == nil {
			r.status = n
		}
	}
	if m := j.found[memberHost]; m.text {
		r.host = j.hosts.name(m.value)
	}
	r.gaveUp = r.status == statusGaveUp
	r.failed = failing(r.status)
	if r.status == 0 {
		r.failed = j.found[memberError].failure()
	}
	if m := j.found[memberUpstream]; m.value != nil {
		return j.upstreams(r, m)
	}
	j.attempts(r)
	return nil
}

// upstreams reads the lists of nginx, as in an access log.
func (j *jsonLines) upstreams(r *record, m member) error {
	if err := takeUpstreams(roleUpstreamTime, m.value, r, &j.hosts); err != nil {
		return err
	}
	statuses := j.found[memberUpstreamStatus]
	if statuses.value == nil {
		r.failAttempts()
		return nil
	}
	return takeUpstreams(roleUpstreamStatus, statuses.value, r, &j.hosts)
}

// time takes the start as it is, and subtracts the duration from an end.
func (j *jsonLines) time(r *record) (err error) {
	m := j.found[memberStart]
	if m.value == nil {
		m = j.found[memberTime]
	}
	switch {
	case m.value == nil:
		return fault("has no time; say --time-field")
	case m.text && bytes.ContainsAny(m.value, "/"):
		r.at, err = j.clock.calendar(m.value, logTime)
	case m.text && bytes.ContainsAny(m.value, "-:"):
		r.at, err = j.clock.calendar(m.value, isoTimes...)
	default:
		r.at, err = epoch(m.value)
	}
	if err == nil && r.timed && !startNamed(m.name) {
		r.at = r.at.Add(-r.duration)
		j.endTimes = true
	}
	return err
}

func (j *jsonLines) duration(r *record) (err error) {
	m := j.found[memberDuration]
	if m.value == nil {
		return nil
	}
	r.duration, r.timed, err = number(bytes.TrimSpace(m.value), j.unitOf(m))
	return err
}

// unitEndings are how names of members tell their unit.
var unitEndings = []struct {
	end  string
	unit time.Duration
}{
	{"_ms", time.Millisecond}, {"millis", time.Millisecond}, {"Ms", time.Millisecond},
	{"_us", time.Microsecond}, {"micros", time.Microsecond},
	{"_ns", time.Nanosecond}, {"nanos", time.Nanosecond},
	{"_s", time.Second}, {"seconds", time.Second}, {"request_time", time.Second},
}

// unitOf returns the unit of a number: as told, as the name of its member ends, or as
// the program that is known to write this combination of members has it.
func (j *jsonLines) unitOf(m member) time.Duration {
	if j.unit != 0 {
		return j.unit
	}
	for _, e := range unitEndings {
		if strings.HasSuffix(m.name, e.end) || strings.HasSuffix(strings.ToLower(m.name), e.end) {
			return e.unit
		}
	}
	switch {
	case m.name == "Duration": // Traefik
		return time.Nanosecond
	case j.found[memberStatus].name == "response_code": // Envoy
		return time.Millisecond
	}
	j.guessedUnit, j.unitNow = m.name, time.Millisecond
	if j.found[memberTime].name == "ts" && !j.found[memberTime].text {
		j.unitNow = time.Second // zap, and Caddy with it
	}
	return j.unitNow
}

// attempts takes a number of attempts: of all, where the name is a plural or Envoy's,
// of the retries among them, or of which of them this is.
func (j *jsonLines) attempts(r *record) {
	m := j.found[memberAttempts]
	n, err := strconv.Atoi(string(m.value))
	const most = 100 // more is a number of something else
	if err != nil || n < 0 || n > most {
		return
	}
	switch m.name {
	case "attempt":
		r.retry = n > 1
		return
	case "resend_count", "http.request.resend_count":
		r.retry = n > 0
		return
	case "retry_count", "retries", "RetryAttempts":
		n++
	}
	if n <= 1 {
		return
	}
	// How long each took is not known, only that those before the last have failed.
	for i := range n {
		last := i == n-1
		r.attempts = append(r.attempts, attempt{failed: !last || r.failed, host: r.host})
	}
}

// failure reads the member of an error: what is there is a failure, unless it is
// empty, or says so.
func (m member) failure() bool {
	good := m.name == "success" || m.name == "ok"
	switch string(m.value) {
	case "", "null", "false", "0":
		return good && m.value != nil
	}
	return !good
}

// object walks over the members of a valid object, and keeps those looked for.
// It returns what follows the object.
func (j *jsonLines) object(text []byte, path string, depth int) []byte {
	text = skipSpace(text[1:])
	for text[0] != '}' {
		var name, value []byte
		name, text = cutValue(text)
		text = skipSpace(skipSpace(text)[1:]) // the colon
		key := string(name[1 : len(name)-1])
		if path != "" {
			key = path + "." + key
		}
		begin := text
		value, text = cutValue(text)
		if value[0] == '{' && depth < 4 && j.roots[key] {
			j.object(begin, key, depth+1)
		} else if s, ok := j.paths[key]; ok {
			j.keep(s, key, value)
		}
		if text = skipSpace(text); text[0] == ',' {
			text = skipSpace(text[1:])
		}
	}
	return text[1:]
}

func (j *jsonLines) keep(s slot, name string, value []byte) {
	m := &j.found[s.member]
	if m.value != nil && m.rank <= s.rank || value[0] == '{' || value[0] == '[' ||
		string(value) == "null" || string(value) == `""` && s.member != memberUpstream {
		return
	}
	*m = member{name: name, value: value, rank: s.rank}
	if value[0] == '"' {
		m.text, m.value = true, value[1:len(value)-1]
		if bytes.IndexByte(m.value, '\\') >= 0 {
			var s string
			_ = json.Unmarshal(value, &s)
			m.value = []byte(s)
		}
	}
}

func skipSpace(text []byte) []byte { return bytes.TrimLeft(text, " \t\r\n") }

// cutValue cuts a value off valid JSON.
func cutValue(text []byte) (value, rest []byte) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return text[:i+1], text[i+1:]
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return text[:i], text[i:]
			}
			if depth--; depth == 0 {
				return text[:i+1], text[i+1:]
			}
		case ',', ' ', '\t', ':', '\n', '\r':
			if depth == 0 {
				return text[:i], text[i:]
			}
		}
	}
	return text, nil
}
