package rationgrpc

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/ration-go/ration"
)

// Stream returns the interceptor for streams. It is safe for concurrent use.
func (i *Interceptor) Stream() grpc.StreamClientInterceptor {
	return func(
		ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string,
		streamer grpc.Streamer, opts ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		repeats := desc.ServerStreams && !desc.ClientStreams
		c := i.begin(ctx, method, repeats)
		c.opts = opts
		open := func(ctx context.Context) (grpc.ClientStream, error) {
			return streamer(ctx, desc, conn, method, opts...)
		}
		if repeats {
			return newServerStream(c, open), nil
		}
		return watch(c, open)
	}
}

// A serverStream is a call with one request and many responses. Nothing is sent
// until the first response is asked for, and until it has arrived the call can
// be made again: that is the attempt. Once it has, the stream of that attempt is
// the stream, and every method passes through to it.
//
// To begin on SendMsg instead would let streams that are opened one after another
// begin side by side. But the time until somebody asks would then be part of the
// attempt, and a slow reader would be taken for a slow server.
//
// One goroutine may send while another receives. The attempts are made by the
// first that receives or wants the header; others that do wait for it.
type serverStream struct {
	call
	open func(context.Context) (grpc.ClientStream, error)

	sent    atomic.Bool   // SendMsg or CloseSend was called
	asked   chan struct{} // closed once request is final
	request []any         // what is to be sent: one message, or none
	settles atomic.Bool   // somebody makes the attempts, or has
	settled chan struct{} // closed once they are made

	// Of the last attempt, once settled.
	stream grpc.ClientStream       // nil if none was opened
	cancel context.CancelCauseFunc // nil unless the stream has begun to answer
	eof    bool                    // it ended without a message
	ended  error                   // what the first RecvMsg returned, if not nil
}

// errUnsettled is what a stream ends with whose attempts ended in a panic.
var errUnsettled = status.Error(codes.Internal, "rationgrpc: the attempts ended in a panic")

func newServerStream(
	c call, open func(context.Context) (grpc.ClientStream, error),
) *serverStream {
	return &serverStream{
		call:    c,
		open:    open,
		asked:   make(chan struct{}),
		settled: make(chan struct{}),
	}
}

// SendMsg keeps the request. gRPC forbids changing a message after sending it,
// so keeping it is safe.
func (s *serverStream) SendMsg(m any) error {
	if s.sent.Swap(true) {
		return status.Error(codes.Internal, "rationgrpc: SendMsg called after CloseSend")
	}
	s.request = []any{m}
	close(s.asked)
	return nil
}

// CloseSend has nothing to do after SendMsg, since there is only ever one
// request. Without one the server is to be the judge of that.
func (s *serverStream) CloseSend() error {
	if !s.sent.Swap(true) {
		close(s.asked)
	}
	return nil
}

// RecvMsg makes the attempts when called for the first time.
func (s *serverStream) RecvMsg(m any) error {
	first := s.settle(m, func(stream grpc.ClientStream) error { return stream.RecvMsg(m) })
	if first || s.ended != nil {
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
// has seen something of this stream. As in gRPC, a stream that ended without a
// header has none, and RecvMsg says how it ended.
func (s *serverStream) Header() (metadata.MD, error) {
	s.settle(nil, awaitHeader)
	if s.stream == nil {
		return nil, s.ended
	}
	return s.stream.Header()
}

// awaitHeader asks RecvMsg where there is no header: Header does not say why.
func awaitHeader(stream grpc.ClientStream) error {
	header, err := stream.Header()
	if header != nil || err != nil {
		return err
	}
	return stream.RecvMsg(&emptypb.Empty{})
}

// Trailer is only called once the stream has ended, so it never begins one.
func (s *serverStream) Trailer() metadata.MD {
	if stream := s.begun(); stream != nil {
		return stream.Trailer()
	}
	return nil
}

// Context is the caller's until there is a stream.
func (s *serverStream) Context() context.Context {
	if stream := s.begun(); stream != nil {
		return stream.Context()
	}
	return s.ctx
}

// begun returns the stream, nil until the attempts are made or when the last one
// had none.
func (s *serverStream) begun() grpc.ClientStream {
	select {
	case <-s.settled:
		return s.stream
	default:
		return nil
	}
}

// settle makes the attempts, or waits until they are made. It reports whether it
// was the one to make them. A [sync.Once] would do, but whoever waits for a mutex
// in a synctest bubble stops its clock.
func (s *serverStream) settle(value any, begin func(grpc.ClientStream) error) (first bool) {
	if s.settles.Swap(true) {
		<-s.settled
		return false
	}
	defer close(s.settled)
	s.attempt(value, begin)
	return true
}

// attempt makes attempts until one of them begins to answer. value is where its
// first message is.
func (s *serverStream) attempt(value any, begin func(grpc.ClientStream) error) {
	s.ended = errUnsettled
	defer func() {
		if s.ended != nil {
			s.release()
		}
	}()
	select {
	case <-s.asked:
		defer func() { s.request = nil }() // the stream may live long
	case <-s.ctx.Done(): // the executor will say so, and look at no request
	}
	_, err := ration.Do(s.ctx, s.executor, func(bounded context.Context) (any, error) {
		return value, s.try(bounded, value, begin)
	})
	s.ended = final(err)
	if err == nil && s.eof {
		s.ended = io.EOF
	}
	if s.ended == nil {
		// Closing the connection ends the stream too, and may be all that the
		// caller does.
		cancel := s.cancel
		context.AfterFunc(s.stream.Context(), func() { cancel(nil) })
	}
}

// try makes one attempt. The stream lives on the caller's context and not on the
// attempt's: that one ends when the attempt does, which is when the first
// message arrives. Until then the attempt's end is passed on to the stream.
func (s *serverStream) try(
	bounded context.Context, value any, begin func(grpc.ClientStream) error,
) error {
	s.release() // a first message may have been an answer to try again
	ctx := s.ctx
	if s.marks.retrying {
		ctx = ration.WithNestedRetry(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer func() {
		if s.cancel == nil {
			cancel(nil)
		}
	}()
	pass := context.AfterFunc(bounded, func() { cancel(context.Cause(bounded)) })
	trailer, err := s.start(ctx, begin)
	inTime := pass()

	s.eof = s.stream != nil && errors.Is(err, io.EOF)
	if s.eof {
		return nil
	}
	if err == nil {
		s.cancel = cancel
	}
	if !inTime && s.ctx.Err() == nil {
		s.release()
		err = status.Error(codes.DeadlineExceeded, "rationgrpc: no message within the attempt")
	}
	return s.i.judge(bounded, value, err, trailer)
}

// start opens a stream and waits for the beginning of its answer. There is a
// trailer only where that is an error: before the end of a stream it must not be
// read.
func (s *serverStream) start(
	ctx context.Context, begin func(grpc.ClientStream) error,
) (trailer metadata.MD, err error) {
	s.stream, err = s.open(s.next(ctx))
	if err != nil {
		s.stream = nil
		return nil, err
	}
	for _, m := range s.request {
		// io.EOF means that the stream has ended and RecvMsg will say how.
		if err := s.stream.SendMsg(m); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	if err := s.stream.CloseSend(); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := begin(s.stream); err != nil {
		return s.stream.Trailer(), err
	}
	return nil, nil
}

// release ends a stream that has begun to answer, and returns when gRPC has
// ended it too: until then it may write to what the caller's options point to.
func (s *serverStream) release() {
	if s.cancel == nil {
		return
	}
	s.cancel(nil)
	s.cancel = nil
	for s.stream.RecvMsg(&emptypb.Empty{}) == nil {
	}
}
