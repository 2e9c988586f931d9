package rationhttp_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationhttp"
)

// A rawServer hands each connection to serve, with its number from 1.
type rawServer struct {
	listener net.Listener
	accepted atomic.Int64
}

func newRawServer(t *testing.T, serve func(n int64, c net.Conn)) *rawServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s := &rawServer{listener: l}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n := s.accepted.Add(1)
			go func() {
				defer c.Close()
				serve(n, c)
			}()
		}
	}()
	return s
}

func (s *rawServer) url() string { return "http://" + s.listener.Addr().String() }

const rawOK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

func readRequest(c net.Conn) error {
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r.Body)
	return err
}

// What the network does to a call over HTTP/1 is retried: connections refused,
// reset, and closed before an answer. C11.
func TestLostConnections(t *testing.T) {
	lose := func(how func(net.Conn)) func(int64, net.Conn) {
		return func(n int64, c net.Conn) {
			if n == 1 {
				how(c)
				return
			}
			if readRequest(c) == nil {
				io.WriteString(c, rawOK)
			}
		}
	}
	reset := func(c net.Conn) { c.(*net.TCPConn).SetLinger(0) }
	for _, tc := range []struct {
		name string
		how  func(net.Conn)
	}{
		{"closed at once", func(net.Conn) {}},
		{"reset at once", reset},
		{"closed after the request", func(c net.Conn) { readRequest(c) }},
		{"reset after the request", func(c net.Conn) { readRequest(c); reset(c) }},
		{"cut within the headers", func(c net.Conn) {
			readRequest(c)
			io.WriteString(c, "HTTP/1.1 200 OK\r\n")
		}},
	} {
		for _, method := range []string{"GET", "PUT"} {
			t.Run(tc.name+"/"+method, func(t *testing.T) {
				for range 10 { // which error it is depends on timing
					s := newRawServer(t, lose(tc.how))
					transport := &http.Transport{}
					rt := newTransport(t, transport, quick())
					req := newRequest(t, method, s.url(), opaque{strings.NewReader("body")})
					if method == "GET" {
						req.Body = nil
					}
					if status, _, err := send(t, rt, req); status != 200 || err != nil {
						t.Errorf("%d, %#v", status, err)
					}
					rt.CloseIdleConnections()
				}
			})
		}
	}
	t.Run("refused", func(t *testing.T) {
		s := newRawServer(t, nil)
		s.listener.Close()
		n := 0
		count := roundTripper(func(r *http.Request) (*http.Response, error) {
			n++
			return http.DefaultTransport.RoundTrip(r)
		})
		_, _, err := send(t, newTransport(t, count, quick()), newRequest(t, "GET", s.url(), nil))
		if !errors.Is(err, syscall.ECONNREFUSED) || n != 3 {
			t.Errorf("%v after %d attempts", err, n)
		}
	})
}

