package drill

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationgrpc"
	"github.com/ration-go/ration/rationhttp"
)

// A chain is three servers and the clients between them, for one phase.
type chain struct {
	drill *Drill
	phase Phase

	// counts is nil until the trouble begins. Until then nothing is counted.
	counts atomic.Pointer[counts]

	users   *http.Client
	url     string   // of the frontend
	closers []func() // in the order of opening
}

// newChain starts the servers from the bottom up, and ends what it has started if
// one does not start.
func (d *Drill) newChain(p Phase) (*chain, error) {
	c := &chain{drill: d, phase: p}
	if err := c.start(); err != nil {
		c.close()
		return nil, fmt.Errorf("cannot start the chain: %w", err)
	}
	return c, nil
}

func (c *chain) start() error {
	database, err := c.serveHTTP(c.database())
	if err != nil {
		return err
	}
	queries, err := c.httpClient(hopBackend)
	if err != nil {
		return err
	}
	backend, err := c.serveGRPC(c.backend(queries, "http://"+database))
	if err != nil {
		return err
	}
	conn, err := c.dialGRPC(backend)
	if err != nil {
		return err
	}
	frontend, err := c.serveHTTP(c.middleware(c.frontend(conn)))
	if err != nil {
		return err
	}
	c.url = "http://" + frontend
	c.users, err = c.httpClient(hopClient)
	return err
}

// close ends the clients and servers, each client before the server it calls.
func (c *chain) close() {
	for _, shut := range slices.Backward(c.closers) {
		shut()
	}
}

func (c *chain) onClose(shut func()) { c.closers = append(c.closers, shut) }

// act is one user action.
func (c *chain) act(ctx context.Context) error { return get(ctx, c.users, c.url) }

// policy is that of one hop, with what it does counted.
func (c *chain) policy(h hopIndex) ration.Policy {
	p := c.drill.policy(c.phase, h)
	p.OnEvent = func(ev ration.Event) { c.counts.Load().hear(h, ev) }
	return p
}

// idleConns is how many connections of the users are kept: all that there are.
const idleConns = 1000

// httpClient returns the client of a hop, with connections of its own.
func (c *chain) httpClient(h hopIndex) (*http.Client, error) {
	var opts []rationhttp.Option
	if c.phase.Budgets == LoopBroken {
		opts = append(opts, rationhttp.ObeyBrokenLoops())
	}
	// Over HTTP/1 every attempt that is given up costs its connection. The backend
	// gives up thousands a second in the brownout, and over HTTP/2 that is a stream.
	base := &http.Transport{MaxIdleConnsPerHost: idleConns, Protocols: new(http.Protocols)}
	base.Protocols.SetHTTP1(h != hopBackend)
	base.Protocols.SetUnencryptedHTTP2(h == hopBackend)
	t, err := rationhttp.NewTransport(base, c.policy(h), opts...)
	if err != nil {
		return nil, err
	}
	c.onClose(t.CloseIdleConnections)
	return &http.Client{Transport: t}, nil
}

// dialGRPC returns a connection whose calls are those of the frontend.
func (c *chain) dialGRPC(address string) (*grpc.ClientConn, error) {
	// A client obeys the pushback that breaks a loop without being asked to.
	guard, err := rationgrpc.New(c.policy(hopFrontend))
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient("passthrough:///"+address, append(guard.DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithNoProxy(),
		grpc.WithDisableRetry(),
	)...)
	if err != nil {
		return nil, err
	}
	c.onClose(func() { conn.Close() })
	return conn, nil
}

// middleware reads what callers say about their retries.
func (c *chain) middleware(next http.Handler) http.Handler {
	if c.phase.Budgets == LoopBroken {
		return rationhttp.Middleware(rationhttp.BreakLoops())(next)
	}
	return rationhttp.Middleware()(next)
}

func (c *chain) serverOptions() []grpc.ServerOption {
	if c.phase.Budgets == LoopBroken {
		return rationgrpc.ServerOptions(rationgrpc.BreakLoops())
	}
	return rationgrpc.ServerOptions()
}

// anyPort is an address of this machine alone.
const anyPort = "127.0.0.1:0"

// shutdownTime is how long a server waits for requests under way. There are none
// unless the drill was interrupted, and those are about to end.
const shutdownTime = 2 * time.Second

// serveHTTP starts a server and returns its address.
func (c *chain) serveHTTP(h http.Handler) (address string, err error) {
	l, err := net.Listen("tcp", anyPort)
	if err != nil {
		return "", err
	}
	s := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0), Protocols: new(http.Protocols)}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	c.serve(func() { _ = s.Serve(l) }, func() {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
		defer cancel()
		if s.Shutdown(ctx) != nil {
			s.Close()
		}
	})
	return l.Addr().String(), nil
}

// serveGRPC starts a server and returns its address.
func (c *chain) serveGRPC(service *grpc.ServiceDesc) (address string, err error) {
	l, err := net.Listen("tcp", anyPort)
	if err != nil {
		return "", err
	}
	s := grpc.NewServer(append(c.serverOptions(), grpc.WaitForHandlers(true))...)
	s.RegisterService(service, nil)
	c.serve(func() { _ = s.Serve(l) }, s.Stop)
	return l.Addr().String(), nil
}

// serve runs a server until the chain is closed.
func (c *chain) serve(run, stop func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run()
	}()
	c.onClose(func() {
		stop()
		<-ended
	})
}
