package rationhttp

import (
	"net/http"
	"strconv"
	"time"

	"github.com/ration-go/ration"
)

// A StatusError is a response that asks for another try, as an error: the last
// failure of a call that the library itself stopped, and what events and a
// policy's Classify see. It is found with errors.As. It is not modified after
// it is made, and is safe for concurrent use.
type StatusError struct {
	StatusCode int
	Status     string // as the server wrote it, "503 Service Unavailable" for one

	// Header is a copy of the response's, without the fields that commonly hold
	// secrets: cookies, challenges and addresses.
	Header http.Header

	Method string
	Host   string // without user, path and query
}

// Error names the method, the host and the status. The reason phrase is the
// standard one: what a server makes up does not belong into logs.
func (e *StatusError) Error() string {
	s := "rationhttp: " + e.Method + " " + e.Host + ": " + strconv.Itoa(e.StatusCode)
	if text := http.StatusText(e.StatusCode); text != "" {
		s += " " + text
	}
	return s
}

// GoString is what %#v prints, the text as well: a header may hold more secrets
// than a list of names knows.
func (e *StatusError) GoString() string { return e.Error() }

// secretFields are left out of a [StatusError]. Locations are among them since
// signed URLs are passwords.
var secretFields = []string{
	"Set-Cookie", "Set-Cookie2", "Authorization", "Proxy-Authorization",
	"Www-Authenticate", "Proxy-Authenticate", "Authentication-Info",
	"Proxy-Authentication-Info", "Location", "Content-Location", "Link", "Refresh",
}

func newStatusError(req *http.Request, resp *http.Response) *StatusError {
	e := &StatusError{
		StatusCode: resp.StatusCode,
		Status:     resp.Status,
		Header:     resp.Header.Clone(),
		Method:     method(req),
		Host:       req.URL.Host,
	}
	for _, name := range secretFields {
		delete(e.Header, name)
	}
	return e
}

// statusVerdict reads a status. 501 and 505 are answers about what the server
// can do at all, which a retry does not change; so are 4xx about what was
// asked, but for the two that say "not now".
func statusVerdict(resp *http.Response, now time.Time) ration.Verdict {
	switch code := resp.StatusCode; {
	case code == http.StatusTooManyRequests:
		hint := retryAfter(resp.Header.Get("Retry-After"), now)
		return ration.Verdict{Kind: ration.VerdictThrottled, RetryAfter: hint}
	case !failing(code):
		return ration.Verdict{}
	case code == http.StatusServiceUnavailable:
		// Who says when to come back is alive, and is no evidence for a breaker.
		if hint := retryAfter(resp.Header.Get("Retry-After"), now); hint > 0 {
			return ration.Verdict{Kind: ration.VerdictThrottled, RetryAfter: hint}
		}
	}
	return ration.Verdict{Kind: ration.VerdictTransient}
}

// failing reports whether a status asks for another try.
func failing(code int) bool {
	switch code {
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return code >= 500 && code <= 599
}
