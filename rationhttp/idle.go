package rationhttp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"
)

// isIdleClosed reports whether err is what net/http returns when a server
// closes a connection just as a request goes out on it. It is the most common
// lost connection there is. net/http itself sends a request again on a fresh
// connection if it may, which leaves PUT, DELETE, bodies without GetBody, and
// servers that accept connections only to close them. Its error is a value that
// has no exported name and a text that may change, so that the one way to know
// it is to be given it once.
func isIdleClosed(err error) bool {
	known := idleClosed()
	return known != nil && errors.Is(err, known)
}

var idleClosed = sync.OnceValue(provokeIdleClosed)

// provokeIdleClosed has a transport of its own meet that very situation,
// without a network: a connection that ends once it is handed out and before
// the request is written. It returns nil if the transport does not behave as it
// does today.
func provokeIdleClosed() error {
	c := &closingConn{closed: make(chan struct{})}
	transport := &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return c, nil },
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		select {
		case <-c.closed: // the transport has seen the end
		case <-ctx.Done():
		}
	}}
	req, err := http.NewRequestWithContext(
		httptrace.WithClientTrace(ctx, trace), http.MethodGet, "http://closing.test", nil)
	if err != nil {
		return nil
	}
	resp, err := transport.RoundTrip(req)
	if err == nil {
		resp.Body.Close()
		return nil
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// A closingConn is a connection that its server has closed.
type closingConn struct {
	net.Conn
	closed chan struct{}
	once   sync.Once
}

func (c *closingConn) Read([]byte) (int, error)    { return 0, io.EOF }
func (c *closingConn) Write(p []byte) (int, error) { return len(p), nil }

func (c *closingConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}
