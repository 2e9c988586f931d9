package rationgrpc

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/ration-go/ration"
)

// Stream returns the interceptor for streams.
func (i *Interceptor) Stream() grpc.StreamClientInterceptor {
	return func(
		ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string,
		open grpc.Streamer, opts ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		ctx = nested(ctx)
		e, m := i.begin(ctx, method)
		dial := func(ctx context.Context, n int) (grpc.ClientStream, error) {
			return open(m.outgoing(ctx, n), desc, conn, method, opts...)
		}
		if desc.ServerStreams && !desc.ClientStreams {
			return &serverStream{i: i, e: e, ctx: ctx, retrying: m.retrying, dial: dial}, nil
		}
		m.retrying = false
		return i.watch(ctx, e.Once(), dial)
	}
}

// A serverStream is a call with one request and many responses. Nothing is sent
// until the first response is asked for, and until it has arrived the call can
// be made again: that is the attempt. Once it has, the stream of that attempt is
// the stream, and every method passes through to it.
type serverStream struct {
	i        *Interceptor
	e        *ration.Executor
	ctx      context.Context
	retrying bool
	dial     func(context.Context, int) (grpc.ClientStream, error)

	request any
	settle  sync.Once

	// Of the last attempt, once settled.
	stream grpc.ClientStream // nil if none was opened
	cancel context.CancelCauseFunc
	ended  error // how the stream ended if that was before, or in place of, a message
}

// SendMsg keeps the request. gRPC forbids changing a message after sending it,
// so keeping it is safe.
func (s *serverStream) SendMsg(m any) error {
	s.request = m
	return nil
}

// CloseSend does nothing: there is only ever one request.
func (s *serverStream) CloseSend() error { return nil }

// RecvMsg makes the attempts when called for the first time.
func (s *serverStream) RecvMsg(m any) error {
	received := false
	s.settle.Do(func() {
		received = true
		s.attempt(func(stream grpc.ClientStream) error { return stream.RecvMsg(m) })
	})
	if received || s.ended != nil {
		return s.ended
	}
	err := s.stream.RecvMsg(m)
	if err != nil {
		s.cancel(nil)
	}
	return err
}

// Header waits for the header. Called before the first RecvMsg it ends the
// attempts with the header instead of the first message, since the caller then
// has seen something of this stream.
func (s *serverStream) Header() (metadata.MD, error) {
	s.settle.Do(func() {
		s.attempt(func(stream grpc.ClientStream) error {
			_, err := stream.Header()
			return err
		})
	})
	if s.stream == nil {
		return nil, s.ended
	}
	return s.stream.Header()
}

// Trailer is only called once the stream has ended, so it never begins one.
func (s *serverStream) Trailer() metadata.MD {
	if s.stream == nil {
		return nil
	}
	return s.stream.Trailer()
}

// Context is the caller's until there is a stream.
func (s *serverStream) Context() context.Context {
	if s.stream == nil {
		return s.ctx
	}
	return s.stream.Context()
}

// attempt makes attempts until one of them begins to answer.
func (s *serverStream) attempt(begin func(grpc.ClientStream) error) {
	n := 0
	err := s.e.Run(s.ctx, func(bounded context.Context) error {
		n++
		return s.try(bounded, n, begin)
	})
	if err != nil {
		s.ended = final(err)
	}
}

// try makes one attempt. The stream lives on the caller's context and not on the
// attempt's: that one ends when the attempt does, which is when the first
// message arrives. Until then the attempt's end is passed on to the stream.
func (s *serverStream) try(
	bounded context.Context, n int, begin func(grpc.ClientStream) error,
) error {
	ctx := s.ctx
	if s.retrying {
		ctx = ration.WithNestedRetry(ctx)
	}
	ctx, s.cancel = context.WithCancelCause(ctx)
	cut := context.AfterFunc(bounded, func() { s.cancel(context.Cause(bounded)) })

	err := s.open(ctx, n)
	if err == nil {
		err = begin(s.stream)
	}
	alive := cut()
	if errors.Is(err, io.EOF) || err == nil && alive {
		s.ended = err
		return nil
	}
	s.cancel(nil)
	if !alive && s.ctx.Err() == nil {
		err = status.Error(codes.DeadlineExceeded, context.Cause(bounded).Error())
	}
	return s.i.judge(bounded, err, s.Trailer())
}

func (s *serverStream) open(ctx context.Context, n int) (err error) {
	s.stream, err = s.dial(ctx, n)
	if err != nil {
		s.stream = nil
		return err
	}
	// io.EOF means that the stream has ended and RecvMsg will say how.
	if err := s.stream.SendMsg(s.request); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return s.stream.CloseSend()
}
