package rationgrpc

import (
	"context"
	"errors"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/ration-go/ration"
)

// A ServerOption changes the server side. A nil ServerOption is ignored.
type ServerOption interface{ applyServer(*serverConfig) }

type serverConfig struct {
	breakLoops     bool
	criticalityOff bool
}

type serverOption func(*serverConfig)

func (o serverOption) applyServer(c *serverConfig) { o(c) }

// BreakLoops tells callers that retry not to, when this server's own retries for
// the call were spent or refused: the failure then carries the trailer
// grpc-retry-pushback-ms: -1, which every gRPC client obeys. Without it, a chain
// in which every hop retries sends up to about 1 + depth × fraction to its
// bottom; with it, about 1 + fraction at any depth.
func BreakLoops() ServerOption {
	return serverOption(func(c *serverConfig) { c.breakLoops = true })
}

// IgnoreCriticality does not believe callers about how critical their calls are.
func IgnoreCriticality() ServerOption {
	return serverOption(func(c *serverConfig) { c.criticalityOff = true })
}

// ServerOptions returns the options for [grpc.NewServer] that publish what callers
// say: the retry marker, so that calls made while serving report nested retries,
// and the criticality, where CriticalPlus becomes Critical. Deadlines gRPC carries
// by itself. What cannot be read counts as not said. A [*ration.Error] that a
// handler returns becomes a status: Canceled or DeadlineExceeded if that is how
// the call ended, and otherwise the code of the failure that was not retried, with
// a google.rpc.RetryInfo if it is known when to come back. Interceptors given
// before these run around them.
func ServerOptions(opts ...ServerOption) []grpc.ServerOption {
	c := &serverConfig{}
	for _, o := range opts {
		if o != nil {
			o.applyServer(c)
		}
	}
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(c.unary),
		grpc.ChainStreamInterceptor(c.stream),
	}
}

func (c *serverConfig) unary(
	ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
) (any, error) {
	ctx, gaveUp := c.inbound(ctx, info.FullMethod)
	resp, err := handle(ctx, req)
	if err != nil && gaveUp.Marked() {
		// It fails only outside of a call, which this is not.
		_ = grpc.SetTrailer(ctx, metadata.Pairs(pushbackKey, "-1"))
	}
	return resp, outbound(err)
}

func (c *serverConfig) stream(
	srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler,
) error {
	ctx, gaveUp := c.inbound(stream.Context(), info.FullMethod)
	err := handle(srv, &inboundStream{ServerStream: stream, ctx: ctx})
	if err != nil && gaveUp.Marked() {
		stream.SetTrailer(metadata.Pairs(pushbackKey, "-1"))
	}
	return outbound(err)
}

// inboundStream is a stream whose context carries what the caller said.
type inboundStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *inboundStream) Context() context.Context { return s.ctx }

// inbound publishes what the caller said. The GiveUp is nil unless the caller
// retries and loops are to be broken.
func (c *serverConfig) inbound(
	ctx context.Context, method string,
) (context.Context, *ration.GiveUp) {
	var gaveUp *ration.GiveUp
	if isMarker(metadata.ValueFromIncomingContext(ctx, RetryingKey)) {
		ctx = nested(ctx, method)
		if c.breakLoops {
			gaveUp = &ration.GiveUp{}
			ctx = ration.WithGiveUp(ctx, gaveUp)
		}
	}
	if c.criticalityOff {
		return ctx, gaveUp
	}
	if names := metadata.ValueFromIncomingContext(ctx, CriticalityKey); len(names) == 1 {
		if level, ok := ration.ParseCriticality(names[0]); ok {
			// Nobody outside promotes itself past what waits here.
			ctx = ration.WithCriticality(ctx, min(level, ration.Critical))
		}
	}
	return ctx, gaveUp
}

// nested marks ctx as that of a call whose caller retries, and who that is can be
// found out.
func nested(ctx context.Context, method string) context.Context {
	return ration.WithNestedRetryFrom(ctx, func() ration.RetryingCaller {
		c := ration.RetryingCaller{Route: method}
		if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
			c.Peer = p.Addr.String()
			if host, _, err := net.SplitHostPort(c.Peer); err == nil {
				c.Peer = host
			}
		}
		if agents := metadata.ValueFromIncomingContext(ctx, "user-agent"); len(agents) > 0 {
			c.Agent = agents[0]
		}
		return c
	})
}

// outbound gives an [*ration.Error] a status, also within an error that wraps it,
// unless whoever returned it has. The status of the last failure would be found
// in there, and is not how the call ended.
func outbound(err error) error {
	_, isStatus := err.(interface{ GRPCStatus() *status.Status })
	stop, isStop := errors.AsType[*ration.Error](err)
	if isStatus || !isStop {
		return err
	}
	return &stopped{err, stop}
}
