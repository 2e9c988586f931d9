package rationhttp

import (
	"errors"
	"fmt"
	"time"

	"github.com/ration-go/ration"
)

// An Option changes a [Transport]. A nil Option is ignored.
type Option interface{ apply(*config) }

type config struct {
	shared          *ration.Executor
	limit           func() *LimitedError // nil = none
	bodyLimit       int64
	stall           time.Duration // 0 = the attempt timeout
	handOver        bool
	sendDeadline    bool
	sendCriticality bool
	obeyBrokenLoops bool
	problems        []error
}

type option func(*config)

func (o option) apply(c *config) { o(c) }

func newConfig(opts []Option) config {
	c := config{bodyLimit: DefaultBodyLimit}
	for _, o := range opts {
		if o != nil {
			o.apply(&c)
		}
	}
	return c
}

// problem is an option that only reports what is wrong with it.
func problem(text string) Option {
	return option(func(c *config) {
		c.problems = append(c.problems, errors.New("rationhttp: "+text))
	})
}

// WithExecutor sends requests under an existing executor, whose policy then
// stands in for the one given to [NewTransport]. It adds no breaker that the
// policy does not have. It is how a policy is shared with other code, or
// changed while it runs.
func WithExecutor(e *ration.Executor) Option {
	if e == nil {
		return problem("WithExecutor: no executor")
	}
	return option(func(c *config) { c.shared = e })
}

// WithBodyLimit sets how much of a request body is kept for a retry, in bytes,
// where the request has no GetBody. The default is [DefaultBodyLimit]; 0 keeps
// none. Each request under way may take as much memory. A body whose declared
// length is larger is sent once. One whose length is unknown is kept as far as
// it is sent, and sent again only if all that was sent is kept.
func WithBodyLimit(bytes int64) Option {
	if bytes < 0 {
		return problem(fmt.Sprintf("WithBodyLimit: %d is negative", bytes))
	}
	return option(func(c *config) { c.bodyLimit = bytes })
}

// WithStallTimeout sets how long a read of a response body may wait for the
// next byte. The default is the policy's AttemptTimeout; [ration.NoLimit] is
// for bodies that may be silent for as long as they like, such as event
// streams. The time between reads does not count.
func WithStallTimeout(d time.Duration) Option {
	if d <= 0 && d != ration.NoLimit {
		return problem(fmt.Sprintf("WithStallTimeout: %v is not above 0; NoLimit means none", d))
	}
	return option(func(c *config) { c.stall = d })
}

// WithFailingResponse makes RoundTrip return the last failing response, with
// its body unread, also when the budget, the breaker or the deadline stopped
// the call. By default the caller gets the [*ration.Error], which holds status
// and header. A response can be returned only while nothing has replaced it, so
// that with this option it keeps its connection during the wait before a retry.
func WithFailingResponse() Option {
	return option(func(c *config) { c.handOver = true })
}

// WithDeadlineHeader sends [DeadlineHeader] on each attempt: what is left of
// the attempt's time or the call's, whichever ends first. Without either it is
// not sent.
func WithDeadlineHeader() Option {
	return option(func(c *config) { c.sendDeadline = true })
}

// WithCriticalityHeader sends the level that the context carries, as
// [CriticalityHeader], the same on every attempt.
func WithCriticalityHeader() Option {
	return option(func(c *config) { c.sendCriticality = true })
}

// ObeyBrokenLoops passes a failing response through, without a retry, when it
// says that its sender has spent its own retries on it: the other half of
// [BreakLoops]. If the request is made while serving another one, under a
// context from [Middleware], the word travels on to whoever sent that.
func ObeyBrokenLoops() Option {
	return option(func(c *config) { c.obeyBrokenLoops = true })
}
