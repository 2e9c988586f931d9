package rationhttp

import (
	"errors"
	"io"
	"net/http"
	"sync"
)

// DefaultBodyLimit is how much of a request body without GetBody is kept for a
// retry, unless [WithBodyLimit] says otherwise: 1 MiB.
const DefaultBodyLimit = 1 << 20

// ErrBodyNotKept is matched, through errors.Is, by the last failure of a
// request that could have been retried but for its body: more of it was sent
// than the limit allows to keep. The event [ration.EventNotRetried] carries it;
// the caller gets the response or the error of the attempt itself.
var ErrBodyNotKept = errors.New("rationhttp: request body is not kept for a retry")

var errBodyGone = errors.New("rationhttp: read on the request body of an earlier attempt")

// nextBody gives req, the copy of an attempt, a body of its own. The previous
// attempt's transport may still be reading the previous one, from a goroutine
// that outlives the attempt, so that no two attempts ever share a reader.
func (x *exchange) nextBody(req *http.Request) error {
	switch {
	case !hasBody(x.req):
	case x.kept != nil:
		req.Body = x.kept.next()
		req.GetBody = x.kept.again
	case !x.handed: // the caller's own
		x.handed = true
	default:
		body, err := x.req.GetBody()
		if err != nil {
			return &bodyError{err: err, before: x.before}
		}
		req.Body = body
	}
	return nil
}

// A bodyError is a GetBody that failed. It also wraps the failure for whose
// sake another body was asked for, nil if that was an answer.
type bodyError struct{ err, before error }

func (e *bodyError) Error() string {
	return "rationhttp: request body for another attempt: " + e.err.Error()
}

func (e *bodyError) Unwrap() []error {
	if e.before == nil {
		return []error{e.err}
	}
	return []error{e.err, e.before}
}

// unrepeatable returns why this request cannot be sent again after all, nil if
// it can.
func (x *exchange) unrepeatable() error {
	if x.tooLarge || x.kept != nil && !x.kept.complete() {
		return ErrBodyNotKept
	}
	return nil
}

// releaseBody closes the caller's body when no attempt is left that would. A
// base that was handed the body closes it, possibly after it has returned: with
// a response that came early it may still be sending.
func (x *exchange) releaseBody(answered bool) {
	switch {
	case x.kept != nil && answered:
		x.kept.release()
	case x.kept != nil:
		x.kept.close()
	case x.req.Body != nil && !x.handed:
		x.req.Body.Close()
	}
	x.kept = nil // an error that somebody keeps must not keep the body as well
}

// A keptBody keeps what is read of a body while it is sent, so that it can be
// sent again: first what was kept, then the rest from the source. Nothing is
// read ahead: a body may be a pipe that is filled in answer to the response.
//
// Protocol. turn has room for one, who reads the source, so that a read which
// the previous attempt began is waited for, with what it brings, and no lock is
// held meanwhile. mu guards the rest. Each attempt has a reader of its own;
// making the next one cuts the previous one off.
type keptBody struct {
	src   io.ReadCloser
	limit int64
	turn  chan struct{}

	mu       sync.Mutex
	data     []byte
	total    int64       // read of the source so far; beyond data once that is lost
	lost     bool        // it was more than the limit
	end      error       // what the source ended with
	reader   *keptReader // of the present attempt
	released bool        // no other will follow
	closing  sync.Once
}

func newKeptBody(req *http.Request, limit int64) *keptBody {
	return &keptBody{src: req.Body, limit: limit, turn: make(chan struct{}, 1)}
}

// next returns the body for another attempt.
func (k *keptBody) next() *keptReader {
	r := &keptReader{kept: k, gone: make(chan struct{})}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.reader != nil {
		k.reader.cut()
	}
	k.reader = r
	return r
}

// again is GetBody for net/http, which sends a request again by itself if it is
// certain that the server has not seen it.
func (k *keptBody) again() (io.ReadCloser, error) {
	if !k.complete() {
		return nil, ErrBodyNotKept
	}
	return k.next(), nil
}

// complete reports whether the next attempt would send the whole body: all that
// was read of it is here, and the rest, if any, is still to come from the
// source.
func (k *keptBody) complete() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !k.lost && (k.end == nil || k.end == io.EOF) //nolint:errorlint // as Read returns it
}

// keep notes what a read of the source has brought.
func (k *keptBody) keep(p []byte, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.total += int64(len(p))
	switch {
	case k.total > k.limit:
		k.data, k.lost = nil, true
	default:
		k.data = append(k.data, p...)
	}
	if err != nil {
		k.end = err
	}
}

// release leaves the source to the last reader.
func (k *keptBody) release() {
	k.mu.Lock()
	k.released = true
	idle := k.reader == nil || k.reader.isCut()
	k.mu.Unlock()
	if idle {
		k.close()
	}
}

func (k *keptBody) close() {
	k.closing.Do(func() { k.src.Close() })
}

// A keptReader is the body of one attempt.
type keptReader struct {
	kept    *keptBody
	gone    chan struct{} // closed when its attempt is over
	cutting sync.Once
	pos     int64
}

func (r *keptReader) Read(p []byte) (int, error) {
	for {
		n, err, known := r.replay(p)
		if known {
			return n, err
		}
		select {
		case r.kept.turn <- struct{}{}:
		case <-r.gone:
			return 0, errBodyGone
		}
		if n, ok, err := r.advance(p); ok {
			return n, err
		}
	}
}

// replay reads what is known without asking the source.
func (r *keptReader) replay(p []byte) (n int, err error, known bool) {
	k := r.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case r.isCut():
		return 0, errBodyGone, true
	case r.pos < k.total && k.lost:
		return 0, ErrBodyNotKept, true
	case r.pos < k.total:
		n = copy(p, k.data[r.pos:])
		r.pos += int64(n)
		return n, nil, true
	}
	return 0, k.end, k.end != nil
}

// advance reads the source, unless the one before has read more meanwhile. It
// is called with the turn, which it gives back.
func (r *keptReader) advance(p []byte) (n int, ok bool, err error) {
	k := r.kept
	defer func() { <-k.turn }()
	k.mu.Lock()
	current := r.pos == k.total && k.end == nil && !r.isCut()
	k.mu.Unlock()
	if !current {
		return 0, false, nil
	}
	n, err = k.src.Read(p)
	k.keep(p[:n], err)
	r.pos += int64(n)
	return n, true, err
}

// Close ends the attempt's reading. The source stays open for the next attempt;
// the last reader closes it.
func (r *keptReader) Close() error {
	r.cut()
	k := r.kept
	k.mu.Lock()
	last := k.released && k.reader == r
	k.mu.Unlock()
	if last {
		k.close()
	}
	return nil
}

func (r *keptReader) cut() { r.cutting.Do(func() { close(r.gone) }) }

func (r *keptReader) isCut() bool {
	select {
	case <-r.gone:
		return true
	default:
		return false
	}
}
