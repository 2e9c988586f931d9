package traffic

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const nginxFull = `$msec $host "$request" $status $request_time [$upstream_addr] ` +
	`[$upstream_status] [$upstream_response_time]`

const apacheOwn = `%v:%p %h %{sec}t.%{msec_frac}t %{ms}T \"%r\" %>s`

// text is a source of that text.
func text(name, content string) Source {
	return Source{name, func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(content)), nil
	}, true}
}

func sample(name string) Source {
	return Source{name, func() (io.ReadCloser, error) { return os.Open(filepath.Join("testdata", name)) }, true}
}

func mustRead(t *testing.T, o Options, sources ...Source) *Summary {
	t.Helper()
	s, err := Read(sources, o)
	if err != nil {
		t.Fatal(err)
	}
	n := &s.Counts
	if sum := n.Used + n.Malformed + n.Empty + n.Other + n.Local; sum != n.Read {
		t.Errorf("of %d read, %d are accounted for: %+v", n.Read, sum, *n)
	}
	return s
}

// TestRealLogs reads what nginx 1.22 and Apache 2.4 have written in front of a server
// that is slow and fails at times. The counts are those of grep.
func TestRealLogs(t *testing.T) {
	tests := []struct {
		file                    string
		o                       Options
		input                   string
		calls, attempts, failed uint64
		local                   uint64
		median                  time.Duration
		hosts                   int
	}{
		{"nginx-timed.log", Options{}, "nginx combined, $request_time, $upstream_response_time",
			210, 235, 26, 11, 23 * time.Millisecond, 0},
		{"nginx-full.log", Options{Format: nginxFull}, "the given log_format",
			210, 235, 26, 11, 23 * time.Millisecond, 2},
		{"nginx-json.log", Options{}, "JSON lines", 210, 235, 26, 11, 23 * time.Millisecond, 0},
		{"apache-timed.log", Options{}, "Apache combined, %D", 121, 121, 17, 0, 22 * time.Millisecond, 0},
		{"apache-own.log", Options{Format: apacheOwn}, "the given LogFormat",
			121, 121, 17, 0, 22 * time.Millisecond, 1},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			s := mustRead(t, tt.o, sample(tt.file))
			if !strings.HasSuffix(s.Input, tt.input) {
				t.Errorf("read as %q, want %q", s.Input, tt.input)
			}
			x := s.Services[0]
			if s.Entries[0].Calls != tt.calls || x.Requests != tt.attempts || x.Failed != tt.failed ||
				s.Counts.Local != tt.local || s.Counts.Malformed != 0 {
				t.Errorf("%d calls, %d attempts, %d failed, %+v", s.Entries[0].Calls, x.Requests,
					x.Failed, s.Counts)
			}
			if len(x.Hosts) != tt.hosts {
				t.Errorf("hosts %+v", x.Hosts)
			}
			i := slices.IndexFunc(x.Quantiles, func(q Quantile) bool { return q.Q == 0.5 })
			if got := x.Quantiles[i].Value; (got - tt.median).Abs() > 2*time.Millisecond {
				t.Errorf("median %v, want about %v", got, tt.median)
			}
		})
	}
}

const combinedLine = `10.0.0.1 - - [02/Dec/2026:10:40:56 +0100] "GET / HTTP/1.1" 200 5 "-" "curl"`

