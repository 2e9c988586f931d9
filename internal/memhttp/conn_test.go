package memhttp

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var _ net.Conn = (*conn)(nil)

// ended returns what an operation gave once every goroutine has come to rest, and
// whether it has given anything.
func ended(c <-chan error) (error, bool) {
	synctest.Wait()
	select {
	case err := <-c:
		return err, true
	default:
		return nil, false
	}
}

func reading(c net.Conn) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		done <- err
	}()
	return done
}

func writing(c net.Conn, size int) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := c.Write(make([]byte, size))
		done <- err
	}()
	return done
}

// A writer may be ahead of the reader, and not without bounds.
func TestConnBuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := pipe()
		if err, ok := ended(writing(client, capacity)); !ok || err != nil {
			t.Fatalf("a write that fits: ended = %t, error %v", ok, err)
		}
		more := writing(client, capacity+1)
		if _, ok := ended(more); ok {
			t.Fatal("a write that does not fit has ended")
		}
		if _, err := io.ReadFull(server, make([]byte, capacity)); err != nil {
			t.Fatal(err)
		}
		if _, ok := ended(more); ok {
			t.Fatal("a write of more than the capacity has ended with a byte to go")
		}
		if _, err := server.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if err, ok := ended(more); !ok || err != nil {
			t.Fatalf("a write that fits by now: ended = %t, error %v", ok, err)
		}
	})
}

// TestConnEnds checks what waits, and what is tried later, when an end goes away.
func TestConnEnds(t *testing.T) {
	for _, tc := range []struct {
		name                      string
		end                       func(client, server *conn)
		clientRead, clientWrite   error
		serverRead, serverWrite   error
		clientReads, serverWrites bool // still waits
	}{
		{
			name:       "client closes",
			end:        func(client, _ *conn) { client.Close() },
			clientRead: net.ErrClosed, clientWrite: net.ErrClosed,
			serverRead: io.EOF, serverWrite: errPipe,
		},
		{
			name:       "server closes twice",
			end:        func(_, server *conn) { server.Close(); server.Close() },
			clientRead: io.EOF, clientWrite: errPipe,
			serverRead: net.ErrClosed, serverWrite: net.ErrClosed,
		},
		{
			name:       "both close",
			end:        func(client, server *conn) { server.Close(); client.Close() },
			clientRead: net.ErrClosed, clientWrite: net.ErrClosed,
			serverRead: net.ErrClosed, serverWrite: net.ErrClosed,
		},
		{
			name:        "client closes for writing",
			end:         func(client, _ *conn) { client.CloseWrite() },
			clientReads: true, clientWrite: net.ErrClosed,
			serverRead: io.EOF, serverWrites: true,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := pipe()
				defer client.Close()
				defer server.Close()
				check := func(name string, op <-chan error, want error, waits bool) {
					t.Helper()
					if err, ok := ended(op); ok == waits || !errors.Is(err, want) {
						t.Errorf("%s: ended = %t, error %v, want %v", name, ok, err, want)
					}
				}
				idle, full := pipe() // the buffer toward idle is full
				defer idle.Close()
				defer full.Close()
				full.Write(make([]byte, capacity))
				readEnd, writeEnd := reading(server), writing(full, 1)
				tc.end(client, server)
				tc.end(idle, full)
				check("server reads meanwhile", readEnd, tc.serverRead, false)
				check("server writes meanwhile", writeEnd, tc.serverWrite, tc.serverWrites)
				check("client reads", reading(client), tc.clientRead, tc.clientReads)
				check("client writes", writing(client, 1), tc.clientWrite, false)
				check("server reads", reading(server), tc.serverRead, false)
				check("server writes", writing(server, 1), tc.serverWrite, false)
			})
		})
	}
}

