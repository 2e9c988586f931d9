package rationhttp

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/ration-go/ration"
)

// A Problem is the document that [WriteError] writes, an RFC 9457 problem in
// JSON. It is a value.
type Problem struct {
	Type   string `json:"type"` // urn:nresilience: and the reason
	Title  string `json:"title"`
	Status int    `json:"status"` // 503 or 504
}

// The problems, by what ended the call.
var (
	problemDeadline = Problem{"urn:nresilience:deadline-exceeded",
		"The time for this request has passed", http.StatusGatewayTimeout}
	problemAttempt = Problem{"urn:nresilience:attempt-timeout",
		"A dependency did not answer in time", http.StatusGatewayTimeout}
	problemStalled = Problem{"urn:nresilience:attempt-timeout",
		"A dependency stopped answering", http.StatusGatewayTimeout}
	problemBudget = Problem{"urn:nresilience:retry-budget-exhausted",
		"A dependency is failing and is not retried", http.StatusServiceUnavailable}
	problemBreaker = Problem{"urn:nresilience:dependency-unavailable",
		"A dependency is not available", http.StatusServiceUnavailable}
	problemLimiter = Problem{"urn:nresilience:rate-limited",
		"This service limits its calls to a dependency", http.StatusServiceUnavailable}
	problemCanceled = Problem{"urn:nresilience:canceled",
		"The request was canceled", http.StatusServiceUnavailable}
)

// WriteError answers a request whose handler failed with err, if err is or
// wraps a failure that this library made: a [*ration.Error], an attempt that
// timed out or a [*LimitedError]. It writes a [Problem] with status 503 or 504,
// and Retry-After, rounded up to whole seconds, where somebody can say when to
// come back. Nothing about the dependency is disclosed. For every other error,
// nil included, it writes nothing and returns false.
//
// A refusal by the local limiter is 503 and not 429: the caller did nothing
// wrong.
func WriteError(w http.ResponseWriter, _ *http.Request, err error) bool {
	p, after, ok := problemOf(err)
	if !ok {
		return false
	}
	body, err := json.Marshal(p)
	if err != nil {
		return false
	}
	h := w.Header()
	h.Del("Content-Length") // of what the handler meant to write
	h.Set("Content-Type", "application/problem+json")
	h.Set("X-Content-Type-Options", "nosniff")
	if after > 0 {
		h.Set("Retry-After", strconv.FormatInt(wholeSeconds(after), 10))
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // there is nobody to tell
	return true
}

// problemOf returns the problem that err is, and when to come back.
func problemOf(err error) (p Problem, after time.Duration, ok bool) {
	var stop *ration.Error
	var limited *LimitedError
	switch {
	case errors.As(err, &stop):
		after, _ = stop.RetryAfter()
		switch stop.Reason {
		case ration.StopBudgetExhausted:
			return problemBudget, after, true
		case ration.StopUnavailable:
			return problemBreaker, after, true
		case ration.StopDeadlineExceeded:
			return problemDeadline, after, true
		}
		return problemCanceled, 0, true
	case errors.As(err, &limited):
		return problemLimiter, limited.RetryAfter, true
	case errors.Is(err, ErrBodyStalled):
		return problemStalled, 0, true
	case errors.Is(err, ration.ErrAttemptTimeout):
		return problemAttempt, 0, true
	}
	return Problem{}, 0, false
}

// wholeSeconds rounds up: who comes back early is refused again.
func wholeSeconds(d time.Duration) int64 {
	s := int64(d / time.Second)
	if d%time.Second > 0 {
		s++
	}
	return s
}