// TestLines reads one line at a time: what it comes to, or why it is malformed.
func TestLines(t *testing.T) {
	timed := Options{Format: nginxCombined + ` $request_time $upstream_response_time`}
	lists := Options{Format: `$time_iso8601|$status|$request_time|$upstream_addr $upstream_status $upstream_response_time`}
	json := Options{Input: "json"}
	at := time.Date(2026, 12, 2, 9, 40, 56, 0, time.UTC)
	tests := []struct {
		name, line string
		o          Options
		want       string // a time since at, a duration, and what is remarkable; or the fault
	}{
		{"common", `::1 - - [02/Dec/2026:10:40:56 +0100] "GET / HTTP/1.1" 200 5`, Options{}, "0s - 200"},
		{"combined", combinedLine, Options{}, "0s - 200"},
		{"CRLF", combinedLine + "\r", Options{}, "0s - 200"},
		{"zeros in front", "\x00\x00\x00" + combinedLine, Options{}, "0s - 200"},
		{"escaped quotes", `::1 - - [02/Dec/2026:10:40:56 +0100] "GET /\"x\" HTTP/1.1" 500 5 "-" "a \"b\" \\"`,
			Options{}, "0s - 500 failed"},
		{"start from end", combinedLine + ` 1.500 1.000`, timed, "-1.5s 1.5s 200 [1s]"},
		{"microseconds", combinedLine + ` 2500`, Options{}, "0s 2.5ms 200"},
		{"several upstreams", combinedLine + ` 0.600 0.100, 0.200 : 0.300`, timed,
			"-600ms 600ms 200 [100ms failed, 200ms failed, 300ms]"},
		{"lists with blanks between", `2026-12-02T10:40:56+01:00|502|0.3|10.0.0.1:80, [::1]:80 502, 502 0.1, 0.2`,
			lists, "-300ms 300ms 502 failed [100ms failed 10.0.0.1:80, 200ms failed [::1]:80]"},
		{"an upstream without a time", `2026-12-02T10:40:56+01:00|200|0.3|a, b 502, 200 -, 0.2`,
			lists, "-300ms 300ms 200 [- failed a, 200ms b]"},
		{"no upstream", combinedLine + ` 0.000 -`, timed, "0s 0s 200 local"},
		{"gave up", strings.Replace(combinedLine, "200", "499", 1) + ` 3.000 3.000`, timed,
			"-3s 3s 499 gave up [3s]"},
		{"no such day", strings.Replace(combinedLine, "02/Dec", "32/Dec", 1), Options{Format: combined},
			`has the time "32/Dec/2026:10:40:56 +0100", which is in no known form`},
		{"no number", combinedLine + ` x 1.0`, timed, `has the duration "x", which is not a number`},
		{"negative", combinedLine + ` -1 1.0`, timed, `has the duration "-1", which is negative or too long`},
		{"too long", combinedLine + ` 1e300 1.0`, timed, `has the duration "1e300", which is negative or too long`},
		{"no status", strings.Replace(combinedLine, "200", "2x0", 1) + ` 1 1`, timed,
			`has the status "2x0", which is not one of HTTP`},
		{"breaks off", combinedLine[:50], timed, "ends before field 4 of the format"},
		{"goes on", combinedLine + " more", Options{Format: nginxCombined},
			`goes on after the last field with " more"`},
		{"Envoy", `{"start_time":"2026-12-02T09:40:56.250Z","duration":31,"response_code":503,` +
			`"upstream_host":"10.0.0.7:8080","upstream_request_attempt_count":"3"}`, json,
			"250ms 31ms 503 failed 10.0.0.7:8080 [- failed 10.0.0.7:8080, - failed 10.0.0.7:8080, - failed 10.0.0.7:8080]"},
		{"Caddy", `{"level":"info","ts":1796204456.5,"request":{"host":"a.example","uri":"/"},"duration":0.25,"status":200}`,
			json, "250ms 250ms 200 a.example"},
		{"Traefik", `{"StartUTC":"2026-12-02T09:40:56Z","Duration":1500000,"DownstreamStatus":200,"RequestHost":"x"}`,
			json, "0s 1.5ms 200 x"},
		{"a duration with a unit", `{"time":"2026-12-02 09:40:57,5","latency":"500ms","status":"200"}`, json, "1s 500ms 200"},
		{"an error and no status", `{"time":1796204456000,"elapsed_ms":5,"error":"EOF"}`, json, "-5ms 5ms 0 failed"},
		{"a retry", `{"start":1796204456,"elapsed_ms":5,"attempt":2,"ok":true}`, json, "0s 5ms 0 retry"},
		{"null", `{"start":1796204456,"duration":null,"status":null}`, json, "0s - 0"},
		{"escapes", `{"st\u0061rt":1,"time":1796204456,"host":"\u0061\n","a":[{"b":"]}"}],"status":200}`, json, "0s - 200 a\n"},
		{"an array", `[1]`, json, `is not an object in JSON: "[1]"`},
		{"breaks off in JSON", `{"time":1`, json, `is not an object in JSON: "{\"time\":1"`},
		{"no time", `{"status":200}`, json, "has no time; say --time-field"},
		{"a time that is none", `{"time":"noon"}`, json, `has the time "noon", which is in no known form`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := describe(t, tt.o, tt.line, at); got != tt.want {
				t.Errorf("%s\ngot  %s\nwant %s", tt.line, got, tt.want)
			}
		})
	}
}

func describe(t *testing.T, o Options, line string, since time.Time) string {
	t.Helper()
	trimmed := bytes.TrimLeft(trimEnd([]byte(line)), "\x00")
	input := o.Input
	if input == "" {
		input = "access log"
	}
	reader, err := o.reader(input, trimmed)
	if err != nil {
		t.Fatal(err)
	}
	var r record
	if err := reader.parse(trimmed, &r); err != nil {
		return err.Error()
	}
	took := func(d time.Duration, timed, failed bool, host string) string {
		s := "-"
		if timed {
			s = d.String()
		}
		if failed {
			s += " failed"
		}
		if host != "" {
			s += " " + host
		}
		return s
	}
	got := fmt.Sprintf("%v %s %d", r.at.Sub(since), took(r.duration, r.timed, false, ""), r.status)
	for _, word := range []struct {
		set  bool
		text string
	}{
		{r.failed, " failed"}, {r.gaveUp, " gave up"}, {r.retry, " retry"}, {r.local, " local"},
		{r.host != "", " " + r.host},
	} {
		if word.set {
			got += word.text
		}
	}
	var tries []string
	for _, a := range r.attempts {
		tries = append(tries, took(a.duration, a.timed, a.failed, a.host))
	}
	if tries != nil {
		got += " [" + strings.Join(tries, ", ") + "]"
	}
	return got
}

