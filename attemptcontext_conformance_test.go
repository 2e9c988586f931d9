package ration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var (
	errParentEnded = errors.New("shutting down")
	errParentLate  = errors.New("call took too long")
)

type makeContext func(parent context.Context, until time.Time) (ctx context.Context, end func())

// contextKinds are what the conformance table runs against: the standard library
// is the specification, and a table that it fails is wrong.
var contextKinds = []struct {
	name string
	make makeContext
}{
	{"standard", func(parent context.Context, until time.Time) (context.Context, func()) {
		return context.WithDeadlineCause(parent, until, ErrAttemptTimeout)
	}},
	{"lazy", func(parent context.Context, until time.Time) (context.Context, func()) {
		ctx, c := newAttemptContext(parent, instantOf(until), false)
		return ctx, c.finish
	}},
}

// foreignContext is a context of the caller's own making: package context cannot
// see through it, and its Err and Done are ordinary code.
type foreignContext struct {
	context.Context
	done chan struct{}
	mu   sync.Mutex
	err  error
}

func (c *foreignContext) Done() <-chan struct{} { return c.done }

func (c *foreignContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *foreignContext) cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = context.Canceled
		close(c.done)
	}
}

// parentKinds make the caller's context; the function ends it.
var parentKinds = map[string]func(bubble context.Context) (context.Context, func()){
	"": func(bubble context.Context) (context.Context, func()) {
		ctx, cancel := context.WithCancelCause(bubble)
		return ctx, func() { cancel(errParentEnded) }
	},
	"with a deadline after 2s": func(bubble context.Context) (context.Context, func()) {
		return context.WithDeadlineCause(bubble, time.Now().Add(2*time.Second), errParentLate)
	},
	"foreign": func(bubble context.Context) (context.Context, func()) {
		c := &foreignContext{Context: bubble, done: make(chan struct{})}
		return c, c.cancel
	},
	"attempt of an outer call": func(bubble context.Context) (context.Context, func()) {
		c := attemptUntil(bubble, time.Now().Add(2*time.Second))
		return c, c.finish
	},
}

// ending is what a context tells: a nil error for "not ended".
type ending struct{ err, cause error }

var (
	stillRunning      = ending{}
	byTimeout         = ending{context.DeadlineExceeded, ErrAttemptTimeout}
	byParentsDeadline = ending{context.DeadlineExceeded, errParentLate}
	byParent          = ending{context.Canceled, errParentEnded}
	byFinish          = ending{context.Canceled, context.Canceled}
)

type contextStep struct {
	at   time.Duration
	op   string // "", "end parent" or "finish"
	want ending
}

type contextCase struct {
	name          string
	parent        string // one of parentKinds
	until         time.Duration
	outerTimesOut bool // the timeout is not ours
	steps         []contextStep
}

var contextCases = []contextCase{
	{"deadline passes", "", time.Second, false, []contextStep{
		{0, "", stillRunning},
		{time.Second - 1, "", stillRunning},
		{time.Second, "", byTimeout},
		{2 * time.Second, "end parent", byTimeout},
		{3 * time.Second, "finish", byTimeout},
	}},
	{"deadline passed at the start", "", -time.Second, false, []contextStep{
		{0, "", byTimeout},
		{0, "end parent", byTimeout},
		{0, "finish", byTimeout},
	}},
	{"deadline of zero", "", 0, false, []contextStep{
		{0, "", byTimeout},
		{0, "finish", byTimeout},
	}},
	{"parent ends", "", time.Second, false, []contextStep{
		{0, "", stillRunning},
		{500 * time.Millisecond, "end parent", byParent},
		{2 * time.Second, "", byParent},
		{3 * time.Second, "finish", byParent},
	}},
	{"parent ends, first look after finish", "", time.Second, false, []contextStep{
		{0, "end parent then finish", byParent},
		{2 * time.Second, "", byParent},
	}},
	{"finish", "", time.Second, false, []contextStep{
		{0, "", stillRunning},
		{500 * time.Millisecond, "finish", byFinish},
		{2 * time.Second, "end parent", byFinish},
		{3 * time.Second, "finish", byFinish},
	}},
	{"parent's deadline is earlier", "with a deadline after 2s", 3 * time.Second, false, []contextStep{
		{2*time.Second - 1, "", stillRunning},
		{2 * time.Second, "", byParentsDeadline},
		{3 * time.Second, "", byParentsDeadline},
		{4 * time.Second, "finish", byParentsDeadline},
	}},
	{"parent's deadline is later", "with a deadline after 2s", time.Second, false, []contextStep{
		{time.Second - 1, "", stillRunning},
		{time.Second, "", byTimeout},
		{2 * time.Second, "", byTimeout},
		{3 * time.Second, "finish", byTimeout},
	}},
	{"foreign parent ends", "foreign", time.Second, false, []contextStep{
		{0, "", stillRunning},
		{500 * time.Millisecond, "end parent", byFinish},
		{2 * time.Second, "finish", byFinish},
	}},
	{"deadline under a foreign parent", "foreign", time.Second, false, []contextStep{
		{0, "", stillRunning},
		{time.Second, "", byTimeout},
		{2 * time.Second, "end parent", byTimeout},
	}},
	{"finish under a foreign parent", "foreign", time.Second, false, []contextStep{
		{0, "finish", byFinish},
		{time.Second, "end parent", byFinish},
	}},
	{"outer attempt times out", "attempt of an outer call", 3 * time.Second, true, []contextStep{
		{2*time.Second - 1, "", stillRunning},
		{2 * time.Second, "", byTimeout},
		{3 * time.Second, "finish", byTimeout},
	}},
	{"outer attempt finishes", "attempt of an outer call", time.Second, false, []contextStep{
		{500 * time.Millisecond, "end parent", byFinish},
		{time.Second, "", byFinish},
	}},
	{"inner attempt times out", "attempt of an outer call", time.Second, false, []contextStep{
		{time.Second, "", byTimeout},
		{2 * time.Second, "", byTimeout},
	}},
}

