package rationotel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationotel"
)

// newTracer returns a provider and what it records.
func newTracer() (*trace.TracerProvider, *tracetest.SpanRecorder) {
	r := tracetest.NewSpanRecorder()
	return trace.NewTracerProvider(trace.WithSpanProcessor(r)), r
}

// onSpan plays a call under a span and returns the events of the span.
func onSpan(e *ration.Executor, outcomes ...ration.Outcome) []trace.Event {
	provider, recorder := newTracer()
	ctx, span := provider.Tracer("test").Start(context.Background(), "caller")
	play(ctx, e, epoch, outcomes...)
	span.End()
	return recorder.Ended()[0].Events()
}

func names(events []trace.Event) (all []string) {
	for _, ev := range events {
		all = append(all, ev.Name)
	}
	return all
}

func attr(attrs []attribute.KeyValue, key attribute.Key) string {
	for _, kv := range attrs {
		if kv.Key == key {
			return kv.Value.String()
		}
	}
	return ""
}

func TestSpanEvents(t *testing.T) {
	attach(t)
	p := plain("spans")
	p.Backoff = ration.ConstantBackoff(2 * time.Second)
	p.Breaker = &ration.BreakerSettings{ConsecutiveFailures: 2}
	for _, tc := range []struct {
		outcomes []ration.Outcome
		want     string
	}{
		{[]ration.Outcome{succeeded}, ""},
		{[]ration.Outcome{permanent}, "nresilience.attempt nresilience.not_retried"},
		{[]ration.Outcome{transient, succeeded},
			"nresilience.attempt nresilience.retrying nresilience.attempt nresilience.succeeded"},
		{[]ration.Outcome{transient, transient},
			"nresilience.attempt nresilience.retrying nresilience.attempt nresilience.breaker_opened " +
				"nresilience.rejected_by_breaker"},
	} {
		events := onSpan(ration.MustNew(p).For("host"), tc.outcomes...)
		if got := strings.Join(names(events), " "); got != tc.want {
			t.Errorf("%s, want %s", got, tc.want)
		}
		for _, ev := range events {
			if attr(ev.Attributes, "nresilience.policy") != "spans" || attr(ev.Attributes, "nresilience.key") != "host" {
				t.Errorf("%s: %v", ev.Name, ev.Attributes)
			}
		}
	}
}

func TestSpanEventAttributes(t *testing.T) {
	attach(t)
	p := plain("spans")
	p.Backoff = ration.ConstantBackoff(2 * time.Second)
	secret := transient
	secret.Err = errors.New("dial http://user:S3CRET@host")
	events := onSpan(ration.MustNew(p), secret, succeeded)
	for i, want := range []map[attribute.Key]string{
		{"nresilience.attempt": "1", "nresilience.verdict": "transient", "exception.type": "*errors.errorString"},
		{"nresilience.attempt": "2", "nresilience.verdict": "transient", "nresilience.delay": "2"},
		{"nresilience.attempt": "2", "nresilience.verdict": "ok"},
		{"nresilience.attempt": "2", "nresilience.outcome": "succeeded"},
	} {
		for key, value := range want {
			if got := attr(events[i].Attributes, key); got != value {
				t.Errorf("%s: %s = %q, want %q", events[i].Name, key, got, value)
			}
		}
	}
	if strings.Contains(fmt.Sprint(events), "S3CRET") {
		t.Error("the text of an error is in the span")
	}
}

func TestNoSpanEvents(t *testing.T) {
	attach(t, func(o *rationotel.Options) { o.NoSpanEvents = true })
	if events := onSpan(ration.MustNew(plain("spans")), transient, succeeded); len(events) != 0 {
		t.Errorf("events %v", names(events))
	}
}

// Do makes a span of its own: what the attempts do is below it, and what is decided
// is on it.
func TestDo(t *testing.T) {
	attach(t)
	p := plain("pay")
	p.Backoff = ration.NoBackoff
	for _, tc := range []struct {
		name   string
		errs   []error
		status codes.Code
		attrs  string
	}{
		{"success", []error{nil}, codes.Unset, "nresilience.policy=pay nresilience.outcome=succeeded nresilience.attempts=1"},
		{"retried", []error{ration.Transient(errDown), nil}, codes.Unset,
			"nresilience.policy=pay nresilience.outcome=succeeded nresilience.attempts=2"},
		{"failure", []error{errDown}, codes.Error,
			"nresilience.policy=pay nresilience.outcome=permanent nresilience.attempts=1"},
	} {
		provider, recorder := newTracer()
		tracer := provider.Tracer("test")
		n := 0
		_, err := rationotel.Do(context.Background(), tracer, ration.MustNew(p),
			func(ctx context.Context) (int, error) {
				_, span := tracer.Start(ctx, "attempt")
				defer span.End()
				n++
				return n, tc.errs[n-1]
			})
		if err != tc.errs[len(tc.errs)-1] {
			t.Errorf("%s: %v", tc.name, err)
		}
		spans := recorder.Ended()
		own := spans[len(spans)-1]
		if own.Name() != "resilience pay" || own.Status().Code != tc.status {
			t.Errorf("%s: span %q, %v", tc.name, own.Name(), own.Status())
		}
		var attrs []string
		for _, kv := range own.Attributes() {
			attrs = append(attrs, string(kv.Key)+"="+kv.Value.String())
		}
		if got := strings.Join(attrs, " "); got != tc.attrs {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.attrs)
		}
		for _, s := range spans[:len(spans)-1] {
			if s.Parent().SpanID() != own.SpanContext().SpanID() {
				t.Errorf("%s: the span of an attempt is not below it", tc.name)
			}
		}
		if retried := slices.Contains(names(own.Events()), "nresilience.retrying"); retried != (len(tc.errs) > 1) {
			t.Errorf("%s: events %v", tc.name, names(own.Events()))
		}
	}
}

// A panic passes through, and the span ends.
func TestDoPanics(t *testing.T) {
	provider, recorder := newTracer()
	defer func() {
		if recover() != "oops" {
			t.Error("the panic did not pass through")
		}
		spans := recorder.Ended()
		if len(spans) != 1 || attr(spans[0].Attributes(), "nresilience.outcome") != "abandoned" {
			t.Errorf("spans %v", spans)
		}
	}()
	rationotel.Do(context.Background(), provider.Tracer("test"), ration.MustNew(plain("")),
		func(context.Context) (int, error) { panic("oops") })
}