// A server closes the idle connection as the next request goes out on it. What
// net/http does not send again by itself is sent again by us: a POST that may
// be repeated without a key, a PUT, a body without GetBody.
func TestIdleConnectionClosed(t *testing.T) {
	for _, tc := range []struct {
		name   string
		method string
		body   io.Reader
	}{
		{"get", "GET", nil},
		{"delete", "DELETE", nil},
		{"put", "PUT", strings.NewReader("body")},
		{"post", "POST", strings.NewReader("body")},
		{"kept", "PUT", opaque{strings.NewReader("body")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			// The server answers one request on each connection and closes it when
			// the second has begun to arrive.
			s := newRawServer(t, func(_ int64, c net.Conn) {
				if readRequest(c) == nil {
					io.WriteString(c, rawOK)
					c.Read(make([]byte, 1))
				}
			})
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			rt := newTransport(t, transport, quick())
			send(t, rt, newRequest(t, "GET", s.url(), nil))
			req := newRequest(t, tc.method, s.url(), tc.body)
			req = req.WithContext(rationhttp.Repeatable(req.Context()))
			if status, _, err := send(t, rt, req); status != 200 || err != nil {
				t.Errorf("%d, %v", status, err)
			}
			if n := s.accepted.Load(); n != 2 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// C11: what no retry mends is tried once, and comes back as it is.
func TestPermanentErrors(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	wrongName := server.Client().Transport.(*http.Transport).Clone()
	wrongName.TLSClientConfig.ServerName = "other.test"
	raw := newRawServer(t, func(_ int64, c net.Conn) {
		readRequest(c)
		io.WriteString(c, "what?\r\n\r\n")
	})
	certificate := func(err error) bool {
		var c *tls.CertificateVerificationError
		return errors.As(err, &c)
	}
	any := func(error) bool { return true }
	for _, tc := range []struct {
		name      string
		transport *http.Transport
		url       string
		header    string
		want      func(error) bool
	}{
		{"self-signed", &http.Transport{}, server.URL, "x", certificate},
		{"other name", wrongName, server.URL, "x", certificate},
		{"scheme", &http.Transport{}, "foo://a.test/", "x", any},
		{"header", &http.Transport{}, "http://a.test/", "x\ny", any},
		{"malformed response", &http.Transport{}, raw.url(), "x", any},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := 0
			var base error
			count := roundTripper(func(r *http.Request) (*http.Response, error) {
				n++
				resp, err := tc.transport.RoundTrip(r)
				base = err
				return resp, err
			})
			req := newRequest(t, "GET", tc.url, nil)
			req.Header["X"] = []string{tc.header}
			_, _, err := send(t, newTransport(t, count, quick()), req)
			if err == nil || err != base || n != 1 || !tc.want(err) {
				t.Errorf("%v after %d attempts", err, n)
			}
		})
	}
}

// The timeouts of net/http itself are transient.
func TestTransportTimeouts(t *testing.T) {
	s := newRawServer(t, func(_ int64, c net.Conn) { io.Copy(io.Discard, c) })
	for _, tc := range []struct {
		name      string
		scheme    string
		transport *http.Transport
	}{
		{"headers", "http", &http.Transport{ResponseHeaderTimeout: time.Millisecond}},
		{"handshake", "https", &http.Transport{TLSHandshakeTimeout: time.Millisecond}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := 0
			count := roundTripper(func(r *http.Request) (*http.Response, error) {
				n++
				return tc.transport.RoundTrip(r)
			})
			url := tc.scheme + "://" + s.listener.Addr().String()
			_, _, err := send(t, newTransport(t, count, quick()), newRequest(t, "GET", url, nil))
			var timeout net.Error
			if !errors.As(err, &timeout) || !timeout.Timeout() || n != 3 {
				t.Errorf("%v after %d attempts", err, n)
			}
		})
	}
}

// A policy's own classifier is asked once about each attempt, after this
// package's reading of it, which it may keep.
func TestClassify(t *testing.T) {
	for _, tc := range []struct {
		name     string
		classify ration.Classifier
		step     step
		want     int // attempts
	}{
		{"ends with the default", ration.DefaultClassifier, step{status: 503}, 3},
		{"ends with the default, error", ration.DefaultClassifier, step{err: syscall.ECONNRESET}, 3},
		{"ends with the default, unknown", ration.DefaultClassifier, step{err: errBase}, 1},
		{"a failure is an answer", func(any, error) ration.Verdict {
			return ration.Verdict{}
		}, step{status: 503}, 1},
		{"a failure is final", func(_ any, err error) ration.Verdict {
			return ration.Verdict{Kind: ration.VerdictPermanent}
		}, step{status: 503}, 1},
		{"an answer is a failure", func(value any, err error) ration.Verdict {
			if resp, ok := value.(*http.Response); ok && resp != nil && resp.StatusCode == 404 {
				return ration.Verdict{Kind: ration.VerdictTransient}
			}
			return ration.DefaultClassifier(value, err)
		}, step{status: 404}, 3},
		{"by the status", func(value any, err error) ration.Verdict {
			var s *rationhttp.StatusError
			if errors.As(err, &s) && s.StatusCode == 500 {
				return ration.Verdict{Kind: ration.VerdictPermanent}
			}
			return ration.DefaultClassifier(value, err)
		}, step{status: 500}, 1},
		{"marked", func(any, error) ration.Verdict {
			return ration.Verdict{Kind: ration.VerdictTransient}
		}, step{err: ration.Permanent(errBase)}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asked := 0
			p := quick()
			p.Classify = func(value any, err error) ration.Verdict {
				asked++
				if _, ok := value.(*http.Response); !ok {
					t.Errorf("asked about a %T", value)
				}
				return tc.classify(value, err)
			}
			base := newScript(tc.step)
			status, _, err := send(t, newTransport(t, base, p), get(t))
			if status != tc.step.status || err != tc.step.err {
				t.Errorf("%d, %v", status, err)
			}
			if base.attempts() != tc.want || base.unclosed() != 0 {
				t.Errorf("%d attempts, want %d; %d open", base.attempts(), tc.want, base.unclosed())
			}
			once := tc.want
			switch tc.name {
			case "a failure is an answer":
				once = 2 // the executor asks about the answer that it now is
			case "marked":
				once = 0
			}
			if asked != once {
				t.Errorf("asked %d times about %d attempts", asked, base.attempts())
			}
		})
	}
}

