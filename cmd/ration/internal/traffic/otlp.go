package traffic

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
)

// The parts of OTLP/JSON that are read. Numbers come as numbers or as strings, and
// enumerations as numbers or by name, depending on what has written them.
type (
	otlpRequest struct {
		ResourceSpans []otlpResource `json:"resourceSpans"`
	}
	otlpResource struct {
		Resource struct {
			Attributes otlpAttributes `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []otlpScope `json:"scopeSpans"`
		Older      []otlpScope `json:"instrumentationLibrarySpans"`
	}
	otlpScope struct {
		Spans []otlpSpan `json:"spans"`
	}
	otlpSpan struct {
		TraceID    string         `json:"traceId"`
		SpanID     string         `json:"spanId"`
		Parent     string         `json:"parentSpanId"`
		Name       string         `json:"name"`
		Kind       otlpWord       `json:"kind"`
		Start      otlpWord       `json:"startTimeUnixNano"`
		End        otlpWord       `json:"endTimeUnixNano"`
		Attributes otlpAttributes `json:"attributes"`
		Status     struct {
			Code otlpWord `json:"code"`
		} `json:"status"`
	}
	otlpAttributes []struct {
		Key   string `json:"key"`
		Value struct {
			String string   `json:"stringValue"`
			Int    otlpWord `json:"intValue"`
			Double otlpWord `json:"doubleValue"`
		} `json:"value"`
	}
)

// An otlpWord is a number or a string.
type otlpWord string

// UnmarshalJSON implements [json.Unmarshaler].
func (w *otlpWord) UnmarshalJSON(text []byte) error {
	*w = otlpWord(bytes.Trim(text, `"`))
	return nil
}

// get returns the first attribute of these names that is there.
func (a otlpAttributes) get(names ...string) string {
	for _, name := range names {
		for i := range a {
			if a[i].Key != name {
				continue
			}
			v := &a[i].Value
			for _, text := range []string{v.String, string(v.Int), string(v.Double)} {
				if text != "" {
					return text
				}
			}
		}
	}
	return ""
}

// spans reads OTLP: a request on each line, or documents of any form.
func (c *collector) spans(r io.Reader) error {
	c.summary.Counts.Unit = "spans"
	sample, r, err := peek(r)
	if err != nil {
		return err
	}
	line, _, whole := bytes.Cut(sample, []byte("\n"))
	if !whole && len(sample) == sampleSize || !json.Valid(line) {
		return c.spanDocuments(json.NewDecoder(r))
	}
	return c.spanLines(newLineReader(r, longestSpans))
}

// spanLines reads a request from each line.
func (c *collector) spanLines(lines *lineReader) error {
	for {
		line, err := lines.next()
		if err != nil && !errors.Is(err, errLongLine) {
			return err
		}
		if err == nil && len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var request otlpRequest
		if err == nil {
			err = json.Unmarshal(line, &request)
		}
		if err != nil {
			c.summary.Counts.Read++
			c.fault(lines.n, fault("is not a request of OTLP: "+err.Error()))
			continue
		}
		for i := range request.ResourceSpans {
			c.resource(&request.ResourceSpans[i], lines.n)
		}
	}
}

// spanDocuments reads documents without keeping a whole one. What is wrong with one
// ends the reading, for there is no telling where the next begins.
func (c *collector) spanDocuments(d *json.Decoder) error {
	for {
		token, err := d.Token()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return c.brokenDocument(err)
		case token == json.Delim('['), token == json.Delim('{'),
			token == json.Delim(']'), token == json.Delim('}'):
			continue // a list of documents is as good as one after the other
		case token == "resourceSpans":
			err = c.resources(d)
		default:
			var other json.RawMessage
			err = d.Decode(&other)
		}
		if err != nil {
			return c.brokenDocument(err)
		}
	}
}

func (c *collector) brokenDocument(err error) error {
	if isBroken(err) {
		return err
	}
	c.summary.Counts.Read++
	c.fault(0, fault("cannot be read from here on: "+err.Error()))
	return nil
}

func (c *collector) resources(d *json.Decoder) error {
	if _, err := d.Token(); err != nil { // the bracket
		return err
	}
	for d.More() {
		var one otlpResource
		if err := d.Decode(&one); err != nil {
			return err
		}
		c.resource(&one, 0)
	}
	_, err := d.Token()
	return err
}

// resource takes the spans of one service.
func (c *collector) resource(r *otlpResource, line int) {
	service := r.Resource.Attributes.get("service.name")
	if service == "" {
		service = "unknown service"
	}
	for _, scope := range append(r.ScopeSpans, r.Older...) {
		for i := range scope.Spans {
			c.summary.Counts.Read++
			s, trace, err := scope.Spans[i].span(service, &c.traces.names)
			if err != nil {
				c.fault(line, err)
				continue
			}
			if s.kind == spanOther {
				c.summary.Counts.Other++
			} else {
				c.summary.Counts.Used++
			}
			c.traces.add(trace, s, &c.inferred)
		}
	}
}

// span checks a span and keeps what matters of it.
func (o *otlpSpan) span(service string, names *interner) (s span, trace string, err error) {
	start, err := strconv.ParseInt(string(o.Start), 10, 64)
	end, endErr := strconv.ParseInt(string(o.End), 10, 64)
	switch {
	case o.TraceID == "" || o.SpanID == "":
		return s, "", fault("has a span without an ID")
	case err != nil || endErr != nil || start <= 0:
		return s, "", fault("has a span without a start and an end: " + quoted([]byte(o.SpanID)))
	case end < start || end-start > int64(longestDuration):
		return s, "", fault("has a span that ends before it begins, or too late: " +
			quoted([]byte(o.SpanID)))
	}
	s = span{
		id: o.SpanID, parent: strings.Trim(o.Parent, "0"), service: names.name([]byte(service)),
		start: start, end: end,
	}
	if s.parent != "" {
		s.parent = o.Parent
	}
	switch o.Kind {
	case "2", "SPAN_KIND_SERVER", "5", "SPAN_KIND_CONSUMER":
		s.kind = spanServer
	case "3", "SPAN_KIND_CLIENT":
		s.kind = spanClient
		s.peer = names.name([]byte(o.peer()))
		s.target = names.name([]byte(o.target()))
		s.resent, _ = strconv.Atoi(o.Attributes.get("http.request.resend_count", "http.resend_count"))
	}
	if s.kind != spanOther {
		var code string
		code, s.failed = o.outcome()
		s.code = names.name([]byte(code))
	}
	return s, o.TraceID, nil
}

// peer returns who was called, as far as the caller knows.
func (o *otlpSpan) peer() string {
	a := o.Attributes
	if name := a.get("service.peer.name", "peer.service"); name != "" {
		return name
	}
	if system := a.get("db.system.name", "db.system"); system != "" {
		if name := a.get("db.namespace", "db.name"); name != "" {
			return system + " " + name
		}
		return system
	}
	if host := a.get("server.address", "net.peer.name", "net.peer.ip", "http.host"); host != "" {
		if port := a.get("server.port", "net.peer.port"); port != "" {
			return host + ":" + port
		}
		return host
	}
	if _, rest, ok := strings.Cut(a.get("url.full", "http.url"), "://"); ok {
		return rest[:len(rest)-len(strings.TrimLeft(rest, hostLetters))]
	}
	if name := a.get("rpc.service", "messaging.destination.name"); name != "" {
		return name
	}
	return o.Name
}

const hostLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]"

