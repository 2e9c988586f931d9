package rationhttp

import (
	"time"

	"github.com/ration-go/ration"
)

// A LimitedError is a refusal of the local limiter: the request was not sent.
// It is what the caller gets when every attempt was refused. It is a value, and
// safe for concurrent use.
type LimitedError struct {
	RetryAfter time.Duration // when the limiter would let it pass; 0 = nobody can say
}

// Error says that the limiter refused.
func (e *LimitedError) Error() string { return "rationhttp: refused by the local limiter" }

// WithLimiter asks l before each attempt. A refusal is this process's own: it
// costs no token, is evidence of nothing, and is tried again after the policy's
// throttled wait. A [golang.org/x/time/rate.Limiter] is one.
//
// [golang.org/x/time/rate.Limiter]: https://pkg.go.dev/golang.org/x/time/rate#Limiter
func WithLimiter(l interface{ Allow() bool }) Option {
	if l == nil {
		return problem("WithLimiter: no limiter")
	}
	return option(func(c *config) {
		c.limit = func() *LimitedError {
			if l.Allow() {
				return nil
			}
			return &LimitedError{}
		}
	})
}

// WithReservation is like [WithLimiter] for a limiter that knows when it would
// let the attempt pass. The attempt goes out if reserve returns ok and no
// delay. Otherwise the reservation is cancelled, since the wait is the policy's
// to make, and the delay, if any, replaces the throttled wait. With a
// rate.Limiter:
//
//	rationhttp.WithReservation(func() (bool, time.Duration, func()) {
//		r := limiter.Reserve()
//		return r.OK(), r.Delay(), r.Cancel
//	})
func WithReservation(reserve func() (ok bool, delay time.Duration, cancel func())) Option {
	if reserve == nil {
		return problem("WithReservation: no function")
	}
	return option(func(c *config) {
		c.limit = func() *LimitedError {
			ok, delay, cancel := reserve()
			if ok && delay <= 0 {
				return nil
			}
			if cancel != nil {
				cancel()
			}
			if !ok {
				delay = 0
			}
			return &LimitedError{RetryAfter: delay}
		}
	})
}

// admit asks the limiter.
func (x *exchange) admit() error {
	if x.t.limit == nil {
		return nil
	}
	refused := x.t.limit()
	if refused == nil {
		return nil
	}
	x.last = &failure{err: refused}
	return ration.Refused(x.last, refused.RetryAfter)
}
