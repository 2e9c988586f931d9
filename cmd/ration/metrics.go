package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/ration-go/ration/rationotel"
)

// metricsPath is where Prometheus looks unless it is told otherwise.
const metricsPath = "/metrics"

// lingers is how long metrics are served after a command has ended, for a last
// scrape: twice the usual interval of Prometheus.
const lingers = 2 * time.Minute

// A meter measures every executor of the process and serves the metrics in the
// format of Prometheus. It is safe for concurrent use.
type meter struct {
	handler http.Handler
	ended   atomic.Bool   // what is measured has
	scraped chan struct{} // closed by the first scrape that has seen the end
	once    sync.Once
	detach  func()
	server  *http.Server
	address string
}

// newMeter begins to measure, with at most maxKeys keys of each policy told apart,
// and none if it is negative. It serves nothing by itself.
func newMeter(maxKeys int) (*meter, error) {
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		return nil, err
	}
	provider := metric.NewMeterProvider(metric.WithReader(exporter))
	detach, err := rationotel.Attach(rationotel.Options{MeterProvider: provider, MaxKeys: maxKeys})
	if err != nil {
		return nil, err
	}
	return &meter{
		handler: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
		scraped: make(chan struct{}),
		detach:  detach,
	}, nil
}

// ServeHTTP implements [http.Handler].
func (m *meter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	last := m.ended.Load()
	m.handler.ServeHTTP(w, r)
	if last {
		m.once.Do(func() { close(m.scraped) })
	}
}

// serveMetrics begins to measure and serves what it measures at an address.
func serveMetrics(address string) (*meter, error) {
	// The keys of a drill are ports, and others in each phase.
	m, err := newMeter(-1)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		m.detach()
		return nil, fmt.Errorf("cannot serve metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+metricsPath, m)
	m.server = &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	m.address = reachable(l.Addr())
	go m.server.Serve(l) //nolint:errcheck // it ends with Close
	return m, nil
}

// linger waits for a scrape that begins now or later, so that none of what was
// counted is lost.
func (m *meter) linger(ctx context.Context, stderr io.Writer) {
	m.ended.Store(true)
	fmt.Fprintf(stderr, "waiting up to %s for a last scrape of http://%s%s; Ctrl-C ends it\n",
		short(lingers), m.address, metricsPath)
	timeout := time.NewTimer(lingers)
	defer timeout.Stop()
	select {
	case <-m.scraped:
	case <-timeout.C:
	case <-ctx.Done():
	}
}

// close ends the server once the last scrape has got its answer.
func (m *meter) close() {
	m.detach()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if m.server.Shutdown(ctx) != nil {
		m.server.Close()
	}
}
