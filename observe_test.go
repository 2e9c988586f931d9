package ration

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
)

type observed struct {
	mu     sync.Mutex
	events []string
}

type userKey struct{}

// observe records what happens to the executors of one policy: the tests of the
// package run in one process.
func observe(t *testing.T, policy string) *observed {
	o := &observed{}
	t.Cleanup(Observe(func(ctx context.Context, e *Executor, ev Event) {
		if ev.Policy != policy {
			return
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		user, _ := ctx.Value(userKey{}).(string)
		o.events = append(o.events, strings.Join([]string{user, e.Key(), ev.Kind.String()}, "/"))
	}))
	return o
}

func TestObserve(t *testing.T) {
	o := observe(t, t.Name())
	e := MustNew(Policy{Name: t.Name(), Backoff: NoBackoff})
	ctx := context.WithValue(t.Context(), userKey{}, "ann")
	failing := true
	flaky := func(context.Context) error {
		defer func() { failing = false }()
		if failing {
			return Transient(errors.New("down"))
		}
		return nil
	}
	for _, x := range []*Executor{e.For("k"), e.Once()} {
		if err := x.Run(ctx, flaky); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"ann/k/attempt", "ann/k/retrying", "ann/k/attempt", "ann/k/succeeded",
		"ann//attempt", "ann//succeeded",
	}
	if !slices.Equal(o.events, want) {
		t.Errorf("got  %v\nwant %v", o.events, want)
	}
}

func TestObserveStops(t *testing.T) {
	var one, two int
	stopOne := Observe(func(_ context.Context, _ *Executor, ev Event) {
		if ev.Policy == t.Name() && ev.Terminal() {
			one++
		}
	})
	stopTwo := Observe(func(_ context.Context, _ *Executor, ev Event) {
		if ev.Policy == t.Name() && ev.Terminal() {
			two++
		}
	})
	own := 0
	e := MustNew(Policy{Name: t.Name(), OnEvent: func(ev Event) {
		if ev.Terminal() {
			own++
		}
	}})
	call := func() { _ = e.Run(t.Context(), func(context.Context) error { return nil }) }
	call()
	stopOne()
	stopOne() // again changes nothing
	call()
	// A call that has begun is observed to its end.
	_ = e.Run(t.Context(), func(context.Context) error { stopTwo(); return nil })
	call()
	if one != 1 || two != 3 || own != 4 {
		t.Errorf("heard %d, %d and %d calls, want 1, 3 and 4", one, two, own)
	}
}

func TestObserveNotUnlisted(t *testing.T) {
	o := observe(t, t.Name())
	e := MustNew(Policy{Name: t.Name(), Unlisted: true})
	_ = e.For("k").Run(t.Context(), func(context.Context) error { return nil })
	if len(o.events) != 0 {
		t.Errorf("heard %v", o.events)
	}
	if slices.Contains(Executors(), e) {
		t.Error("listed")
	}
}

func TestObserverPanics(t *testing.T) {
	var out bytes.Buffer
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	defer slog.SetDefault(old)
	defer Observe(func(_ context.Context, _ *Executor, ev Event) {
		if ev.Policy == t.Name() {
			panic("telemetry")
		}
	})()
	o := observe(t, t.Name())
	e := MustNew(Policy{Name: t.Name()})
	for range 3 {
		if err := e.Run(t.Context(), func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if len(o.events) != 6 {
		t.Errorf("the observer after it heard %v", o.events)
	}
	if n := strings.Count(out.String(), "telemetry"); n != 1 {
		t.Errorf("%d lines, want 1:\n%s", n, &out)
	}
}

func TestObserveConcurrent(t *testing.T) {
	e := MustNew(Policy{Name: t.Name()})
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for range 200 {
				stop := Observe(func(context.Context, *Executor, Event) {})
				_ = e.Run(t.Context(), func(context.Context) error { return nil })
				stop()
			}
		})
	}
	work.Wait()
}
