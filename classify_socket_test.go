//go:build unix || windows

package ration

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// C11: errors as sockets, resolvers and net/http make them, rather than as a
// test imagines them. A permanent one gets one attempt, and every one reaches
// the caller as it was.
func TestClassifySockets(t *testing.T) {
	e := MustNew(Policy{Backoff: NoBackoff})
	for _, tt := range []struct {
		name string
		fail func(*testing.T) error
		want string
		is   func(error) bool // nil = no type to check
	}{
		{"refused", dialRefused, "transient", matches(syscall.ECONNREFUSED, wsaRefused)},
		{"reset", readReset, "transient", matches(syscall.ECONNRESET, wsaReset)},
		{"hung up", readHungUp, "transient", matches(io.EOF)},
		{"hung up on a request", hungUpOnRequest, "transient", matches(io.EOF)},
		{"timed out", timedOut, "transient", matches(os.ErrDeadlineExceeded)},
		{"closed by us", closedByUs, "transient", matches(net.ErrClosed)},
		{"no such name", resolveError(3), "permanent", hasType[*net.DNSError]},
		{"resolver in trouble", resolveError(2), "transient", hasType[*net.DNSError]},
		{"port missing", noPort, "permanent", hasType[*net.AddrError]},
		{"self-signed", selfSigned, "permanent", hasType[*tls.CertificateVerificationError]},
		{"wrong name", wrongName, "permanent", hasType[x509.HostnameError]},
		{"TLS alert", tlsAlert, "permanent", hasType[*net.OpError]},
		{"not TLS", notTLS, "permanent", hasType[tls.RecordHeaderError]},
		{"scheme", getError("foo://127.0.0.1/"), "permanent, unclassified", nil},
		{"header with a newline", badHeader, "permanent, unclassified", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var attempts int
			var last error
			err := e.Run(t.Context(), func(context.Context) error {
				attempts++
				last = tt.fail(t)
				return last
			})
			if err == nil || err != last {
				t.Fatalf("%v came back as %v", last, err)
			}
			if once := strings.HasPrefix(tt.want, "permanent"); once != (attempts == 1) {
				t.Errorf("%d attempts", attempts)
			}
			if got := reading(err); got != tt.want {
				t.Errorf("%T %v: %s, want %s", err, err, got, tt.want)
			}
			if tt.is != nil && !tt.is(err) {
				t.Errorf("%T %v is not what the test means to try", err, err)
			}
		})
	}
}

// The numbers that Windows gives; package syscall has made its own.
const (
	wsaReset   = syscall.Errno(10054)
	wsaRefused = syscall.Errno(10061)
)

func matches(targets ...error) func(error) bool {
	return func(err error) bool {
		for _, target := range targets {
			if errors.Is(err, target) {
				return true
			}
		}
		return false
	}
}