// TestMalformed counts lines that make no sense, and refuses files of them.
func TestMalformed(t *testing.T) {
	good := strings.Repeat(combinedLine+"\n", 20)
	s := mustRead(t, Options{}, text("a.log", good+"nonsense\n\n"+strings.Repeat("x", 3<<20)+"\n"+good))
	want := Counts{Unit: "lines", Read: 43, Used: 40, Malformed: 2, Empty: 1}
	if s.Counts != want {
		t.Errorf("got %+v, want %+v", s.Counts, want)
	}
	if len(s.Faults) != 2 || s.Faults[0].File != "a.log" || s.Faults[0].Line != 21 || s.Faults[1].Line != 23 {
		t.Errorf("faults %+v", s.Faults)
	}
	for content, want := range map[string]string{
		"":                             "there is nothing in a.log",
		"hello\nworld\n":               "in no format that is known",
		combinedLine + "\na\nb\nc\n":   "3 of 4 lines cannot be read as access log: combined",
		`{"time":1` + "\n" + `{"a":1}`: "2 of 2 lines cannot be read as json",
		"{\"a\":1}\n{\"a\":2}\n{}\n":   "has no time; say --time-field",
	} {
		_, err := Read([]Source{text("a.log", content)}, Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", content, err, want)
		}
	}
}

// TestRotated reads a rotated log in the wrong order, a copy of a file, and one that
// is compressed and breaks off.
func TestRotated(t *testing.T) {
	line := func(s int) string {
		return fmt.Sprintf(`::1 - - [02/Dec/2026:10:%02d:%02d +0000] "GET /%d HTTP/1.1" 200 5`+"\n", s/60, s%60, s)
	}
	var first, second, all string
	for s := range 120 {
		all += line(s)
		if s < 60 {
			first += line(s)
		} else {
			second += line(s)
		}
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, first)
	z.Close()

	s := mustRead(t, Options{}, text("b.log", second), text("a.log.gz", packed.String()), text("a.log", first))
	if s.Counts.Used != 120 || s.Duration != 2*time.Minute || s.Entries[0].Arrivals.Rate != 1 {
		t.Errorf("%+v over %v", s.Counts, s.Duration)
	}
	if !assumed(s, "duplicate") {
		t.Errorf("nothing said of the copy: %+v", s.Assumptions)
	}

	s = mustRead(t, Options{}, text("a.log", first), text("all.log", all))
	if s.Counts.Used != 120 {
		t.Errorf("a file that goes on behind its copy counts %d lines", s.Counts.Used)
	}

	s = mustRead(t, Options{}, text("a.gz", packed.String()[:packed.Len()-30]))
	if s.Counts.Used < 10 || s.Counts.Used >= 60 || !assumed(s, "broken file") {
		t.Errorf("%+v %+v", s.Counts, s.Assumptions)
	}
}

// TestClocks leaves out what a wrong clock has written.
func TestClocks(t *testing.T) {
	var b strings.Builder
	for i := range 600 {
		fmt.Fprintf(&b, "{\"start\":%d,\"status\":200}\n", 1796204456+i)
	}
	b.WriteString("{\"start\":100,\"status\":200}\n{\"start\":4000000000,\"status\":200}\n")
	s := mustRead(t, Options{}, text("a.json", b.String()))
	if s.Duration != 10*time.Minute || s.Counts.Stray != 2 || !assumed(s, "clock") {
		t.Errorf("over %v, %+v", s.Duration, s.Counts)
	}
}

func assumed(s *Summary, name string) bool {
	return slices.ContainsFunc(s.Assumptions, func(a Assumption) bool { return a.Name == name })
}

func TestQuantile(t *testing.T) {
	var h histogram
	for i := range 10_000 {
		h.add(time.Duration(i+1) * 10 * time.Microsecond)
	}
	for q, want := range map[float64]time.Duration{
		0: 10 * time.Microsecond, 0.5: 50 * time.Millisecond, 0.99: 99 * time.Millisecond,
		1: 100 * time.Millisecond,
	} {
		if got := h.quantile(q); math.Abs(float64(got-want)) > 0.006*float64(want) {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
}
