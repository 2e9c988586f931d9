// Package memhttp is an HTTP server and its client within one process, joined by
// connections in memory, for tests and for examples that run. Nothing touches the
// network, so that all of it, keep-alive and HTTP/2 included, works within a
// testing/synctest bubble, where twelve minutes of waiting take no time.
package memhttp

import (
	"net"
	"net/http"
	"sync"
)

// A Server serves a handler to its own clients. Make one with [New] or [NewHTTP2],
// within the bubble if there is one, and close it. It is safe for concurrent use.
type Server struct {
	listener  *listener
	http      http.Server
	transport http.Transport
	served    chan struct{} // closed when Serve has returned

	mu   sync.Mutex
	busy int       // handlers and connections that the server still works on
	idle sync.Cond // busy has become 0
}

// New starts a server that speaks HTTP/1.1.
func New(handler http.Handler) *Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return start(handler, protocols)
}

// NewHTTP2 starts a server that speaks HTTP/2 and nothing else. It does so without
// TLS, the client knowing beforehand: handshakes would bring certificates with
// their dates into the bubble, which begins in the year 2000.
func NewHTTP2(handler http.Handler) *Server {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return start(handler, protocols)
}

func start(handler http.Handler, protocols *http.Protocols) *Server {
	s := &Server{listener: newListener(), served: make(chan struct{})}
	s.idle.L = &s.mu
	s.http.Handler = s.counted(handler)
	s.http.Protocols = protocols
	s.http.ConnState = s.connState
	s.transport.Protocols = protocols
	s.transport.DialContext = s.listener.dial
	go func() {
		defer close(s.served)
		_ = s.http.Serve(s.listener) // until Close closes the listener, and says so
	}()
	return s
}

// URL returns the root of the server, without a slash at the end. The transport
// takes every other host to the same server too, so that a test can have as many
// hosts as it likes.
func (s *Server) URL() string { return "http://memory.test" }

// Transport returns the transport that reaches the server, always the same one. A
// clone of it reaches the server over connections of its own.
func (s *Server) Transport() *http.Transport { return &s.transport }

// Client returns a new client over [Server.Transport].
func (s *Server) Client() *http.Client { return &http.Client{Transport: &s.transport} }

// Connections returns how many connections clients have opened so far. A client
// that drains and closes its response bodies needs one at a time.
func (s *Server) Connections() int {
	total, _ := s.listener.counts()
	return total
}

// Open returns how many connections clients have opened and not closed, idle ones
// included. What [http.Transport.CloseIdleConnections] leaves open is in use, or
// leaked by a response body that nobody closed.
func (s *Server) Open() int {
	_, open := s.listener.counts()
	return open
}

// Close refuses new connections, breaks those there are, which ends the contexts
// of the requests on them, and waits until every handler has returned and the
// server has no goroutine left. The goroutines of clients find their connections
// broken and end by themselves, except over HTTP/1.1 where a response body was not
// read to its end or closed: in a bubble such a leak fails the test. Close may be
// called more than once.
func (s *Server) Close() {
	s.transport.CloseIdleConnections()
	s.http.Close()
	<-s.served
	// Serve may have taken one more connection before it saw the listener closed.
	s.http.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.busy > 0 {
		s.idle.Wait()
	}
}

// counted keeps Close waiting for handlers: those of HTTP/2 outlive the goroutine
// of their connection.
func (s *Server) counted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.add(1)
		defer s.add(-1)
		h.ServeHTTP(w, r)
	})
}

// connState counts connections: one is new before Serve returns, and closed as
// the last thing that its goroutine does. One that a handler has hijacked is the
// handler's.
func (s *Server) connState(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.add(1)
	case http.StateClosed, http.StateHijacked:
		s.add(-1)
	}
}

func (s *Server) add(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy += n
	if s.busy == 0 {
		s.idle.Broadcast()
	}
}
