package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/ration-go/ration/rationhttp"
)

// pagePath is where the page of a drill is, the customary place of such pages.
const pagePath = "/debug/ration/"

// servePage serves, at an address, a page that shows the executors of this process,
// and their metrics beside it. It says on stderr where that is. Stop ends it.
func servePage(address string, stderr io.Writer) (stop func(), err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot serve the page: %w", err)
	}
	m, err := newMeter(-1)
	if err != nil {
		l.Close()
		return nil, err
	}
	page := rationhttp.DebugHandler()
	mux := http.NewServeMux()
	mux.Handle(pagePath, page)
	mux.Handle("GET "+metricsPath, m)
	mux.Handle("GET /{$}", http.RedirectHandler(pagePath, http.StatusFound))
	server := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	go server.Serve(l) //nolint:errcheck // it ends with Close
	fmt.Fprintf(stderr, "the page is at http://%s%s, the metrics at %s\n",
		reachable(l.Addr()), pagePath, metricsPath)
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			server.Close()
		}
		m.detach()
		page.Close()
	}, nil
}

// reachable returns an address that a browser can be given: to listen at every
// address of the machine is to listen at none that has a name.
func reachable(a net.Addr) string {
	if tcp, ok := a.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return fmt.Sprintf("localhost:%d", tcp.Port)
	}
	return a.String()
}
