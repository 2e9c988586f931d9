package rationsim

import (
	"time"

	"github.com/ration-go/ration"
)

// grpc is the retry throttling of gRPC. Failures are charged, not retries, so
// that the last failure of a call counts too; what the rule protects is a server
// that fails, whoever retries.
type grpc struct {
	unlimited
	tokens, most, ratio float64
}

func newGRPC(maxTokens, tokenRatio float64) *grpc {
	return &grpc{tokens: maxTokens, most: maxTokens, ratio: tokenRatio}
}

func (g *grpc) Done(_ time.Duration, _ *Held, end AttemptEnd) {
	if end.retryable() {
		g.tokens = max(g.tokens-1, 0)
	}
}

func (g *grpc) Retry(time.Duration, *Held, AttemptEnd) bool { return g.tokens > g.most/2 }

func (g *grpc) End(_ time.Duration, _ *Held, ok bool) {
	if ok {
		g.tokens = min(g.tokens+g.ratio, g.most)
	}
}

// awsRules are the prices of the standard retryer of the AWS SDKs.
type awsRules struct {
	pool, retry         int
	timedOut, throttled int  // a retry after such a failure
	success             int  // what an attempt that succeeds adds
	successOfRetriesToo bool // or a first attempt alone
}

var (
	awsRules2026   = awsRules{pool: 500, retry: 14, timedOut: 14, throttled: 5, success: 1}
	awsRulesLegacy = awsRules{
		pool: 500, retry: 5, timedOut: 10, throttled: 5, success: 1, successOfRetriesToo: true,
	}
)

func (r *awsRules) cost(end AttemptEnd) int {
	switch {
	case end.TimedOut:
		return r.timedOut
	case end.Verdict == ration.VerdictThrottled:
		return r.throttled
	}
	return r.retry
}

// aws is the token pool of the AWS SDKs. A retry that is granted and never starts
// is not refunded, as in the SDK; nor is a retry that fails, so that a call whose
// second retry succeeds gets back what that one took.
type aws struct {
	unlimited
	awsRules
	tokens int
}

func newAWS(rules awsRules) *aws { return &aws{awsRules: rules, tokens: rules.pool} }

func (a *aws) Done(_ time.Duration, h *Held, end AttemptEnd) {
	if !end.ok() {
		return
	}
	refund := int(h.Cost)
	if h.Retries == 0 || a.successOfRetriesToo {
		refund += a.success
	}
	a.tokens = min(a.tokens+refund, a.pool)
}

func (a *aws) Retry(_ time.Duration, h *Held, end AttemptEnd) bool {
	cost := a.cost(end)
	if cost > a.tokens {
		return false
	}
	a.tokens -= cost
	h.Retries++
	h.Cost = float64(cost)
	return true
}

// stormbreak is a bucket that only time fills. It asks nothing about the traffic:
// it is a rate limit on retries.
type stormbreak struct {
	unlimited
	tokens, most, perSecond float64
	last                    time.Duration
}

func newStormbreak(capacity, perSecond float64) *stormbreak {
	return &stormbreak{tokens: capacity, most: capacity, perSecond: perSecond}
}

func (s *stormbreak) Retry(now time.Duration, _ *Held, _ AttemptEnd) bool {
	s.tokens = min(s.tokens+float64((now-s.last).Seconds()*s.perSecond), s.most)
	s.last = now
	if s.tokens < 1 {
		return false
	}
	s.tokens--
	return true
}
