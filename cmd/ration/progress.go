package main

import (
	"context"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/ration-go/ration"
)

const (
	// progressAfter is how long a run may take without a sign of life. What is
	// over sooner needs none, and a bar that flashes by is worse than none.
	progressAfter = time.Second
	progressEvery = 100 * time.Millisecond
)

// A progress shows how many of the calls of all simulations have ended. It draws
// only on a terminal, and leaves nothing behind on it. It is safe for concurrent
// use.
type progress struct {
	ended   atomic.Int64
	drawing sync.WaitGroup
	stop    func() // returns when the bar is gone; may be called twice
}

// startProgress begins to show progress towards a total that is only estimated,
// since calls arrive at random. It ends with the context too.
func startProgress(ctx context.Context, w io.Writer, onTerminal bool, total int64) *progress {
	p := &progress{stop: func() {}}
	if !onTerminal {
		return p
	}
	ctx, cancel := context.WithCancel(ctx)
	p.stop = func() {
		cancel()
		p.drawing.Wait()
	}
	p.drawing.Go(func() { p.draw(ctx, w, total) })
	return p
}

// count listens to the events of the simulated calls.
func (p *progress) count(ev ration.Event) {
	if ev.Terminal() {
		p.ended.Add(1)
	}
}

func (p *progress) draw(ctx context.Context, w io.Writer, total int64) {
	bar := progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription("simulating"),
		progressbar.OptionSetWidth(30),
		progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true),
	)
	bar.StartWithoutRender() // the time left is reckoned from here
	select {
	case <-ctx.Done():
		return
	case <-time.After(progressAfter):
	}
	defer bar.Clear()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		// Short of the end: the bar takes a full one for the end of the work.
		bar.Set64(min(p.ended.Load(), total-1))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// isTerminal reports whether a stream is a terminal that can go back to the start
// of a line.
func isTerminal(w io.Writer) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}
