package ration

import (
	"context"
	"log/slog"
	"sync"
	"time"
	"unicode/utf8"
)

// LogOptions change [LogEvents]. The zero value is the default. It is a value.
type LogOptions struct {
	// Window is how long lines of one kind and policy are held back after one
	// has been written, at level Info and above. 0 = 30 s; negative = none is
	// held back.
	Window time.Duration

	// Level chooses the level of an event instead of [DefaultLogLevel].
	Level func(Event) slog.Level
}

const (
	defaultLogWindow = 30 * time.Second

	// maxLogLines bounds the memory of a logger whose policies are named by
	// data. Past it, new names share the line of the empty name.
	maxLogLines = 1024

	// maxLogError is how much of an error's text a line carries.
	maxLogError = 512
)

// DefaultLogLevel returns a level that fits how often an event happens: debug
// for what healthy and retried calls do, and for failures, which reach their
// caller anyway; info for a recovery; warn for what an operator should see, which
// is the refusals, an open breaker, nested retries, work that outlives its
// bounds, and the first sight of an error type that no rule knows.
func DefaultLogLevel(ev Event) slog.Level {
	switch ev.Kind {
	case EventRejectedByBreaker, EventRejectedByBudget, EventBreakerOpened, EventNestedRetry,
		EventOrphanedWork:
		return slog.LevelWarn
	case EventBreakerHalfOpened, EventBreakerClosed:
		return slog.LevelInfo
	}
	if ev.Unclassified != "" {
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// LogEvents returns a listener for Policy.OnEvent that writes events to logger.
// A nil logger means slog.Default at the time of each event.
//
// It is made for bad minutes: at level Info and above it writes one line for
// each kind and policy per window and counts the rest, and the next line says
// how many were suppressed. A million refusals are a handful of lines. A line
// carries what the [Event] does, the error's text cut to 512 bytes, and nothing
// else of the call.
//
// The listener is safe for concurrent use and may serve any number of policies.
func LogEvents(logger *slog.Logger, options LogOptions) func(Event) {
	l := &eventLogger{logger: logger, level: options.Level}
	l.window = orDefault(options.Window, defaultLogWindow)
	if l.level == nil {
		l.level = DefaultLogLevel
	}
	return func(ev Event) { l.log(clock(), ev) }
}

// Listeners returns a listener that hands each event to all of those given, in
// order. Nil ones are left out.
func Listeners(listeners ...func(Event)) func(Event) {
	return func(ev Event) {
		for _, listen := range listeners {
			if listen != nil {
				listen(ev)
			}
		}
	}
}

type eventLogger struct {
	logger *slog.Logger
	level  func(Event) slog.Level
	window time.Duration

	mu    sync.Mutex
	lines map[logLine]*logHistory
}

type logLine struct {
	policy       string
	kind         EventKind
	unclassified string // each type is worth a line of its own
}

type logHistory struct {
	written    instant
	suppressed int
}

func (l *eventLogger) log(now instant, ev Event) {
	logger, level := l.logger, l.level(ev)
	if logger == nil {
		logger = slog.Default()
	}
	ctx := context.Background()
	if !logger.Enabled(ctx, level) {
		return
	}
	suppressed := 0
	if level >= slog.LevelInfo && l.window > 0 {
		var due bool
		if suppressed, due = l.due(now, ev); !due {
			return
		}
	}
	logger.LogAttrs(ctx, level, "ration: "+ev.Kind.String(), logAttrs(ev, suppressed)...)
}

// due reports whether a line may be written now, and how many of its kind were
// not since the last one.
func (l *eventLogger) due(now instant, ev Event) (suppressed int, ok bool) {
	line := logLine{policy: ev.Policy, kind: ev.Kind, unclassified: ev.Unclassified}
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.lines[line]
	if h == nil && len(l.lines) >= maxLogLines {
		line = logLine{kind: ev.Kind}
		h = l.lines[line]
	}
	if h == nil {
		if l.lines == nil {
			l.lines = make(map[logLine]*logHistory)
		}
		l.lines[line] = &logHistory{written: now}
		return 0, true
	}
	// A line from the future means that the clock stepped back.
	if age := now.since(h.written); age >= 0 && age < l.window {
		h.suppressed++
		return 0, false
	}
	suppressed = h.suppressed
	*h = logHistory{written: now}
	return suppressed, true
}

func logAttrs(ev Event, suppressed int) []slog.Attr {
	attrs := make([]slog.Attr, 0, 10)
	attrs = append(attrs, slog.String("policy", ev.Policy))
	if ev.Key != "" {
		attrs = append(attrs, slog.String("key", ev.Key))
	}
	attrs = append(attrs,
		slog.Int("attempt", ev.Attempt),
		slog.Duration("duration", ev.Duration))
	if ev.Delay != 0 {
		attrs = append(attrs, slog.Duration("delay", ev.Delay))
	}
	if ev.Err != nil {
		attrs = append(attrs, slog.String("verdict", ev.Verdict.String()),
			slog.String("error", cut(ev.Err.Error(), maxLogError)))
	}
	if ev.Unclassified != "" {
		attrs = append(attrs, slog.String("unclassified_type", ev.Unclassified))
	}
	if suppressed > 0 {
		attrs = append(attrs, slog.Int("suppressed", suppressed))
	}
	return attrs
}

// cut returns at most n bytes of s, no part of a character, and says so.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}