func hasType[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// acceptOne passes one accepted connection to handle and returns where to dial.
func acceptOne(t *testing.T, handle func(*net.TCPConn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		if c, err := l.Accept(); err == nil {
			handle(c.(*net.TCPConn))
		}
	}()
	return l.Addr().String()
}

// readError dials a server that does as handle says once a byte has reached it,
// and returns how a read from it fails after prepare has had the connection.
func readError(t *testing.T, handle, prepare func(*net.TCPConn)) error {
	t.Helper()
	c, err := net.Dial("tcp", acceptOne(t, func(c *net.TCPConn) {
		c.Read(make([]byte, 1))
		handle(c)
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte{0}); err != nil {
		t.Fatal(err)
	}
	prepare(c.(*net.TCPConn))
	_, err = c.Read(make([]byte, 1))
	return err
}

func hangUp(c *net.TCPConn) { c.Close() }
func nothing(*net.TCPConn)  {}

func dialRefused(t *testing.T) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	return getError("http://" + l.Addr().String())(t)
}

func readReset(t *testing.T) error {
	return readError(t, func(c *net.TCPConn) {
		c.SetLinger(0) // close with a reset
		c.Close()
	}, nothing)
}

func readHungUp(t *testing.T) error { return readError(t, hangUp, nothing) }

// hungUpOnRequest waits for the request: a server that hangs up before it has
// left the transport is one of those errors that only a text tells apart.
func hungUpOnRequest(t *testing.T) error {
	return getError("http://" + acceptOne(t, func(c *net.TCPConn) {
		c.Read(make([]byte, 4096))
		c.Close()
	}))(t)
}

func timedOut(t *testing.T) error {
	return readError(t, nothing, func(c *net.TCPConn) { c.SetReadDeadline(time.Unix(1, 0)) })
}

func closedByUs(t *testing.T) error {
	return readError(t, nothing, func(c *net.TCPConn) { c.Close() })
}

func noPort(*testing.T) error {
	_, err := net.Dial("tcp", "127.0.0.1")
	return err
}

// resolveError dials a name about which the resolver answers with the given
// code: 2 is a failure of the server, 3 that there is no such name.
func resolveError(code byte) func(*testing.T) error {
	return func(*testing.T) error {
		r := &net.Resolver{
			PreferGo: true,
			Dial: func(context.Context, string, string) (net.Conn, error) {
				client, server := net.Pipe()
				go answer(server, code)
				return client, nil
			},
		}
		d := net.Dialer{Resolver: r}
		_, err := d.Dial("tcp", "ration.invalid.:80")
		return err
	}
}

// answer reads one DNS query as TCP frames it, and returns its header and
// question with a response code and no records.
func answer(c net.Conn, code byte) {
	defer c.Close()
	var size [2]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return
	}
	m := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(c, m); err != nil {
		return
	}
	end := 12
	for m[end] != 0 {
		end += 1 + int(m[end])
	}
	m = m[:end+5]
	m[2] |= 0x80       // a response
	m[3] = 0x80 | code // recursion is available
	clear(m[6:12])     // no records
	binary.BigEndian.PutUint16(size[:], uint16(len(m)))
	c.Write(append(size[:], m...))
}

// getError returns the failure of a request that the usual transport makes.
func getError(target string) func(*testing.T) error {
	return func(t *testing.T) error {
		req, err := http.NewRequest(http.MethodGet, target, nil)
		if err != nil {
			t.Fatal(err)
		}
		return sendError(t, req, nil)
	}
}

func sendError(t *testing.T, req *http.Request, c *tls.Config) error {
	t.Helper()
	tr := &http.Transport{TLSClientConfig: c}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err == nil {
		resp.Body.Close()
	}
	return err
}

func badHeader(t *testing.T) error {
	req, err := http.NewRequest(http.MethodGet, "http://127.0.0.1/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header["X-Note"] = []string{"two\nlines"}
	return sendError(t, req, nil)
}

// secure sends a request to a TLS server whose certificate names 127.0.0.1 and
// example.com, and is signed by itself.
func secure(t *testing.T, client func(pool *x509.CertPool) *tls.Config) error {
	t.Helper()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS13}
	s.StartTLS()
	defer s.Close()
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	req, err := http.NewRequest(http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	return sendError(t, req, client(pool))
}

func selfSigned(t *testing.T) error {
	return secure(t, func(*x509.CertPool) *tls.Config { return nil })
}

func wrongName(t *testing.T) error {
	return secure(t, func(pool *x509.CertPool) *tls.Config {
		return &tls.Config{RootCAs: pool, ServerName: "example.org"}
	})
}

// tlsAlert asks for a version that the server does not speak, so that the server
// has nothing left to read when it hangs up and its alert cannot get lost.
func tlsAlert(t *testing.T) error {
	return secure(t, func(pool *x509.CertPool) *tls.Config {
		return &tls.Config{RootCAs: pool, MaxVersion: tls.VersionTLS12}
	})
}

func notTLS(t *testing.T) error {
	client, server := net.Pipe()
	defer client.Close()
	go func() {
		defer server.Close()
		server.Read(make([]byte, 4096))
		io.WriteString(server, "HTTP/1.1 400 Bad Request\r\n\r\n")
	}()
	return tls.Client(client, &tls.Config{ServerName: "example.com"}).Handshake()
}
