package rationhttp_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationhttp"
)

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

// frame writes a frame of HTTP/2.
func frame(c net.Conn, kind, flags byte, stream uint32, payload ...byte) {
	head := make([]byte, 9)
	head[0], head[1], head[2] = byte(len(payload)>>16), byte(len(payload)>>8), byte(len(payload))
	head[3], head[4] = kind, flags
	binary.BigEndian.PutUint32(head[5:], stream)
	c.Write(append(head, payload...))
}

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

// How a server ends an HTTP/2 stream or connection says whether to try again.
// The codes are those of RFC 9113, section 7.
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

// net/http sends a request again by itself when a server has refused it, for which
// it needs the body. When that was not kept, the connection was lost all the same.
func TestHTTP2BodyNotKept(t *testing.T) {
	s := newRawServer(t, func(n int64, c net.Conn) {
		stream, err := readHTTP2(c)
		if err == nil {
			io.ReadFull(c, make([]byte, 9+4)) // the data
			frame(c, frameReset, 0, stream, word(0x7)...)
			io.Copy(io.Discard, c)
		}
	})
	r := &recorder{}
	p := quick()
	p.OnEvent = r.hear
	rt := newTransport(t, newHTTP2Transport(t), p, rationhttp.WithBodyLimit(3))
	_, _, err := send(t, rt, newRequest(t, "PUT", s.url(), opaque{strings.NewReader("body")}))
	if !errors.Is(err, rationhttp.ErrBodyNotKept) || s.accepted.Load() != 1 {
		t.Errorf("%v over %d connections", err, s.accepted.Load())
	}
	if ev := r.all()[0]; ev.Verdict.Kind != ration.VerdictTransient {
		t.Errorf("verdict %v on %v", ev.Verdict, ev.Err)
	}
	if ev := r.last(t); ev.Kind != ration.EventNotRetried {
		t.Errorf("event %v", ev.Kind)
	}
}

// A stream or connection that ends within the body is the reader's to deal
// with: the caller has the response, and nothing is retried behind its back.
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