// A base that marks its errors knows better than any rule about what is in them.
func TestMarkedByBase(t *testing.T) {
	base := newScript(step{err: ration.Permanent(fmt.Errorf("no: %w", rationhttp.ErrBodyNotKept))})
	_, _, err := send(t, newTransport(t, base, quick()), get(t))
	if err != base.steps[0].err || base.attempts() != 1 {
		t.Errorf("%v after %d attempts", err, base.attempts())
	}
}

// An inner executor's stop, however it is wrapped on the way, is not retried
// and comes back as it is.
func TestInnerStop(t *testing.T) {
	inner := newTransport(t, newScript(step{status: 429, header: "Retry-After: 86400"}), plain())
	n := 0
	var base error
	outer := newTransport(t, roundTripper(func(r *http.Request) (*http.Response, error) {
		n++
		resp, err := inner.RoundTrip(r)
		base = fmt.Errorf("wrapped: %w", err)
		return resp, base
	}), plain(), rationhttp.WithFailingResponse())
	_, _, err := send(t, outer, get(t))
	if err != base || n != 1 {
		t.Errorf("%v after %d attempts", err, n)
	}
}

// A server that accepts a connection and closes it before the request is
// written gives an error that has no name. This makes sure of the order, which
// on a network is a matter of luck.
func TestClosedBeforeRequest(t *testing.T) {
	s := newRawServer(t, func(n int64, c net.Conn) {
		if n > 1 && readRequest(c) == nil {
			io.WriteString(c, rawOK)
		}
	})
	seen := make(chan struct{}, 2) // the transport has closed its end
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			return &closeNoted{Conn: c, note: seen}, err
		},
	}
	defer transport.CloseIdleConnections()
	conns := 0
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) {
			if conns++; conns == 1 {
				<-seen
			}
		},
	})
	r := &recorder{}
	p := quick()
	p.OnEvent = r.hear
	req := newRequest(t, "DELETE", s.url(), nil).WithContext(ctx)
	status, _, err := send(t, newTransport(t, transport, p), req)
	if status != 200 || err != nil || conns != 2 {
		t.Errorf("%d, %v over %d connections", status, err, conns)
	}
	if ev := r.all()[0]; ration.DefaultClassifier(nil, errors.Unwrap(errors.Unwrap(ev.Err))).Kind !=
		ration.VerdictPermanent {
		t.Errorf("the core's rules know %v: this package can do without its own", ev.Err)
	}
}

type closeNoted struct {
	net.Conn
	note chan<- struct{}
}

func (c *closeNoted) Close() error {
	select {
	case c.note <- struct{}{}:
	default:
	}
	return c.Conn.Close()
}
