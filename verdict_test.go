package ration

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"
)

func TestVerdictString(t *testing.T) {
	for _, tt := range []struct {
		v    Verdict
		want string
	}{
		{Verdict{}, "ok"},
		{Verdict{Kind: VerdictTransient}, "transient"},
		{Verdict{Kind: VerdictPermanent}, "permanent"},
		{Verdict{Kind: VerdictThrottled, RetryAfter: -1}, "throttled"},
		{Verdict{Kind: VerdictThrottled, RetryAfter: 2 * time.Second}, "throttled, retry after 2s"},
		{Verdict{VerdictThrottled, time.Second, true}, "throttled, self-imposed, retry after 1s"},
		{Verdict{Kind: 4}, "VerdictKind(4)"},
		{Verdict{Kind: -1}, "VerdictKind(-1)"},
	} {
		if got := tt.v.String(); got != tt.want {
			t.Errorf("%#v: %q, want %q", tt.v, got, tt.want)
		}
	}
}

// marks are the ways to mark an error, and what each says.
var marks = map[string]struct {
	mark func(error) error
	want Verdict
}{
	"transient": {Transient, Verdict{Kind: VerdictTransient}},
	"permanent": {Permanent, Verdict{Kind: VerdictPermanent}},
	"throttled": {
		func(err error) error { return Throttled(err, time.Minute) },
		Verdict{Kind: VerdictThrottled, RetryAfter: time.Minute},
	},
	"no hint": {
		func(err error) error { return Throttled(err, -time.Minute) },
		Verdict{Kind: VerdictThrottled},
	},
	"any": {
		func(err error) error { return Mark(err, Verdict{Kind: VerdictTransient, RetryAfter: 1}) },
		Verdict{Kind: VerdictTransient, RetryAfter: 1},
	},
	"refused": {
		func(err error) error { return Refused(err, time.Minute) },
		Verdict{Kind: VerdictThrottled, RetryAfter: time.Minute, SelfImposed: true},
	},
	"refused, no hint": {
		func(err error) error { return Refused(err, -time.Minute) },
		Verdict{Kind: VerdictThrottled, SelfImposed: true},
	},
}

// coded is an error type for errors.As to find.
type coded struct{ code int }

func (f *coded) Error() string { return fmt.Sprintf("code %d", f.code) }

func TestMarks(t *testing.T) {
	for name, m := range marks {
		t.Run(name, func(t *testing.T) {
			if err := m.mark(nil); err != nil {
				t.Errorf("of nil: %v", err)
			}
			cause := &coded{7}
			err := m.mark(fmt.Errorf("outer: %w", cause))
			if got := err.Error(); got != "outer: code 7" {
				t.Errorf("text %q", got)
			}
			var found *coded
			if !errors.Is(err, cause) || !errors.As(err, &found) || found != cause {
				t.Error("errors.Is or errors.As do not see through")
			}
			if v, ok := wrapped(err); !ok || v != m.want {
				t.Errorf("%v, %t, want %v", v, ok, m.want)
			}
		})
	}
}

// The outermost mark wins, however the marks are wrapped in between.
func TestOutermostMarkWins(t *testing.T) {
	between := map[string]func(error) error{
		"nothing": func(err error) error { return err },
		"%w":      func(err error) error { return fmt.Errorf("x: %w", err) },
		"%w: %w":  func(err error) error { return fmt.Errorf("%w: %w", io.EOF, err) },
		"join":    func(err error) error { return errors.Join(io.EOF, err) },
	}
	for inner, in := range marks {
		for outer, out := range marks {
			for name, wrap := range between {
				err := wrap(out.mark(wrap(in.mark(io.EOF))))
				if v, ok := wrapped(err); !ok || v != out.want {
					t.Errorf("%s in %s through %s: %v, %t", inner, outer, name, v, ok)
				}
			}
		}
	}
}

func TestWrapped(t *testing.T) {
	permanent := Verdict{Kind: VerdictPermanent}
	for _, tt := range []struct {
		name string
		err  error
		want Verdict
		ok   bool
	}{
		{"nil", nil, Verdict{}, false},
		{"unmarked", io.EOF, Verdict{}, false},
		{"a refusal", fmt.Errorf("x: %w", &Error{Last: io.EOF}), permanent, true},
		{"a mark within a refusal", &Error{Last: Transient(io.EOF)}, permanent, true},
		{"a mark around a refusal", Transient(&Error{}), Verdict{Kind: VerdictTransient}, true},
		{"a mark before a refusal", errors.Join(Transient(io.EOF), &Error{}), permanent, true},
		{"a mark after a refusal", errors.Join(&Error{}, Transient(io.EOF)), permanent, true},
		{"two in a join", errors.Join(Permanent(io.EOF), Transient(io.EOF)), permanent, true},
	} {
		if v, ok := wrapped(tt.err); v != tt.want || ok != tt.ok {
			t.Errorf("%s: %v, %t, want %v, %t", tt.name, v, ok, tt.want, tt.ok)
		}
	}
}
