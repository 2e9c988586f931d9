package rationgrpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/ration-go/ration"
)

// An Interceptor puts the calls of a client connection under a policy. It holds
// the live state (a budget, a breaker and estimates for each service), so keep
// one for each connection or dependency; one made per call protects nothing. It
// is safe for concurrent use, also by several connections to one dependency.
type Interceptor struct{ config }

// New returns an interceptor for p. A policy without breaker settings gets a
// default breaker for each service; [ration.NoBreaker] turns it off. A policy's
// Classify replaces the reading of status codes described in the package
// comment. The error is a [*ration.ConfigError].
func New(p ration.Policy, opts ...Option) (*Interceptor, error) {
	i := &Interceptor{newConfig(opts)}
	if i.executor != nil {
		return i, nil
	}
	if p.Breaker == nil {
		p.Breaker = &ration.BreakerSettings{}
	}
	e, err := ration.New(p)
	if err != nil {
		return nil, err
	}
	i.executor = e
	return i, nil
}

// Executor returns the executor behind i. Its Keys are the services called.
func (i *Interceptor) Executor() *ration.Executor { return i.executor }

// DialOptions returns what grpc.NewClient needs. The interceptors are chained
// after any given before them, and see what those let through.
func (i *Interceptor) DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(i.Unary()),
		grpc.WithChainStreamInterceptor(i.Stream()),
	}
}

// Unary returns the interceptor for unary calls.
func (i *Interceptor) Unary() grpc.UnaryClientInterceptor {
	return func(
		ctx context.Context, method string, req, reply any, conn *grpc.ClientConn,
		invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		ctx = nested(ctx)
		e, m := i.begin(ctx, method)
		n := 0
		err := e.Run(ctx, func(ctx context.Context) error {
			n++
			var trailer metadata.MD
			err := invoke(m.outgoing(ctx, n), method, req, reply, conn,
				append(opts[:len(opts):len(opts)], grpc.Trailer(&trailer))...)
			return i.judge(ctx, err, trailer)
		})
		return final(err)
	}
}

// begin returns the executor for one call, and what the call tells its server.
func (i *Interceptor) begin(ctx context.Context, method string) (*ration.Executor, marks) {
	e := i.executor
	if key := i.scope(method); key != "" {
		e = e.For(key)
	}
	m := marks{retrying: i.executor.Policy().Attempts > 1}
	if isSingleShot(ctx) || !i.repeatable(method) {
		e, m.retrying = e.Once(), false
	}
	if i.criticality {
		m.criticality = ration.CriticalityOf(ctx).String()
	}
	return e, m
}
