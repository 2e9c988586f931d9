package ration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

// attemptUntil returns the context of an attempt that would be retried.
func attemptUntil(parent context.Context, until time.Time) *attemptContext {
	_, c := newAttemptContext(parent, instantOf(until), true)
	return c
}

// A child that ends by itself takes nothing with it.
func TestAttemptContextChildCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := attemptUntil(t.Context(), time.Now().Add(time.Second))
		defer c.finish()
		child, cancel := context.WithCancelCause(c)
		cancel(errParentEnded)
		checkEnding(t, "child", child, byParent)
		checkEnding(t, "attempt", c, stillRunning)
		checkDone(t, "attempt", c, stillRunning)
	})
}

// Where the standard library lets two timers race, the parent's deadline counts.
func TestAttemptContextEqualDeadlines(t *testing.T) {
	for round := range 40 {
		watched := round%2 == 1
		synctest.Test(t, func(t *testing.T) {
			until := time.Now().Add(time.Second)
			parent, cancel := context.WithDeadlineCause(t.Context(), until, errParentLate)
			defer cancel()
			c := attemptUntil(parent, until)
			defer c.finish()
			if watched {
				c.Done()
			}
			time.Sleep(time.Second)
			synctest.Wait()
			checkEnding(t, "at the deadline", c, byParentsDeadline)
			if c.timedOut() {
				t.Error("timedOut = true for the parent's deadline")
			}
		})
	}
}

// Nobody asked while the attempt ran, so nobody can tell what came first: the
// standard context would say that the deadline did.
func TestAttemptContextUnobservedDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := attemptUntil(t.Context(), time.Now().Add(time.Second))
		time.Sleep(2 * time.Second)
		c.finish()
		checkEnding(t, "after finish", c, byFinish)

		c = attemptUntil(t.Context(), time.Now().Add(time.Second))
		time.Sleep(2 * time.Second)
		if !c.timedOut() {
			t.Error("timedOut = false after the deadline")
		}
		c.finish()
		checkEnding(t, "after timedOut and finish", c, byTimeout)
		if !c.timedOut() {
			t.Error("timedOut = false after finish")
		}
	})
}

// When the parent ends too before anybody asks, the caller is the one to be told:
// nobody is left who would want another attempt.
func TestAttemptContextUnobservedDeadlineThenParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithCancelCause(t.Context())
		c := attemptUntil(parent, time.Now().Add(time.Second))
		defer c.finish()
		time.Sleep(2 * time.Second)
		cancel(errParentEnded)
		checkEnding(t, "first look", c, byParent)
	})
}

// punctualContext has a deadline and leaves it to others to keep it.
type punctualContext struct {
	context.Context
	deadline time.Time
}

func (c punctualContext) Deadline() (time.Time, bool) { return c.deadline, true }

// A deadline of the parent's is the parent's to keep, however late it is: until
// it says so, neither context has ended.
func TestAttemptContextLateParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent := punctualContext{t.Context(), time.Now()}
		for _, kind := range contextKinds {
			ctx, finish := kind.make(parent, time.Now().Add(time.Second))
			time.Sleep(2 * time.Second)
			checkEnding(t, kind.name+" unarmed", ctx, stillRunning)
			checkDone(t, kind.name+" armed", ctx, stillRunning)
			finish()
		}
	})
}

// A callback that sleeps until the deadline wakes at the same instant as the
// timer, in either order; the verdict must not depend on it.
func TestAttemptContextTimedOutAtTheDeadline(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			sleeper := make(chan bool)
			c := attemptUntil(t.Context(), time.Now().Add(time.Second))
			go func() {
				time.Sleep(time.Second)
				sleeper <- c.timedOut()
			}()
			synctest.Wait()
			c.Done()
			if !<-sleeper {
				t.Error("timedOut = false at the deadline")
			}
			c.finish()
			checkEnding(t, "after finish", c, byTimeout)
		})
	}
}