// target returns what tells apart two calls to one service: those of one target may
// be attempts of one call.
func (o *otlpSpan) target() string {
	return o.Name + " " + o.Attributes.get("url.full", "http.url", "http.target", "url.path",
		"rpc.method", "db.query.text", "db.statement")
}

// outcome returns the status, and whether it is a failure.
func (o *otlpSpan) outcome() (code string, failed bool) {
	a := o.Attributes
	if text := a.get("http.response.status_code", "http.status_code"); text != "" {
		if n, err := strconv.Atoi(text); err == nil {
			return text, failing(n)
		}
	}
	if text := a.get("rpc.grpc.status_code", "rpc.response.status_code"); text != "" {
		return "gRPC " + text, failingRPC(text)
	}
	switch o.Status.Code {
	case "2", "STATUS_CODE_ERROR":
		return "error", true
	}
	return "", false
}

// failingRPC is failing for statuses of gRPC, by number or by name: those that are not
// the caller's fault.
func failingRPC(code string) bool {
	switch strings.ToLower(strings.ReplaceAll(code, "_", "")) {
	case "2", "unknown", "4", "deadlineexceeded", "8", "resourceexhausted", "10", "aborted",
		"13", "internal", "14", "unavailable", "15", "dataloss":
		return true
	}
	return false
}