// TestAttemptContextConformance steps the standard context and ours through the
// same table. Polled contexts are asked for Err and Cause alone, so that ours
// stays unarmed; watched ones have been asked for Done first; derived ones have
// children instead.
func TestAttemptContextConformance(t *testing.T) {
	for _, tc := range contextCases {
		for _, kind := range contextKinds {
			for _, mode := range []string{"polled", "watched", "derived"} {
				t.Run(tc.name+"/"+kind.name+"/"+mode, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { tc.run(t, kind.make, mode) })
				})
			}
		}
	}
}

// run steps one context through the case.
//
// sleep: called in bubbles only
func (tc contextCase) run(t *testing.T, kind makeContext, mode string) {
	start := time.Now()
	parent, endParent := parentKinds[tc.parent](t.Context())
	defer endParent()
	ctx, finish := kind(parent, start.Add(tc.until))
	defer finish()
	checkDeadline(t, ctx, parent, start.Add(tc.until))
	var derived *derivedContexts
	switch mode {
	case "watched":
		ctx.Done()
	case "derived":
		derived = deriveAll(ctx)
		defer derived.cancel()
	}
	for _, s := range tc.steps {
		time.Sleep(time.Until(start.Add(s.at)))
		if strings.Contains(s.op, "end parent") {
			endParent()
		}
		if strings.Contains(s.op, "finish") {
			finish()
		}
		synctest.Wait()
		name := fmt.Sprintf("%v %s", s.at, s.op)
		checkEnding(t, name, ctx, s.want)
		checkTimedOut(t, name, ctx, s.want == byTimeout && !tc.outerTimesOut)
		if mode != "polled" {
			checkDone(t, name, ctx, s.want)
		}
		if derived != nil {
			derived.check(t, name, s.want)
		}
	}
	last := tc.steps[len(tc.steps)-1].want
	late := deriveAll(ctx)
	defer late.cancel()
	synctest.Wait()
	checkDone(t, "at the end", ctx, last)
	late.check(t, "derived at the end", last)
	checkEnding(t, "at the end", ctx, last)
}

// checkTimedOut has nothing to ask of the standard context.
func checkTimedOut(t *testing.T, name string, ctx context.Context, want bool) {
	t.Helper()
	if c, ok := ctx.(*attemptContext); ok && c.timedOut() != want {
		t.Errorf("%s: timedOut = %t, want %t", name, !want, want)
	}
}

func checkDeadline(t *testing.T, ctx, parent context.Context, until time.Time) {
	t.Helper()
	if d, ok := parent.Deadline(); ok && d.Before(until) {
		until = d
	}
	if got, ok := ctx.Deadline(); !ok || !got.Equal(until) {
		t.Errorf("Deadline = %v, %t, want %v, true", got, ok, until)
	}
}

func checkEnding(t *testing.T, name string, ctx context.Context, want ending) {
	t.Helper()
	for range 2 { // successive answers are the same
		if got := (ending{ctx.Err(), context.Cause(ctx)}); got != want {
			t.Errorf("%s: Err, Cause = %v, want %v", name, got, want)
		}
	}
}

func checkDone(t *testing.T, name string, ctx context.Context, want ending) {
	t.Helper()
	closed := false
	select {
	case <-ctx.Done():
		closed = true
	default:
	}
	if closed != (want.err != nil) {
		t.Errorf("%s: Done closed = %t, want %t", name, closed, want.err != nil)
	}
}

// derivedContexts are contexts derived in every way that the standard library has.
type derivedContexts struct {
	follow  map[string]context.Context // end with their parent
	free    context.Context            // does not
	ran     atomic.Bool                // by AfterFunc
	cancels []func()
}

type contextValueKey struct{}

func deriveAll(ctx context.Context) *derivedContexts {
	k := &derivedContexts{follow: map[string]context.Context{}}
	canceled, cancel1 := context.WithCancel(ctx)
	timed, cancel2 := context.WithTimeout(ctx, time.Hour)
	deeper, cancel3 := context.WithCancel(context.WithValue(ctx, contextValueKey{}, "v"))
	k.follow["WithCancel"] = canceled
	k.follow["WithTimeout"] = timed
	k.follow["WithValue"] = context.WithValue(ctx, contextValueKey{}, "v")
	k.follow["WithValue+WithCancel"] = deeper
	k.free = context.WithoutCancel(ctx)
	stop := context.AfterFunc(ctx, func() { k.ran.Store(true) })
	k.cancels = []func(){cancel1, cancel2, cancel3, func() { stop() }}
	return k
}

func (k *derivedContexts) check(t *testing.T, name string, want ending) {
	t.Helper()
	for kind, ctx := range k.follow {
		checkEnding(t, name+": "+kind, ctx, want)
		checkDone(t, name+": "+kind, ctx, want)
	}
	checkEnding(t, name+": WithoutCancel", k.free, stillRunning)
	if got := k.ran.Load(); got != (want.err != nil) {
		t.Errorf("%s: AfterFunc ran = %t, want %t", name, got, want.err != nil)
	}
}

func (k *derivedContexts) cancel() {
	for _, cancel := range k.cancels {
		cancel()
	}
}
