package rationhttp_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
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
		{"cut within the headers", func(c net.Conn) { readRequest(c); io.WriteString(c, "HTTP/1.1 200 OK\r\n") }},
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
// net/http does not send again by itself is sent again by us: a POST that may be
// repeated without a key, a PUT, a body without GetBody.
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

// frame writes a frame of HTTP/2.
func frame(c net.Conn, kind, flags byte, stream uint32, payload ...byte) {
	head := make([]byte, 9)
	head[0], head[1], head[2] = byte(len(payload)>>16), byte(len(payload)>>8), byte(len(payload))
	head[3], head[4] = kind, flags
	binary.BigEndian.PutUint32(head[5:], stream)
	c.Write(append(head, payload...))
}

const (
	frameData     = 0x0
	frameHeaders  = 0x1
	frameReset    = 0x3
	frameSettings = 0x4
	frameGoAway   = 0x7

	endStream  = 0x1
	endHeaders = 0x4
	status200  = 0x88 // ":status: 200", indexed
)

func word(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// readHTTP2 greets, and returns the number of the stream that the client opens.
func readHTTP2(c net.Conn) (stream uint32, err error) {
	if _, err := io.ReadFull(c, make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
		return 0, err
	}
	frame(c, frameSettings, 0, 0)
	for {
		head := make([]byte, 9)
		if _, err := io.ReadFull(c, head); err != nil {
			return 0, err
		}
		size := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
		if _, err := io.CopyN(io.Discard, c, size); err != nil {
			return 0, err
		}
		if head[3] == frameHeaders {
			return binary.BigEndian.Uint32(head[5:]), nil
		}
	}
}

func newHTTP2Transport(t *testing.T) *http.Transport {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// How a server ends an HTTP/2 stream or connection says whether to try again. The
// codes are those of RFC 9113, section 7.
func TestHTTP2Codes(t *testing.T) {
	type reading struct {
		kind ration.VerdictKind // of our attempt; OK = net/http sends it again itself
		want bool               // that it is sent again at all
	}
	ours := reading{ration.VerdictTransient, true}
	slow := reading{ration.VerdictThrottled, true}
	theirs := reading{ration.VerdictOK, true}
	never := reading{ration.VerdictPermanent, false}
	for _, tc := range []struct {
		name string
		kind byte
		code uint32
		want reading
	}{
		{"reset, no error", frameReset, 0x0, ours},
		{"reset, protocol error", frameReset, 0x1, theirs},
		{"reset, internal error", frameReset, 0x2, ours},
		{"reset, flow control", frameReset, 0x3, never},
		{"reset, refused", frameReset, 0x7, theirs},
		{"reset, cancel", frameReset, 0x8, ours},
		{"reset, calm", frameReset, 0xb, slow},
		{"reset, HTTP/1.1 required", frameReset, 0xd, never},
		{"goaway, no error", frameGoAway, 0x0, ours},
		{"goaway, internal error", frameGoAway, 0x2, ours},
		{"goaway, calm", frameGoAway, 0xb, slow},
		{"goaway, inadequate security", frameGoAway, 0xc, never},
		{"closed", 0xff, 0, ours},
	} {
		for _, body := range []string{"", "kept"} {
			t.Run(tc.name+"/"+body, func(t *testing.T) {
				s := newRawServer(t, func(n int64, c net.Conn) {
					stream, err := readHTTP2(c)
					if err != nil {
						return
					}
					if n > 1 {
						frame(c, frameHeaders, endStream|endHeaders, stream, status200)
						io.Copy(io.Discard, c)
						return
					}
					switch tc.kind {
					case frameReset:
						frame(c, frameReset, 0, stream, word(tc.code)...)
						frame(c, frameGoAway, 0, 0, append(word(stream), word(0)...)...) // for another connection
						io.Copy(io.Discard, c)
					case frameGoAway:
						frame(c, frameGoAway, 0, 0, append(word(stream), word(tc.code)...)...)
					}
				})
				r := &recorder{}
				p := quick()
				p.OnEvent = r.hear
				p.Backoff.Custom = func(ration.Next) time.Duration { return time.Millisecond }
				rt := newTransport(t, newHTTP2Transport(t), p)
				req := newRequest(t, "PUT", s.url(), nil)
				if body != "" {
					req = newRequest(t, "PUT", s.url(), opaque{strings.NewReader(body)})
					req.ContentLength = int64(len(body))
				}
				status, _, err := send(t, rt, req)
				if (status == 200) != tc.want.want {
					t.Errorf("%d, %v (%T)", status, err, err)
				}
				if v := r.all()[0].Verdict; v.Kind != tc.want.kind {
					t.Errorf("verdict %v on %v", v, r.all()[0].Err)
				}
			})
		}
	}
}

// A stream or connection that ends within the body is the reader's to deal with:
// the caller has the response, and nothing is retried behind its back.
func TestLostWithinBody(t *testing.T) {
	http2 := func(end func(c net.Conn, stream uint32)) func(int64, net.Conn) {
		return func(_ int64, c net.Conn) {
			stream, err := readHTTP2(c)
			if err != nil {
				return
			}
			frame(c, frameHeaders, endHeaders, stream, status200)
			frame(c, frameData, 0, stream, []byte("some")...)
			end(c, stream)
		}
	}
	http1 := func(how func(net.Conn)) func(int64, net.Conn) {
		return func(_ int64, c net.Conn) {
			readRequest(c)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nsome")
			how(c)
		}
	}
	for _, tc := range []struct {
		name      string
		transport *http.Transport
		serve     func(int64, net.Conn)
	}{
		{"HTTP/1 closed", &http.Transport{}, http1(func(net.Conn) {})},
		{"HTTP/1 reset", &http.Transport{}, http1(func(c net.Conn) { c.(*net.TCPConn).SetLinger(0) })},
		{"HTTP/2 goaway", newHTTP2Transport(t), http2(func(c net.Conn, stream uint32) {
			frame(c, frameGoAway, 0, 0, append(word(stream), word(0)...)...)
		})},
		{"HTTP/2 reset", newHTTP2Transport(t), http2(func(c net.Conn, stream uint32) {
			frame(c, frameReset, 0, stream, word(2)...)
			io.Copy(io.Discard, c)
		})},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newRawServer(t, tc.serve)
			resp, err := newTransport(t, tc.transport, quick()).RoundTrip(newRequest(t, "GET", s.url(), nil))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if strings.TrimPrefix("some", string(body)) == "some" && len(body) > 0 || err == nil {
				t.Errorf("read %q, %v", body, err)
			}
			if n := s.accepted.Load(); n != 1 {
				t.Errorf("%d connections", n)
			}
			tc.transport.CloseIdleConnections()
		})
	}
}

// A policy's own classifier is asked once about each attempt, after this package's
// reading of it, which it may keep.
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
		{"a failure is an answer", func(any, error) ration.Verdict { return ration.Verdict{} }, step{status: 503}, 1},
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
			status, _, err := send(t, newTransport(t, base, p), newRequest(t, "GET", "http://a.test/", nil))
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

// An inner executor's stop, however it is wrapped on the way, is not retried and
// comes back as it is.
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
	_, _, err := send(t, outer, newRequest(t, "GET", "http://a.test/", nil))
	if err != base || n != 1 {
		t.Errorf("%v after %d attempts", err, n)
	}
}

// A server that accepts a connection and closes it before the request is written
// gives an error that has no name. This makes sure of the order, which on a
// network is a matter of luck.
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
