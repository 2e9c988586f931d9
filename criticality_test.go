package ration

import (
	"context"
	"strconv"
	"strings"
	"testing"
)

func TestCriticalityOf(t *testing.T) {
	type otherKey struct{}
	ctx := t.Context()
	if got := CriticalityOf(ctx); got != Critical {
		t.Errorf("unlabelled work is %v, want Critical", got)
	}
	if got := CriticalityOf(context.WithValue(ctx, otherKey{}, Sheddable)); got != Critical {
		t.Errorf("work with a value of another key is %v", got)
	}
	for _, c := range []Criticality{Sheddable, SheddablePlus, Critical, CriticalPlus} {
		labelled := WithCriticality(ctx, c)
		if got := CriticalityOf(labelled); got != c {
			t.Errorf("%v is read as %v", c, got)
		}
		child, cancel := context.WithCancel(labelled)
		if got := CriticalityOf(child); got != c {
			t.Errorf("%v is read as %v below", c, got)
		}
		cancel()
		if got := CriticalityOf(WithCriticality(labelled, CriticalPlus)); got != CriticalPlus {
			t.Errorf("relabelled as CriticalPlus, %v is read as %v", c, got)
		}
	}
	if got := CriticalityOf(ctx); got != Critical {
		t.Errorf("a label has reached the parent, which is %v", got)
	}
}

func TestCriticalityOrder(t *testing.T) {
	if !(Sheddable < SheddablePlus && SheddablePlus < Critical && Critical < CriticalPlus) {
		t.Error("the levels are out of order")
	}
	if Criticality(0) != Critical {
		t.Error("the zero value is not Critical")
	}
}

func TestParseCriticality(t *testing.T) {
	for _, tt := range []struct {
		name string
		want Criticality
		ok   bool
	}{
		{"Sheddable", Sheddable, true},
		{"sheddable", Sheddable, true},
		{"SHEDDABLEPLUS", SheddablePlus, true},
		{"SheddablePlus", SheddablePlus, true},
		{"Critical", Critical, true},
		{"criticalPlus", CriticalPlus, true},
		{"", Critical, false},
		{"Criticality(?)", Critical, false},
		{"-2", Critical, false},
		{"0", Critical, false},
		{" Sheddable", Critical, false},
		{"Sheddable ", Critical, false},
		{"Sheddable\n", Critical, false},
		{"Sheddable+", Critical, false},
		{"Shed", Critical, false},
		{"Sheddable,Critical", Critical, false},
	} {
		if got, ok := ParseCriticality(tt.name); got != tt.want || ok != tt.ok {
			t.Errorf("%q is %v, %t, want %v, %t", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

// Every level has a name, no two the same, that reads as the level.
func TestCriticalityString(t *testing.T) {
	names := map[string]bool{}
	for c := Sheddable; c <= CriticalPlus; c++ {
		names[c.String()] = true
		if got, ok := ParseCriticality(c.String()); !ok || got != c {
			t.Errorf("%d is called %q, which is read as %v, %t", c, c, got, ok)
		}
	}
	if len(names) != 4 {
		t.Errorf("four levels have the names %v", names)
	}
	for _, c := range []Criticality{Sheddable - 1, CriticalPlus + 1, 99} {
		if got := c.String(); got != "Criticality(?)" {
			t.Errorf("%s is called %q", strconv.Itoa(int(c)), got)
		}
	}
}

// It comes from the network.
func FuzzParseCriticality(f *testing.F) {
	for _, seed := range []string{"Sheddable", "criticalplus", "", "0", "Ünknown"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		c, ok := ParseCriticality(name)
		if ok && !strings.EqualFold(c.String(), name) {
			t.Errorf("%q is %v", name, c)
		}
		if !ok && c != Critical {
			t.Errorf("%q, which is no level, is %v", name, c)
		}
	})
}

// The level decides how much of the budget a retry may use, and nothing else:
// of thirty calls that need one, all make their first attempt.
func TestCriticalityGatesRetries(t *testing.T) {
	for c, want := range map[Criticality]int{
		Sheddable: 15, SheddablePlus: 30, Critical: 30, CriticalPlus: 30,
	} {
		e := MustNew(Policy{Attempts: 2})
		ctx := WithCriticality(t.Context(), c)
		retries := 0
		for range 40 {
			call := e.Begin(ctx, base)
			if call.Decision().Action != ActAttempt {
				t.Fatalf("%v: a first attempt is refused", c)
			}
			switch d := call.Next(base, Outcome{Err: errBackoff, Verdict: transientVerdict}, 0); d.Action {
			case ActWait:
				retries++
			case ActPause:
				if d.Reason != StopBudgetExhausted {
					t.Errorf("%v: refused for %v", c, d.Reason)
				}
			}
		}
		if retries != want {
			t.Errorf("%v: %d of 40 retries are funded, want %d", c, retries, want)
		}
	}
}
