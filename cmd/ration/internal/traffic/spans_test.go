package traffic

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRealSpans infers the topology of five services from the spans that the SDK of
// OpenTelemetry has made of 60 requests, as its collector writes them to a file. The
// calls were counted by what the services are known to do: the gateway calls orders,
// up to three times, beside prices; orders asks its database, and then stock for two
// items, each up to twice.
func TestRealSpans(t *testing.T) {
	s := mustRead(t, Options{}, sample("otlp-spans.json.gz"))
	if len(s.Entries) != 1 || s.Entries[0].To != "gateway" || s.Entries[0].Calls != 60 {
		t.Errorf("entries %+v", s.Entries)
	}
	var got []string
	for _, x := range s.Services {
		line := fmt.Sprintf("%s %d-%d", x.Name, x.Requests, x.Failed)
		if x.Parallel {
			line += " parallel"
		}
		for _, e := range x.Calls {
			line += fmt.Sprintf(", %s %d+%d", e.To, e.Calls, e.Retries)
		}
		got = append(got, line)
	}
	want := []string{
		"gateway 60-0 parallel, orders 60+3, prices 60+0",
		"prices 60-0",
		"orders 63-0, postgresql shop 63+0, stock 125+17",
		"stock 142-20",
		"postgresql shop 63-0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestSpansInAnyOrder finds the same in the spans of one trace whatever their order,
// one on each line or all in one document.
func TestSpansInAnyOrder(t *testing.T) {
	spans := []string{
		otlpLine("front", "a", "", 2, 0, 100, ""),
		otlpLine("front", "b", "a", 3, 10, 20, `{"key":"http.status_code","value":{"intValue":503}}`),
		otlpLine("back", "c", "b", 2, 11, 19, `{"key":"http.status_code","value":{"intValue":503}}`),
		otlpLine("front", "d", "a", 3, 40, 60, `{"key":"http.request.resend_count","value":{"intValue":"1"}}`),
		otlpLine("back", "e", "d", 2, 45, 55, ""),
		otlpLine("front", "f", "a", 3, 70, 80, ""), // the same again, after a success: another call
		otlpLine("back", "g", "f", 2, 71, 79, ""),
	}
	backwards := slices.Clone(spans)
	slices.Reverse(backwards)
	for _, content := range []string{
		strings.Join(spans, "\n"), strings.Join(backwards, "\n"), "[\n" + strings.Join(spans, ",\n") + "]",
	} {
		s := mustRead(t, Options{}, text("spans.json", content))
		front, back := s.Services[0], s.Services[1]
		e := front.Calls[0]
		if e.To != "back" || e.Calls != 2 || e.Retries != 1 || back.Requests != 3 || back.Failed != 1 {
			t.Errorf("edge %+v, back %d-%d", e, back.Requests, back.Failed)
		}
		// 100 ms, of which 10, 20 and 10 were spent waiting.
		if d := front.Quantiles[0].Value; d != 60*time.Millisecond {
			t.Errorf("front works for %v itself, want 60ms", d)
		}
	}
}

// otlpLine is a request of one span, from one millisecond to another.
func otlpLine(service, id, parent string, kind, from, to int, attribute string) string {
	at := func(ms int) string { return fmt.Sprintf("%d", 1796204456000000000+int64(ms)*1e6) }
	return fmt.Sprintf(`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name",`+
		`"value":{"stringValue":%q}}]},"scopeSpans":[{"spans":[{"traceId":"t","spanId":%q,`+
		`"parentSpanId":%q,"name":"GET /","kind":%d,"startTimeUnixNano":%q,"endTimeUnixNano":%q,`+
		`"attributes":[%s]}]}]}]}`, service, id, parent, kind, at(from), at(to), attribute)
}

// TestSpansThatMakeNoSense survives cycles of parents and of services, and says what
// it has left out.
func TestSpansThatMakeNoSense(t *testing.T) {
	s := mustRead(t, Options{}, text("spans.json", strings.Join([]string{
		otlpLine("a", "1", "", 2, 0, 100, ""),
		otlpLine("a", "2", "1", 3, 1, 99, ""),
		otlpLine("b", "3", "2", 2, 2, 98, ""),
		otlpLine("b", "4", "3", 3, 3, 97, ""),
		otlpLine("a", "5", "4", 2, 4, 96, ""), // a calls b calls a
		otlpLine("c", "6", "7", 3, 0, 1, ""),
		otlpLine("c", "7", "6", 3, 0, 1, ""),
		otlpLine("d", "8", "8", 2, 0, 1, ""),
		otlpLine("e", "9", "gone", 2, 0, 1, ""),
		otlpLine("f", "x", "", 2, 10, 1, ""), // ends before it begins
		"{nonsense",
	}, "\n")))
	if !assumed(s, "cycle") || !assumed(s, "orphans") || s.Counts.Malformed != 2 || len(s.Faults) != 2 {
		t.Errorf("%+v %+v", s.Counts, s.Assumptions)
	}
}

// TestManySpans keeps no more spans than it may.
func TestManySpans(t *testing.T) {
	var x inferred
	var tr traces
	for i := range 3 * mostSpans {
		tr.add(fmt.Sprint(i), span{id: "1", service: "a", kind: spanServer, start: int64(i) * 1e6, end: int64(i)*1e6 + 1e6}, &x)
		if tr.n > mostSpans || len(tr.spans) > mostSpans {
			t.Fatalf("%d spans in %d traces are waiting", tr.n, len(tr.spans))
		}
	}
	tr.flushAll(&x)
	if n := x.entries[[2]string{"", "a"}].calls; n != 3*mostSpans {
		t.Errorf("%d calls", n)
	}
}

// TestScrapes reads what client_golang has exposed, with counts from 4,000 to 13,000.
func TestScrapes(t *testing.T) {
	s := mustRead(t, Options{Interval: 5 * time.Minute}, sample("prometheus-1.txt"), sample("prometheus-2.txt"))
	x, e := s.Services[0], s.Entries[0]
	if e.Arrivals.Rate != 30 || x.Requests != 9000 || x.Failed != 263 || len(x.Hosts) != 2 {
		t.Errorf("%+v %+v", e, x)
	}
	// The median of the samples is 30 ms, in the bucket from 25 to 50.
	i := slices.IndexFunc(x.Quantiles, func(q Quantile) bool { return q.Value == 50*time.Millisecond })
	if q := x.Quantiles[i].Q; q < 0.73 || q > 0.75 {
		t.Errorf("%v take 50 ms at most, want about 0.74", q)
	}

	s = mustRead(t, Options{}, sample("prometheus-1.txt"))
	if !assumed(s, "rate") || s.Services[0].Requests != 4000 {
		t.Errorf("%+v %+v", s.Services[0], s.Assumptions)
	}
}

// TestScrapeLines reads single lines of a page.
func TestScrapeLines(t *testing.T) {
	tests := []struct{ line, want string }{
		{`a_bucket{le="1"} 3`, "a_bucket map[le:1] 3"},
		{`a_bucket { le="+Inf" , x="a\"b\\" , } 3 1796204456000`, `a_bucket map[le:+Inf x:a"b\] 3`},
		{`a 1e3`, "a map[] 1000"},
		{`a{le="1"} 3 # {trace_id="x"} 0.5`, "a map[le:1] 3"},
		{`a_bucket{le="1"} -3`, `has the count "-3", which cannot be one`},
		{`a_bucket{le="1"} NaN`, `has the count "NaN", which cannot be one`},
		{`a{le="1`, "has labels that do not end"},
		{`a{le="1\`, "has labels that do not end"},
		{`a{le`, "has labels that do not end"},
		{`a`, `is not a series and a value: "a"`},
		{`a x`, `has the value "x", which is not a number`},
		{`a 1 2 3`, `is not a series and a value: "a 1 2 3"`},
	}
	for _, tt := range tests {
		got := ""
		if s, err := parseSample(tt.line); err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(s.name, " ", s.labels, " ", s.value)
		}
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.line, got, tt.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{
		"nginx-timed.log", "nginx-full.log", "nginx-json.log", "apache-timed.log", "otlp-spans.json.gz",
		"prometheus-1.txt",
	} {
		r, err := sample(name).Open()
		if err != nil {
			f.Fatal(err)
		}
		content, _ := io.ReadAll(io.LimitReader(r, 4096))
		r.Close()
		for _, input := range append(Inputs(), "") {
			f.Add(input, "", string(content))
		}
	}
	f.Add("nginx", nginxFull, "x")
	f.Add("apache", apacheOwn, "x")
	f.Add("otlp", "", otlpLine("a", "1", "1", 3, 0, 1, ""))
	f.Fuzz(func(t *testing.T, input, format, content string) {
		if input != "" && !slices.Contains(Inputs(), input) {
			return
		}
		s, err := Read([]Source{text("x", content)}, Options{Input: input, Format: format})
		if err != nil {
			return
		}
		n := &s.Counts
		if n.Used+n.Malformed+n.Empty+n.Other+n.Local != n.Read {
			t.Errorf("not everything is accounted for: %+v", *n)
		}
		if len(s.Entries) == 0 || len(s.Services) == 0 || s.Duration <= 0 {
			t.Errorf("there is nothing to simulate: %+v", s)
		}
	})
}
