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

// A progress shows how many of the calls to be made have ended. It draws only on a
// terminal, and leaves nothing behind on it. It is safe for concurrent use.
type progress struct {
	ended   atomic.Int64
	drawing sync.WaitGroup
	stop    func() // returns when the bar is gone; may be called twice
}

// startProgress begins to show the progress of a simulation towards a total that is
// only estimated, since calls arrive at random. It ends with the context too.
func startProgress(ctx context.Context, w io.Writer, onTerminal bool, total int64) *progress {
	return startProgressOf(ctx, w, onTerminal, "simulating", total)
}

// startProgressOf is startProgress for anything that is done.
func startProgressOf(
	ctx context.Context, w io.Writer, onTerminal bool, doing string, total int64,
) *progress {
	p := &progress{stop: func() {}}
	if !onTerminal {
		return p
	}
	ctx, cancel := context.WithCancel(ctx)
	p.stop = func() {
		cancel()
		p.drawing.Wait()
	}
	p.drawing.Go(func() { p.draw(ctx, w, doing, total) })
	return p
}

// count listens to the events of the simulated calls.
func (p *progress) count(ev ration.Event) {
	if ev.Terminal() {
		p.ended.Add(1)
	}
}

func (p *progress) draw(ctx context.Context, w io.Writer, doing string, total int64) {
	total = max(total, 1)
	bar := progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(doing),
		progressbar.OptionSetWidth(30),
		progressbar.OptionSetPredictTime(true),
		// Clears the whole line, with the ^C that a terminal may have put there. The
		// bar is short enough for that not to go to the next one.
		progressbar.OptionUseANSICodes(true),
	)
	bar.StartWithoutRender() // the time left is reckoned from here
	select {
	case <-ctx.Done():
		return
	case <-time.After(progressAfter):
	}
	// A bar that cannot be drawn is no reason to stop, or to say more.
	defer func() { _ = bar.Clear() }()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		// Short of the end: the bar takes a full one for the end of the work. Set
		// draws only when the percentage changes, which may take a while.
		_ = bar.Set64(min(p.ended.Load(), total-1))
		_ = bar.RenderBlank()
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
