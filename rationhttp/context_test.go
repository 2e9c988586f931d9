package rationhttp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ration-go/ration"
)

type contextKey struct{}

var errLate = errors.New("late")

// Whatever order things happen in, Done, Err and Cause agree, and what derives
// from the context ends with it.
func TestRequestContext(t *testing.T) {
	errCaller := errors.New("the caller's cause")
	timeout := ration.ErrAttemptTimeout
	for _, tc := range []struct {
		name  string
		act   func(c *requestContext, cancel context.CancelCauseFunc)
		err   error // nil = it lives
		cause error
	}{
		{"lives", func(*requestContext, context.CancelCauseFunc) {}, nil, nil},
		{"waits", func(c *requestContext, _ context.CancelCauseFunc) {
			c.wait(time.Now().Add(time.Second), timeout)
			time.Sleep(time.Second - 1) // sleep: called in a bubble
		}, nil, nil},
		{"waits too long", func(c *requestContext, _ context.CancelCauseFunc) {
			c.wait(time.Now().Add(time.Second), timeout)
			time.Sleep(time.Second) // sleep: called in a bubble
		}, context.DeadlineExceeded, timeout},
		{"has waited", func(c *requestContext, _ context.CancelCauseFunc) {
			c.wait(time.Now().Add(time.Second), timeout)
			c.done()
			time.Sleep(time.Hour) // sleep: called in a bubble
		}, nil, nil},
		{"waits again", func(c *requestContext, _ context.CancelCauseFunc) {
			c.wait(time.Now().Add(time.Second), timeout)
			c.done()
			c.wait(time.Now().Add(time.Minute), errLate)
			time.Sleep(59 * time.Second) // sleep: called in a bubble
		}, nil, nil},
		{"waits too long again", func(c *requestContext, _ context.CancelCauseFunc) {
			c.wait(time.Now().Add(time.Second), timeout)
			c.done()
			c.wait(time.Now().Add(time.Minute), errLate)
			time.Sleep(time.Minute) // sleep: called in a bubble
		}, context.Canceled, errLate},
		{"waits without bound", func(c *requestContext, _ context.CancelCauseFunc) {
			c.wait(time.Time{}, timeout)
			time.Sleep(time.Hour) // sleep: called in a bubble
		}, nil, nil},
		{"ends", func(c *requestContext, _ context.CancelCauseFunc) { c.end(); c.end() },
			context.Canceled, context.Canceled},
		{"ends, then waits", func(c *requestContext, _ context.CancelCauseFunc) {
			c.end()
			c.wait(time.Now().Add(time.Second), timeout)
			time.Sleep(time.Minute) // sleep: called in a bubble
		}, context.Canceled, context.Canceled},
		{"the caller cancels", func(_ *requestContext, cancel context.CancelCauseFunc) {
			cancel(errCaller)
		}, context.Canceled, errCaller},
		{"the caller cancels, then it ends", func(c *requestContext, cancel context.CancelCauseFunc) {
			cancel(errCaller)
			c.end()
		}, context.Canceled, errCaller},
	} {
		for _, armed := range []string{"before", "after", "by value"} {
			t.Run(tc.name+"/"+armed, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					parent, cancel := context.WithCancelCause(context.WithValue(t.Context(), contextKey{}, "v"))
					defer cancel(nil)
					c := &requestContext{Context: parent, nested: true}
					defer c.end()
					if armed == "before" {
						c.Done()
					}
					tc.act(c, cancel)
					synctest.Wait()
					if armed == "by value" && c.Err() != tc.err {
						t.Errorf("unarmed: error %v, want %v", c.Err(), tc.err)
					}
					child, stop := context.WithCancel(c)
					defer stop()
					synctest.Wait()
					for _, x := range []context.Context{c, child} {
						ended := false
						select {
						case <-x.Done():
							ended = true
						default:
						}
						want := tc.err
						if x == child && want == context.DeadlineExceeded {
							want = x.Err() // or Canceled, if it was derived before the end
						}
						if x.Err() != want || ended != (want != nil) || context.Cause(x) != tc.cause {
							t.Errorf("ended %t, error %v, cause %v; want %v, %v",
								ended, x.Err(), context.Cause(x), want, tc.cause)
						}
						if x.Value(contextKey{}) != "v" || !ration.IsNestedRetry(x) {
							t.Error("lost the caller's values or the mark")
						}
					}
				})
			})
		}
	}
}

// It prints without a look at its fields.
func TestRequestContextString(t *testing.T) {
	c := &requestContext{Context: t.Context()}
	if s := fmt.Sprintf("%v %s", c, c); s != "rationhttp.request rationhttp.request" {
		t.Error(s)
	}
}

// Many goroutines arm, look, wait and end at once: they see one channel, and
// nothing is left running.
func TestRequestContextRace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 200 {
			c := &requestContext{Context: t.Context()}
			channels := make([]<-chan struct{}, 4)
			var wg sync.WaitGroup
			for i := range channels {
				wg.Go(func() { channels[i] = c.Done() })
			}
			wg.Go(func() { c.wait(time.Now().Add(time.Nanosecond), errLate) })
			wg.Go(func() { _ = c.Err(); _ = c.Value(contextKey{}) })
			wg.Go(func() { c.done() })
			wg.Go(c.end)
			wg.Wait()
			for _, ch := range channels {
				if ch != channels[0] {
					t.Fatal("two channels")
				}
				<-ch
			}
		}
	})
}
