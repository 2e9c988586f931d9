package memhttp

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

const (
	network    = "memory"
	serverAddr = addr("memory.test:80")
	clientAddr = addr("client.test:1024")
)

type addr string

func (addr) Network() string  { return network }
func (a addr) String() string { return string(a) }

// A conn is one end of a connection. It behaves like TCP: writes return once the
// data is on its way, what was written before a Close still arrives, and a
// deadline ends the operation under way. [net.Pipe] keeps a write waiting until
// the other end reads, which deadlocks when a server answers a request that it
// has not read to the end.
type conn struct {
	in, out       *stream
	local, remote addr
	closing       sync.Once
	onClose       func()
}

// pipe returns the two ends of a new connection.
func pipe() (client, server *conn) {
	up, down := newStream(), newStream()
	client = &conn{in: down, out: up, local: clientAddr, remote: serverAddr}
	server = &conn{in: up, out: down, local: serverAddr, remote: clientAddr}
	return client, server
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return n, c.wrap("read", err)
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.out.write(p)
	return n, c.wrap("write", err)
}

// Close gives up both directions. The other end reads what is still on its way
// and then [io.EOF], and cannot write any more.
func (c *conn) Close() error {
	c.closing.Do(func() {
		c.in.abandon(&c.in.reader)
		c.out.abandon(&c.out.writer)
		if c.onClose != nil {
			c.onClose()
		}
	})
	return nil
}

// CloseWrite lets the other end read to the end while its answers still arrive.
// net/http looks for it: a server that closes after an early answer then lets the
// client know before it waits for the rest of the request.
func (c *conn) CloseWrite() error {
	c.out.abandon(&c.out.writer)
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *conn) SetReadDeadline(t time.Time) error {
	return c.wrap("set", c.in.setDeadline(&c.in.reader, t))
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	return c.wrap("set", c.out.setDeadline(&c.out.writer, t))
}

// wrap dresses an error as package net does, which is what code that classifies
// errors expects.
func (c *conn) wrap(op string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return &net.OpError{Op: op, Net: network, Source: c.local, Addr: c.remote, Err: err}
}
