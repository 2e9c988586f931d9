package rationgrpc

import (
	"errors"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/ration-go/ration"
)

// An Option changes an [Interceptor]. A nil Option is ignored.
type Option interface{ apply(*config) }

type config struct {
	executor    *ration.Executor
	single      bool // the executor makes one attempt, as one from Once does
	scope       func(method string) string
	repeatable  func(method string) bool
	transient   map[codes.Code]bool
	criticality bool
	problems    []error
}

type option func(*config)

func (o option) apply(c *config) { o(c) }

func newConfig(opts []Option) config {
	c := config{
		scope:      service,
		repeatable: func(string) bool { return true },
	}
	for _, o := range opts {
		if o != nil {
			o.apply(&c)
		}
	}
	return c
}

// service returns the service of a full method name, "/package.Service/Method".
func service(method string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	return name
}

// WithExecutor runs calls on an existing executor, whose policy then stands in
// for the one given to [New]. It adds no breaker that the policy does not have.
// It is how a policy is shared with other code, or changed while it runs. State
// is kept for each service all the same; [WithScope] with nil shares that too.
func WithExecutor(e *ration.Executor) Option {
	return option(func(c *config) {
		if e == nil {
			c.problems = append(c.problems, errors.New("rationgrpc: WithExecutor: no executor"))
			return
		}
		// The policy does not say that e makes one attempt.
		c.executor, c.single = e, e.Once() == e
	})
}

// WithScope keeps state for each value of key(method) instead of for each
// service. A nil key keeps one state for the whole connection.
func WithScope(key func(method string) string) Option {
	return option(func(c *config) {
		c.scope = key
		if key == nil {
			c.scope = func(string) string { return "" }
		}
	})
}

// WithRepeatable says which methods may be retried, by full name such as
// "/package.Service/Method". The default, and what nil means, is all of them: gRPC
// has no method that says of itself that it must not be repeated. One call is
// exempted with [SingleShot].
func WithRepeatable(repeatable func(method string) bool) Option {
	return option(func(c *config) {
		if repeatable != nil {
			c.repeatable = repeatable
		}
	})
}

// WithTransientCodes adds status codes to those that are transient. The usual
// candidate is Aborted, when the server means "run the transaction again";
// DeadlineExceeded is one too, for a server that has deadlines of its own.
func WithTransientCodes(transient ...codes.Code) Option {
	return option(func(c *config) {
		if c.transient == nil {
			c.transient = make(map[codes.Code]bool)
		}
		for _, code := range transient {
			c.transient[code] = true
		}
	})
}

// WithCriticality sends the level that the context carries, as metadata
// x-criticality, the same on every attempt.
func WithCriticality() Option {
	return option(func(c *config) { c.criticality = true })
}
