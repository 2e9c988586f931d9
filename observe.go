package ration

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// observers are the process-wide listeners. The list is replaced as a whole, so
// that a call reads it with one atomic load and no lock; it is nil while there
// are none.
var observers struct {
	sync.Mutex
	list atomic.Pointer[[]*observer]
}

// An observer is one listener given to Observe.
type observer struct {
	notify func(context.Context, *Executor, Event)
	failed atomic.Bool
}

// Observe has fn receive every [Event] of every executor in the process, also of
// those that do not exist yet and of libraries that use Ration within, until
// stop is called. It is how telemetry attaches; the code that owns a policy
// wants its OnEvent instead, which is told first.
//
// ctx is the context that the caller gave the call, from which fn may take the
// current span; e is the executor of the call, that of its key if it has one. fn
// runs on the goroutine of the call, outside every lock, and holds the call up
// while it runs. It must be safe for concurrent use. A panic in it is isolated. It
// hears of the calls that it makes itself, and would answer each with another
// until the stack is full: what it sends, it sends by an executor that is Unlisted.
//
// A call is observed if it begins after Observe and before stop, and then to its
// end: fn may be called a while after stop. While nobody observes, a call pays
// for one atomic load. Executors that are Unlisted are not observed.
func Observe(fn func(ctx context.Context, e *Executor, ev Event)) (stop func()) {
	o := &observer{notify: fn}
	change(func(list []*observer) []*observer { return append(list, o) })
	return sync.OnceFunc(func() {
		change(func(list []*observer) []*observer {
			return slices.DeleteFunc(list, func(x *observer) bool { return x == o })
		})
	})
}

// change replaces the list by a changed copy.
func change(f func([]*observer) []*observer) {
	observers.Lock()
	defer observers.Unlock()
	var list []*observer
	if old := observers.list.Load(); old != nil {
		list = slices.Clone(*old)
	}
	if list = f(list); len(list) == 0 {
		observers.list.Store(nil)
		return
	}
	observers.list.Store(&list)
}
