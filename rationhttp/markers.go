package rationhttp

import (
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ration-go/ration"
)

// The header fields that this package sends and reads.
const (
	// RetryingHeader is "1" on every request that its sender could retry, from
	// the first attempt on: by the time a retry goes out, traffic has multiplied.
	RetryingHeader = "X-NResilience-Retrying"

	// DeadlineHeader is how many milliseconds the sender will wait for this
	// attempt, a whole number of at least 1: see [WithDeadlineHeader].
	DeadlineHeader = "X-Deadline-Ms"

	// CriticalityHeader is the name of the call's level: see
	// [WithCriticalityHeader].
	CriticalityHeader = "X-Criticality"

	// RetryHeader is "never" on a failing response whose sender has spent its own
	// retries on it: see [BreakLoops] and [ObeyBrokenLoops].
	RetryHeader = "X-Ration-Retry"
)

// The keys of the first two in a map: [http.Header] wants them canonical, and
// the canonical form of one of them is not its name.
const (
	retryingKey = "X-Nresilience-Retrying"
	deadlineKey = DeadlineHeader
)

const retryNever = "never"

// marked reports whether a header carries the retry marker: exactly one "1".
// Anything else is not ours, and a value that means "no" must not read as
// "yes".
func marked(h http.Header) bool {
	v := h[retryingKey]
	return len(v) == 1 && v[0] == "1"
}

// forbidsRetry reports whether a failing response says not to retry.
func forbidsRetry(h http.Header) bool {
	v := h[RetryHeader]
	return len(v) == 1 && strings.EqualFold(v[0], retryNever)
}

// header returns the header of an attempt: the caller's own, or a copy if there
// is something to add. The copy shares its values with the caller's, which
// nobody may change; [http.Header.Clone] copies those too and takes twice as
// long. Markers are set, not added: the request may have some from the call
// that it serves, and each attempt starts from the caller's.
func (x *exchange) header(until time.Time) http.Header {
	t, h := x.t, x.req.Header
	sendDeadline := t.sendDeadline && !until.IsZero()
	if h != nil && !x.retrying && !sendDeadline && !t.sendCriticality {
		return h
	}
	added := maps.Clone(h)
	if added == nil {
		added = make(http.Header)
	}
	if x.retrying {
		added[retryingKey] = x.marker[:]
	}
	if sendDeadline {
		ms := max(time.Until(until)/time.Millisecond, 1)
		added[deadlineKey] = []string{strconv.FormatInt(int64(ms), 10)}
	}
	if t.sendCriticality {
		added[CriticalityHeader] = []string{ration.CriticalityOf(x.ctx).String()}
	}
	return added
}
