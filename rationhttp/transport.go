package rationhttp

import (
	"errors"
	"hash/maphash"
	"net/http"

	"github.com/ration-go/ration"
)

// A Transport is an [http.RoundTripper] that sends requests under a
// [ration.Policy]. Make one with [NewTransport] for each set of servers, share
// it, and keep it: it holds what has been learnt about them. It is safe for
// concurrent use.
type Transport struct {
	config
	base     http.RoundTripper
	executor *ration.Executor
	keys     hostKeys
}

// NewTransport returns a transport that sends requests through base, nil
// meaning [http.DefaultTransport]. A policy without a breaker gets one for each
// host; [ration.NoBreaker] is how to have none. The error lists everything that
// is wrong with the policy and the options.
func NewTransport(base http.RoundTripper, p ration.Policy, opts ...Option) (*Transport, error) {
	t := &Transport{config: newConfig(opts), base: base}
	t.keys.seed = maphash.MakeSeed()
	if base == nil {
		t.base = http.DefaultTransport
	}
	t.executor = t.shared
	errs := t.problems
	if t.executor == nil {
		if p.Breaker == nil {
			p.Breaker = &ration.BreakerSettings{}
		}
		var err error
		if t.executor, err = ration.New(p); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return t, nil
}

// NewClient returns a client over [NewTransport] and [http.DefaultTransport].
// Its Timeout is zero: the policy's Deadline bounds the way to the headers, and
// the attempt timeout each read of a body, which may be as long as it likes.
func NewClient(p ration.Policy, opts ...Option) (*http.Client, error) {
	t, err := NewTransport(nil, p, opts...)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: t}, nil
}

// RoundTrip implements [http.RoundTripper]. It returns the last response when
// attempts end on one, failing or not, and a [*ration.Error] when the budget,
// the breaker, a deadline or the caller stopped the call. Other errors are
// those of the base, as they are.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL == nil {
		return t.base.RoundTrip(req) // which says so, and closes the body
	}
	x := t.begin(req)
	finished := false
	defer func() {
		if !finished {
			x.abandon()
		}
	}()
	resp, err := ration.Do(x.ctx, x.executor, x.send)
	resp, err = x.result(resp, err)
	finished = true
	return resp, err
}

// Executor returns the executor behind the transport, the place to change the
// policy while it runs. The breaker that [NewTransport] adds is part of its
// Policy: start from that, and nothing is lost.
func (t *Transport) Executor() *ration.Executor { return t.executor }

// CloseIdleConnections closes those of the base, if it has any. [http.Client]
// calls it.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
