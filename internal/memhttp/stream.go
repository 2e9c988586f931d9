package memhttp

import (
	"bytes"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// capacity is how far a writer may be ahead of the reader: what a socket holds,
// more or less.
const capacity = 64 << 10

// A stream is one direction of a connection: a bounded buffer between a writer
// and a reader. Whoever cannot go on waits for a change and looks again; nobody
// is woken for a reason of his own. Waiting on a condition counts as blocked in
// a synctest bubble, waiting for a mutex does not, so none is held while waiting.
type stream struct {
	mu      sync.Mutex
	changed sync.Cond // anything below
	buf     bytes.Buffer
	writing bool // a Write is half done: others wait, lest the data be mixed
	reader  side
	writer  side
}

// A side is what the reader or the writer has said about itself.
type side struct {
	gone     bool
	deadline time.Time
	timer    *time.Timer // wakes who waits at the deadline
}

func newStream() *stream {
	s := new(stream)
	s.changed.L = &s.mu
	return s
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.reader.gone:
			return 0, net.ErrClosed
		case s.reader.late():
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		case s.buf.Len() > 0:
			s.changed.Broadcast()
			return s.buf.Read(p)
		case s.writer.gone:
			return 0, io.EOF
		}
		s.changed.Wait()
	}
}

func (s *stream) write(p []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.writing {
		if err := s.writable(); err != nil {
			return 0, err
		}
		s.changed.Wait()
	}
	s.writing = true
	defer func() {
		s.writing = false
		s.changed.Broadcast()
	}()
	for {
		if err := s.writable(); err != nil {
			return n, err
		}
		room := min(capacity-s.buf.Len(), len(p)-n)
		s.buf.Write(p[n : n+room])
		n += room
		if n == len(p) {
			return n, nil
		}
		s.changed.Broadcast()
		s.changed.Wait()
	}
}

// writable reports why a write cannot go on, whether or not there is room.
func (s *stream) writable() error {
	switch {
	case s.writer.gone:
		return net.ErrClosed
	case s.writer.late():
		return os.ErrDeadlineExceeded
	case s.reader.gone:
		return errPipe
	}
	return nil
}

// abandon makes a side leave for good. Nobody will read what the buffer holds
// once the reader is gone.
func (s *stream) abandon(side *side) {
	s.mu.Lock()
	defer s.mu.Unlock()
	side.gone = true
	side.stop()
	if s.reader.gone {
		s.buf.Reset()
	}
	s.changed.Broadcast()
}

func (s *stream) setDeadline(side *side, t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if side.gone {
		return net.ErrClosed
	}
	side.stop()
	side.deadline = t
	if !t.IsZero() && !side.late() {
		// A timer that fires although it was stopped wakes in vain: whoever waits
		// asks the clock, not the timer.
		side.timer = time.AfterFunc(time.Until(t), s.wake) // clock: a socket's deadline
	}
	s.changed.Broadcast()
	return nil
}

func (s *stream) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed.Broadcast()
}

func (s *side) late() bool {
	return !s.deadline.IsZero() && time.Until(s.deadline) <= 0 // clock: a socket's deadline
}

func (s *side) stop() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}
