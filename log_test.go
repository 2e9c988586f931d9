package ration

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// lines returns a logger without times, and what it has written so far.
func lines(level slog.Level) (*slog.Logger, func() []string) {
	var buf bytes.Buffer
	var mu sync.Mutex
	logger := slog.New(slog.NewTextHandler(lockedWriter{&mu, &buf}, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	return logger, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return strings.FieldsFunc(buf.String(), func(r rune) bool { return r == '\n' })
	}
}

type lockedWriter struct {
	mu  *sync.Mutex
	buf *bytes.Buffer
}

func (w lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(p)
}

func TestLogEventsHoldsFloodsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logger, written := lines(slog.LevelInfo)
		listen := LogEvents(logger, LogOptions{})
		refusal := Event{Kind: EventRejectedByBudget, Policy: "payments", Err: errors.New("boom")}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 125_000 {
					listen(refusal)
				}
			})
		}
		wg.Wait()
		time.Sleep(30 * time.Second)
		listen(refusal)
		want := []string{
			`level=WARN msg="ration: rejected_by_budget" policy=payments attempt=0 ` +
				`duration=0s verdict=ok error=boom`,
			`level=WARN msg="ration: rejected_by_budget" policy=payments attempt=0 ` +
				`duration=0s verdict=ok error=boom suppressed=999999`,
		}
		if got := written(); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("wrote\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

func TestLogEventsSeparatesWhatDiffers(t *testing.T) {
	logger, written := lines(slog.LevelInfo)
	listen := LogEvents(logger, LogOptions{})
	for range 3 {
		listen(Event{Kind: EventRejectedByBudget, Policy: "a"})
		listen(Event{Kind: EventRejectedByBudget, Policy: "b"})
		listen(Event{Kind: EventBreakerOpened, Policy: "a", Delay: time.Second})
		listen(Event{Kind: EventNotRetried, Policy: "a", Unclassified: "*x.Error"})
		listen(Event{Kind: EventNotRetried, Policy: "a", Unclassified: "*y.Error"})
	}
	if got := written(); len(got) != 5 {
		t.Errorf("wrote %d lines, want 5:\n%s", len(got), strings.Join(got, "\n"))
	}
}

func TestLogEventsLevels(t *testing.T) {
	logger, written := lines(slog.LevelDebug)
	listen := LogEvents(logger, LogOptions{})
	for k := EventKind(1); k < eventKinds; k++ {
		listen(Event{Kind: k})
	}
	got := make(map[string]string)
	for _, line := range written() {
		var level, name string
		fmt.Sscanf(strings.ReplaceAll(line, `"`, ""), "level=%s msg=ration: %s", &level, &name)
		got[name] = level
	}
	for _, tt := range []struct {
		kind EventKind
		want string
	}{
		{EventAttempt, "DEBUG"},
		{EventRetrying, "DEBUG"},
		{EventSucceeded, "DEBUG"},
		{EventNotRetried, "DEBUG"},
		{EventExhausted, "DEBUG"},
		{EventDeadlineExceeded, "DEBUG"},
		{EventRejectedByBreaker, "WARN"},
		{EventRejectedByBudget, "WARN"},
		{EventCanceled, "DEBUG"},
		{EventAbandoned, "DEBUG"},
		{EventBreakerOpened, "WARN"},
		{EventBreakerHalfOpened, "INFO"},
		{EventBreakerClosed, "INFO"},
		{EventNestedRetry, "WARN"},
		{EventOrphanedWork, "WARN"},
		{EventCeilingAdapted, "DEBUG"},
		{EventBackoffBaseAdapted, "DEBUG"},
	} {
		if got[tt.kind.String()] != tt.want {
			t.Errorf("%v is logged at %q, want %s", tt.kind, got[tt.kind.String()], tt.want)
		}
	}
}

func TestLogEventsBounds(t *testing.T) {
	logger, written := lines(slog.LevelWarn)
	listen := LogEvents(logger, LogOptions{})
	for i := range 100_000 {
		listen(Event{Kind: EventRejectedByBudget, Policy: fmt.Sprint("policy", i)})
	}
	if n := len(written()); n != maxLogLines+1 {
		t.Errorf("100,000 policy names wrote %d lines, want %d", n, maxLogLines+1)
	}
	listen(Event{Kind: EventOrphanedWork, Err: errors.New(strings.Repeat("x", 10_000))})
	all := written()
	if last := all[len(all)-1]; len(last) > 700 {
		t.Errorf("a line of %d bytes", len(last))
	}
	for i := range 4 { // wherever a character is cut
		text := strings.Repeat("x", maxLogError-i) + "東京"
		want := text[:maxLogError-i] + strings.Repeat("東", i/3) + "..."
		if got := cut(text, maxLogError); got != want {
			t.Errorf("%q, want %q", got[maxLogError-4:], want[maxLogError-4:])
		}
	}
}

func TestLogEventsOptions(t *testing.T) {
	logger, written := lines(slog.LevelInfo)
	listen := LogEvents(logger, LogOptions{
		Window: -1,
		Level:  func(Event) slog.Level { return slog.LevelInfo },
	})
	for range 3 {
		listen(Event{Kind: EventSucceeded, Key: "db:5432"})
	}
	want := `level=INFO msg="ration: succeeded" policy="" key=db:5432 attempt=0 duration=0s`
	if got := written(); len(got) != 3 || got[0] != want {
		t.Errorf("wrote %q, want three of %q", got, want)
	}
}

func TestListeners(t *testing.T) {
	var got []string
	note := func(name string) func(Event) {
		return func(ev Event) { got = append(got, name+" "+ev.Kind.String()) }
	}
	Listeners(note("first"), nil, note("second"))(Event{Kind: EventSucceeded})
	if want := "first succeeded, second succeeded"; strings.Join(got, ", ") != want {
		t.Errorf("delivered %q, want %q", strings.Join(got, ", "), want)
	}
}
