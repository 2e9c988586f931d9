package rationgrpc

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/ration-go/ration"
)

// A watchedStream is a client or bidirectional stream. It is never made again,
// because what was sent is gone; but the breaker admits it, and its first answer
// is the outcome that breaker, budget and estimates hear of. No timer bounds it.
//
// The call is driven by hand: the attempt begins in one method and ends in
// another, on whichever goroutine receives.
type watchedStream struct {
	grpc.ClientStream
	i      *Interceptor
	ctx    context.Context
	forget func() bool

	mu   sync.Mutex
	call ration.Call
}

// watch opens such a stream, if the breaker lets it.
func (i *Interceptor) watch(
	ctx context.Context, e *ration.Executor,
	dial func(context.Context, int) (grpc.ClientStream, error),
) (grpc.ClientStream, error) {
	w := &watchedStream{i: i, ctx: ctx, call: e.Begin(ctx, time.Now())}
	if d := w.call.Decision(); d.Action != ration.ActAttempt {
		return nil, final(w.refused(d))
	}
	stream, err := dial(ctx, 1)
	if err != nil {
		w.tell(err, nil)
		return nil, err
	}
	w.ClientStream = stream
	w.forget = context.AfterFunc(stream.Context(), func() {
		// Whoever receives next tells more than the end of the context does.
		// If nobody does, the probe that the stream may hold is given back.
		if ctx.Err() != nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.call.Abandon(time.Now())
		}
	})
	return w, nil
}

// refused serves the pause of a refusal and returns its error.
func (w *watchedStream) refused(d ration.Decision) error {
	for d.Action == ration.ActPause || d.Action == ration.ActWait {
		timer := time.NewTimer(time.Until(d.At))
		select {
		case <-timer.C:
		case <-w.ctx.Done():
			timer.Stop()
		}
		d = w.call.Next(time.Now(), ration.Outcome{}, 0)
	}
	return d.Err
}

// RecvMsg tells the outcome of the first receive.
func (w *watchedStream) RecvMsg(m any) error {
	err := w.ClientStream.RecvMsg(m)
	switch {
	case err == nil, errors.Is(err, io.EOF):
		w.tell(nil, nil)
	default:
		w.tell(err, w.Trailer())
	}
	return err
}

// tell reports the outcome. After the first time it changes nothing.
func (w *watchedStream) tell(err error, trailer metadata.MD) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.forget != nil {
		w.forget()
	}
	o := ration.Outcome{}
	if err != nil {
		o.Err = w.i.judge(w.ctx, err, trailer)
		o.Verdict = w.i.executor.Classify(nil, o.Err)
	}
	w.call.Next(time.Now(), o, 0.5) // one attempt: nothing to jitter but a break
}