// A parent that hides its deadline can hand on the timeout of an outer attempt.
// That is not a timeout of ours.
func TestAttemptContextForeignTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithCancelCause(t.Context())
		c := attemptUntil(parent, time.Now().Add(time.Second))
		defer c.finish()
		c.Done()
		cancel(ErrAttemptTimeout)
		checkEnding(t, "after the parent", c, ending{context.Canceled, ErrAttemptTimeout})
		if c.timedOut() {
			t.Error("timedOut = true before the deadline")
		}
	})
}

func TestAttemptContextValue(t *testing.T) {
	parent := context.WithValue(t.Context(), contextValueKey{}, "v")
	hour := clock().add(time.Hour)
	outer, _ := newAttemptContext(parent, hour, true)
	for _, nested := range []bool{true, false} {
		c, handle := newAttemptContext(parent, hour, nested)
		under, _ := newAttemptContext(outer, hour, false)
		want := any(nil)
		if nested {
			want = true
		}
		check := func(when string) {
			t.Helper()
			if got := c.Value(nestedKey{}); got != want {
				t.Errorf("%s: nested flag = %v, want %v", when, got, want)
			}
			if got := under.Value(nestedKey{}); got != true {
				t.Errorf("%s: nested flag of the outer attempt = %v, want true", when, got)
			}
			if got := c.Value(contextValueKey{}); got != "v" {
				t.Errorf("%s: value = %v, want v", when, got)
			}
		}
		check("unarmed")
		c.Done()
		under.Done()
		check("armed")
		handle.finish()
		check("finished after arming")
		c, handle = newAttemptContext(parent, hour, nested)
		handle.finish()
		check("finished unarmed")
		c, _ = newAttemptContext(parent, clock(), nested)
		c.Err()
		check("timed out unarmed")
	}
}

func TestAttemptContextString(t *testing.T) {
	c := attemptUntil(t.Context(), time.Unix(0, 0).UTC())
	const want = "ration.attempt(until 1970-01-01T00:00:00Z)"
	if got := fmt.Sprint(c); got != want {
		t.Errorf("Sprint = %q, want %q", got, want)
	}
}

// Deriving from the context starts no goroutine: package context finds the
// standard context inside.
func TestAttemptContextNoGoroutines(t *testing.T) {
	parent, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := attemptUntil(parent, time.Now().Add(time.Hour))
	defer c.finish()
	before := runtime.NumGoroutine()
	for range 100 {
		k := deriveAll(c)
		defer k.cancel()
	}
	if got := runtime.NumGoroutine(); got > before {
		t.Errorf("%d goroutines after deriving, %d before", got, before)
	}
}

// askedContext counts how often package context has looked for its parent, which
// a timer that fires does to take its context off the parent's list.
type askedContext struct {
	context.Context
	asked   int
	onFirst func()
}

func (c *askedContext) Done() <-chan struct{} {
	c.asked++
	if c.asked == 1 && c.onFirst != nil {
		c.onFirst()
	}
	return c.Context.Done()
}

func TestAttemptContextStopsItsTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bubble, cancel := context.WithCancel(t.Context())
		defer cancel()
		parent := &askedContext{Context: bubble}
		c := attemptUntil(parent, time.Now().Add(time.Hour))
		_ = c.Err()
		if parent.asked != 0 {
			t.Error("armed before anybody waited")
		}
		c.Done()
		c.finish()
		before := parent.asked
		time.Sleep(2 * time.Hour)
		if parent.asked != before {
			t.Error("the timer fired after finish")
		}
	})
}

// The parent is the caller's code and may call back while it is asked for its
// channel: no lock is held, what it does counts, and the timer made meanwhile is
// stopped.
func TestAttemptContextReentrantParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bubble, cancel := context.WithCancel(t.Context())
		defer cancel()
		parent := &askedContext{Context: bubble}
		c := attemptUntil(parent, time.Now().Add(time.Hour))
		parent.onFirst = c.finish
		checkDone(t, "finished while arming", c, byFinish)
		checkEnding(t, "finished while arming", c, byFinish)
		before := parent.asked
		time.Sleep(2 * time.Hour)
		if parent.asked != before {
			t.Error("the timer fired after finish")
		}
	})
}