func TestConnCloseDelivers(t *testing.T) {
	client, server := pipe()
	client.Write([]byte("on its way"))
	client.Close()
	if got, err := io.ReadAll(server); err != nil || string(got) != "on its way" {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestConnDeadlines(t *testing.T) {
	const never = -1
	type step struct {
		at  time.Duration
		set time.Duration // from the start; 0 for none
	}
	for _, tc := range []struct {
		name  string
		steps []step
		want  time.Duration // when the operation times out
	}{
		{"passed before", []step{{0, -time.Second}}, 0},
		{"passes", []step{{0, time.Second}}, time.Second},
		{"moved forward", []step{{0, time.Second}, {500 * time.Millisecond, 3 * time.Second}},
			3 * time.Second},
		{"moved back", []step{{0, 3 * time.Second}, {500 * time.Millisecond, time.Second}},
			time.Second},
		{"moved into the past", []step{{0, 3 * time.Second}, {2 * time.Second, time.Second}},
			2 * time.Second},
		{"taken back", []step{{0, time.Second}, {500 * time.Millisecond, 0}}, never},
	} {
		for _, op := range []string{"read", "write"} {
			t.Run(tc.name+"/"+op, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					start := time.Now()
					client, server := pipe()
					set, work := client.SetReadDeadline, func() <-chan error { return reading(client) }
					if op == "write" {
						set, work = client.SetWriteDeadline, func() <-chan error {
							return writing(client, capacity+1)
						}
					}
					var done <-chan error
					for _, s := range tc.steps {
						time.Sleep(time.Until(start.Add(s.at)))
						until := start.Add(s.set)
						if s.set == 0 {
							until = time.Time{}
						}
						if err := set(until); err != nil {
							t.Fatal(err)
						}
						if done == nil {
							done = work()
						}
					}
					var err error
					select {
					case err = <-done:
					case <-time.After(time.Hour):
					}
					took := time.Since(start)
					if tc.want == never {
						if err != nil || took < time.Hour {
							t.Errorf("ended after %v with %v, want no end", took, err)
						}
						server.Close()
						client.Close()
						return
					}
					if !errors.Is(err, os.ErrDeadlineExceeded) || took != tc.want {
						t.Errorf("ended after %v with %v, want a timeout after %v", took, err, tc.want)
					}
					var timeout net.Error
					if !errors.As(err, &timeout) || !timeout.Timeout() {
						t.Errorf("%v is not a timeout to package net", err)
					}
				})
			})
		}
	}
}

// After a timeout the connection goes on, as net/http needs: it interrupts its
// own reads with deadlines in the past.
func TestConnAfterTimeout(t *testing.T) {
	client, server := pipe()
	server.Write([]byte("x"))
	client.SetDeadline(time.Unix(1, 0))
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("with data and a passed deadline: %v", err)
	}
	client.SetDeadline(time.Time{})
	if _, err := client.Read(make([]byte, 1)); err != nil {
		t.Errorf("without the deadline: %v", err)
	}
	client.Close()
	if err := client.SetDeadline(time.Time{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestConnTransfers(t *testing.T) {
	client, server := pipe()
	want := make([]byte, 5*capacity+17)
	rand.Read(want)
	go func() {
		for chunk := range slices.Chunk(want, capacity+capacity/3) {
			client.Write(chunk)
		}
		client.Close()
	}()
	got, err := io.ReadAll(server)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, error %v; equal = %t", len(got), err, bytes.Equal(got, want))
	}
}

// Writes at once are not mixed, though all of them wait for room.
func TestConnConcurrentWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := pipe()
		const size = 3 * capacity
		var wg sync.WaitGroup
		for _, b := range []byte("abc") {
			wg.Go(func() { client.Write(bytes.Repeat([]byte{b}, size)) })
		}
		synctest.Wait()
		go func() {
			wg.Wait()
			client.Close()
		}()
		got, _ := io.ReadAll(server)
		if runs := len(slices.Compact(bytes.Clone(got))); len(got) != 3*size || runs != 3 {
			t.Errorf("%d bytes in %d runs, want %d in 3", len(got), runs, 3*size)
		}
	})
}

func TestConnAddresses(t *testing.T) {
	client, server := pipe()
	if client.LocalAddr() != server.RemoteAddr() || client.RemoteAddr() != server.LocalAddr() {
		t.Error("the ends disagree about their addresses")
	}
	for _, a := range []net.Addr{client.LocalAddr(), client.RemoteAddr()} {
		if _, _, err := net.SplitHostPort(a.String()); err != nil {
			t.Error(err)
		}
		if a.Network() != network {
			t.Errorf("network %q", a.Network())
		}
	}
}
