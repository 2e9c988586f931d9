package rationhttp_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationhttp"
)

// A rule says what others have a client do on a status, for the whole of which
// the table below compares.
type rule func(status int, retryAfter bool) ration.VerdictKind

// reference is the library whose behaviour ours follows.
func reference(status int, retryAfter bool) ration.VerdictKind {
	switch {
	case status == 429, status == 503 && retryAfter:
		return ration.VerdictThrottled
	case status == 408, status >= 500:
		return ration.VerdictTransient
	}
	return ration.VerdictOK
}

// rfc is what RFC 9110, RFC 6585 and RFC 7231 say about trying again: a status
// that is temporary by its definition may be retried, others are final.
func rfc(status int, retryAfter bool) ration.VerdictKind {
	switch status {
	case 408, 500, 502, 504, 507, 508:
		return ration.VerdictTransient
	case 503:
		if retryAfter {
			return ration.VerdictThrottled
		}
		return ration.VerdictTransient
	case 429:
		return ration.VerdictThrottled
	}
	return ration.VerdictOK
}

// differences are all that ours does differently, and why.
var differences = map[string]string{
	"501 reference": "the server cannot do it at all, and will not be able to next time",
	"505 reference": "the same, about the version of the protocol",
	"506 rfc":       "a fault of the server's configuration, which is one server's of many",
	"510 rfc":       "unlisted 5xx are treated as 500, as RFC 9110 section 15 asks of clients",
	"511 rfc":       "the portal may let the next request through",
	"599 rfc":       "an unlisted 5xx",
}

// TestStatusTable compares, for every status, the verdict that is seen in the
// attempt's event with those of the reference and of the RFCs.
func TestStatusTable(t *testing.T) {
	statuses := []int{
		200, 201, 202, 204, 206, 226, 300, 301, 302, 303, 304, 307, 308, 400, 401, 402, 403, 404, 405,
		406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417, 418, 421, 422, 423, 424, 425, 426,
		428, 429, 431, 451, 499, 500, 501, 502, 503, 504, 505, 506, 507, 508, 510, 511, 599,
	}
	met := map[string]bool{}
	for _, status := range statuses {
		for _, hinted := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s := step{status: status}
				if hinted {
					s.header = "Retry-After: 7"
				}
				r := &recorder{}
				p := plain()
				p.OnEvent = r.hear
				base := newScript(s)
				got, _, err := send(t, newTransport(t, base, p), get(t))
				if got != status || err != nil {
					t.Errorf("%d: caller got %d, %v", status, got, err)
				}
				v := r.all()[0].Verdict
				hint := time.Duration(0)
				if hinted && v.Kind == ration.VerdictThrottled {
					hint = 7 * time.Second
				}
				if v.RetryAfter != hint || v.SelfImposed {
					t.Errorf("%d, Retry-After %t: verdict %v, want hint %v", status, hinted, v, hint)
				}
				if retried := base.attempts() > 1; retried != (v.Kind != ration.VerdictOK) {
					t.Errorf("%d: verdict %v, but %d attempts", status, v, base.attempts())
				}
				for name, other := range map[string]rule{"reference": reference, "rfc": rfc} {
					key := fmt.Sprintf("%d %s", status, name)
					same := other(status, hinted) == v.Kind
					if _, known := differences[key]; known == same {
						t.Errorf("%s, Retry-After %t: ours %v, theirs %v", key, hinted, v.Kind,
							other(status, hinted))
					}
					met[key] = true
				}
			})
		}
	}
	for key := range differences {
		if !met[key] {
			t.Errorf("no status for the difference %q", key)
		}
	}
}

// TestAttemptTable is the whole of status × method × kind of body: how often
// each is sent, that every copy is whole, and what the caller gets.
func TestAttemptTable(t *testing.T) {
	const content = "the whole body"
	stream := func(s string) func() io.Reader {
		return func() io.Reader { return opaque{strings.NewReader(s)} }
	}
	bodies := []struct {
		name string
		make func() io.Reader
		size int64 // 0 = as NewRequest has it
		once bool  // cannot be sent twice
	}{
		{"none", func() io.Reader { return nil }, 0, false},
		{"NoBody", func() io.Reader { return http.NoBody }, 0, false},
		{"GetBody", func() io.Reader { return strings.NewReader(content) }, 0, false},
		{"declared length", stream(content), int64(len(content)), false},
		{"unknown length", stream(content), -1, false},
		{"declared too large", stream(content + content), 2 * int64(len(content)), true},
		{"turns out too large", stream(content + content), -1, true},
	}
	idempotent := []string{"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"}
	for _, method := range append(idempotent, "POST", "PATCH", "PURGE") {
		for _, keyed := range []bool{false, true} {
			for _, status := range []int{200, 304, 404, 408, 429, 500, 501, 503} {
				for _, body := range bodies {
					name := fmt.Sprintf("%s/keyed %t/%d/%s", method, keyed, status, body.name)
					synctest.Test(t, func(t *testing.T) {
						base := newScript(steps(status)...)
						rt := newTransport(t, base, plain(), rationhttp.WithBodyLimit(int64(len(content))))
						req := newRequest(t, method, "http://a.test/", body.make())
						if body.size != 0 {
							req.ContentLength = body.size
						}
						if keyed {
							req.Header.Set("Idempotency-Key", "k1")
						}
						got, text, err := send(t, rt, req)
						if got != status || text != http.StatusText(status) || err != nil {
							t.Errorf("%s: caller got %d %q, %v", name, got, text, err)
						}
						want := 1
						retried := reference(status, false) != ration.VerdictOK && status != 501
						if retried && (keyed || slices.Contains(idempotent, method)) && !body.once {
							want = 3
						}
						if n := base.attempts(); n != want {
							t.Errorf("%s: sent %d times, want %d", name, n, want)
						}
						for i, s := range base.requests() {
							var whole []byte
							if r := body.make(); r != nil {
								whole, _ = io.ReadAll(r)
							}
							if !bytes.Equal([]byte(s.body), whole) {
								t.Errorf("%s: attempt %d had the body %q", name, i+1, s.body)
							}
							if s.req.ContentLength != req.ContentLength {
								t.Errorf("%s: attempt %d declared %d", name, i+1, s.req.ContentLength)
							}
						}
						if base.unclosed() != 0 {
							t.Errorf("%s: %d response bodies are open", name, base.unclosed())
						}
					})
				}
			}
		}
	}
}
