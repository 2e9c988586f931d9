package rationgrpc

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/ration-go/ration"
)

// An Interceptor puts the calls of a client connection under a policy. It holds
// the live state (a budget, a breaker and estimates for each service), so keep
// one for each connection or dependency; one made per call protects nothing. It
// is safe for concurrent use, also by several connections to one dependency.
type Interceptor struct{ config }

// New returns an interceptor for p. A policy without breaker settings gets a
// default breaker for each service; [ration.NoBreaker] is how to have none. A
// policy's Classify is asked after the status codes, as the package comment
// says. The error lists everything that is wrong with the policy, as a
// [*ration.ConfigError], and with the options.
func New(p ration.Policy, opts ...Option) (*Interceptor, error) {
	i := &Interceptor{newConfig(opts)}
	errs := i.problems
	if i.executor == nil {
		if p.Breaker == nil {
			p.Breaker = &ration.BreakerSettings{}
		}
		var err error
		if i.executor, err = ration.New(p); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return i, nil
}

// Executor returns the executor behind i, the place to change the policy while
// it runs. Its Keys are the services called. The breaker that [New] adds is part
// of its Policy: start from that, and nothing is lost.
func (i *Interceptor) Executor() *ration.Executor { return i.executor }

// DialOptions returns what [grpc.NewClient] needs. The interceptors are chained
// after any given before them, and see what those let through; those given after
// them run within each attempt.
func (i *Interceptor) DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(i.Unary()),
		grpc.WithChainStreamInterceptor(i.Stream()),
	}
}

// Unary returns the interceptor for unary calls. It is safe for concurrent use.
func (i *Interceptor) Unary() grpc.UnaryClientInterceptor {
	return func(
		ctx context.Context, method string, req, reply any, conn *grpc.ClientConn,
		invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		c := &unaryCall{
			method: method, req: req, reply: reply, conn: conn, invoke: invoke,
		}
		c.call = i.begin(ctx, method, true)
		c.opts = slices.Clip(append(append(c.fewOpts[:0], opts...), grpc.Trailer(&c.trailer)))
		_, err := ration.Do(c.ctx, c.executor, c.attempt)
		return final(err)
	}
}

// A unaryCall is one call on its way through the executor.
type unaryCall struct {
	call
	method     string
	req, reply any
	conn       *grpc.ClientConn
	invoke     grpc.UnaryInvoker

	trailer metadata.MD        // of the latest attempt
	fewOpts [4]grpc.CallOption // the room for most calls' options, ours included
}

// attempt makes one attempt. The reply is its value, for a policy whose Classify
// looks into answers.
func (c *unaryCall) attempt(ctx context.Context) (any, error) {
	out := c.next(ctx)
	err := c.invoke(out, c.method, c.req, c.reply, c.conn, c.opts...)
	return c.reply, c.i.judge(ctx, c.reply, err, c.trailer)
}

// A call is what all attempts of one call have in common. It belongs to the
// goroutine that makes them.
type call struct {
	i        *Interceptor
	executor *ration.Executor
	ctx      context.Context // the caller's
	marks    marks
	opts     []grpc.CallOption
	n        int // attempts begun
}

// begin decides everything that holds for all attempts of a call. repeats says
// whether there can be more than one.
func (i *Interceptor) begin(ctx context.Context, method string, repeats bool) call {
	c := call{i: i, executor: i.executor, ctx: ctx}
	if key := i.scope(method); key != "" {
		c.executor = c.executor.For(key)
	}
	repeats = repeats && !i.single && !isSingleShot(ctx) && i.repeatable(method)
	if !repeats {
		c.executor = c.executor.Once()
	}
	c.marks.retrying = repeats && i.executor.Policy().Attempts > 1
	if i.criticality {
		c.marks.criticality = ration.CriticalityOf(ctx).String()
	}
	if c.marks.none() {
		return c
	}
	c.marks.carried, _ = metadata.FromOutgoingContext(ctx)
	if c.marks.retrying && marked(c.marks.carried) && !ration.IsNestedRetry(ctx) {
		c.ctx = ration.WithNestedRetry(ctx) // a proxy hands on what it was sent
	}
	return c
}

// next begins an attempt that ctx bounds, and returns the context for it.
func (c *call) next(ctx context.Context) context.Context {
	c.n++
	if c.n > 1 {
		forget(c.opts)
	}
	return c.marks.outgoing(ctx, c.n)
}

// forget clears what an earlier attempt has left with the caller. gRPC fills
// these in only when an attempt got as far as having a stream, and the caller is
// to see the last attempt or nothing.
func forget(opts []grpc.CallOption) {
	for _, o := range opts {
		switch o := o.(type) {
		case grpc.HeaderCallOption:
			*o.HeaderAddr = nil
		case grpc.TrailerCallOption:
			*o.TrailerAddr = nil
		case grpc.PeerCallOption:
			*o.PeerAddr = peer.Peer{}
		}
	}
}
