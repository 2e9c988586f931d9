package bench

import (
	"context"
	"testing"

	"github.com/avast/retry-go/v4"
)

func avastCall(_ testing.TB, p plan) func(context.Context, work) (int, error) {
	attempt := attemptWith(p)
	return func(ctx context.Context, fn work) (int, error) {
		do := func() (int, error) { return attempt(ctx, fn) }
		if p.eager {
			return retry.DoWithData(do, retry.Context(ctx), retry.Attempts(attempts),
				retry.Delay(0), retry.DelayType(retry.FixedDelay))
		}
		return retry.DoWithData(do, retry.Context(ctx), retry.Attempts(attempts))
	}
}
