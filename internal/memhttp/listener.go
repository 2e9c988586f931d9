package memhttp

import (
	"context"
	"net"
	"sync"
)

// A listener hands the server's ends of connections to whoever accepts. There is
// no backlog: a dial waits for its accept.
type listener struct {
	conns  chan net.Conn
	closed chan struct{}
	close  sync.Once

	mu    sync.Mutex
	total int // connections that were accepted
	open  int // those that the client has not closed
}

func newListener() *listener {
	return &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "accept", Net: network, Addr: serverAddr, Err: net.ErrClosed}
	}
}

func (l *listener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return serverAddr }

// dial is the DialContext of a transport. Once the listener is closed it fails as
// it would on a network, with a refusal by a host that has no such server.
func (l *listener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := pipe()
	client.onClose = func() { l.count(0, -1) }
	var err error
	select {
	case l.conns <- server:
		l.count(1, 1)
		return client, nil
	case <-l.closed:
		err = errRefused
	case <-ctx.Done():
		err = ctx.Err()
	}
	return nil, &net.OpError{Op: "dial", Net: network, Addr: serverAddr, Err: err}
}

func (l *listener) count(total, open int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total += total
	l.open += open
}

func (l *listener) counts() (total, open int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total, l.open
}