// Whatever happens at once, an error that has been told stays, goes with a
// closed channel and with its cause, and everybody is given the same channel.
func TestAttemptContextConcurrent(t *testing.T) {
	for round := range 2000 {
		parent, cancel := context.WithCancelCause(t.Context())
		timeout := time.Duration(rand.IntN(20)) * time.Microsecond
		c := attemptUntil(parent, time.Now().Add(timeout))
		var wg sync.WaitGroup
		start := make(chan struct{})
		dones := make([]<-chan struct{}, 4)
		for i := range dones {
			wg.Go(func() {
				<-start
				dones[i] = useAttemptContext(t, c, i+round)
			})
		}
		wg.Go(func() {
			<-start
			if round%3 == 0 {
				cancel(errParentEnded)
			}
			verdict := c.timedOut()
			c.finish()
			if again := c.timedOut(); verdict && !again {
				t.Error("timedOut went from true to false")
			}
		})
		close(start)
		wg.Wait()
		cancel(nil)
		<-c.Done()
		for _, d := range dones {
			if d != nil && d != c.Done() {
				t.Error("Done gave two channels")
			}
		}
	}
}

// useAttemptContext does what callbacks do, in an order that depends on n.
func useAttemptContext(t *testing.T, c *attemptContext, n int) (done <-chan struct{}) {
	var told error
	for i := range 20 {
		switch (i + n) % 5 {
		case 0:
			if n%2 == 0 {
				done = c.Done()
			}
		case 1:
			child, cancel := context.WithCancel(c)
			if told != nil && child.Err() != told {
				t.Errorf("child Err = %v after %v", child.Err(), told)
			}
			cancel()
		case 2:
			c.Value(nestedKey{})
			_ = c.String()
		default:
			err := c.Err()
			if told != nil && err != told {
				t.Errorf("Err = %v after %v", err, told)
			}
			told = err
		}
		if told != nil {
			checkTold(t, c, told)
		}
	}
	return done
}

func checkTold(t *testing.T, c *attemptContext, told error) {
	select {
	case <-c.Done():
	default:
		t.Errorf("Err = %v, and Done is open", told)
	}
	switch got := (ending{told, context.Cause(c)}); got {
	case byTimeout, byParent, byFinish:
	default:
		t.Errorf("Err, Cause = %v", got)
	}
	if c.timedOut() != (told == context.DeadlineExceeded) {
		t.Errorf("Err = %v, timedOut = %t", told, c.timedOut())
	}
}

// A call without bounds has no context of its own to end.
func TestAttemptContextNil(t *testing.T) {
	var c *attemptContext
	c.finish()
	if c.timedOut() {
		t.Error("timedOut = true without a deadline")
	}
}

func TestAttemptContextSize(t *testing.T) {
	if got := max(unsafe.Sizeof(attemptContext{}), unsafe.Sizeof(singleAttempt{})); got > 32 {
		t.Errorf("%d bytes, want at most 32, the size class that the comment names", got)
	}
}

func TestAttemptContextAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	parent, cancel := context.WithCancel(t.Context())
	defer cancel()
	until := time.Now().Add(time.Hour)
	for _, tc := range []struct {
		name string
		want float64
		use  func(c *attemptContext)
	}{
		{"ignored", 1, func(*attemptContext) {}},
		{"Err", 1, func(c *attemptContext) { _ = c.Err() }},
		{"Deadline", 1, func(c *attemptContext) { c.Deadline() }},
		{"Value", 1, func(c *attemptContext) { c.Value(nestedKey{}) }},
		{"timedOut", 1, func(c *attemptContext) { c.timedOut() }},
		{"all after finish", 1, func(c *attemptContext) {
			c.finish()
			<-c.Done()
			_ = context.Cause(c)
			c.Value(contextValueKey{})
		}},
		{"Done", 7, func(c *attemptContext) { c.Done() }}, // context.WithDeadline: 5
	} {
		got := testing.AllocsPerRun(100, func() {
			c := attemptUntil(parent, until)
			tc.use(c)
			c.finish()
		})
		if got > tc.want {
			t.Errorf("%s: %v allocations, want at most %v", tc.name, got, tc.want)
		}
	}
}
