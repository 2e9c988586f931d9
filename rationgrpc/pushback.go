package rationgrpc

import (
	"math"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// pushbackKey is the trailer of gRFC A6 in which a server says when to retry, or
// that one must not.
const pushbackKey = "grpc-retry-pushback-ms"

// A pushback is what a server said about retrying.
type pushback struct {
	forbidden bool
	after     time.Duration // 0 = nothing was said
}

// readPushback reads the trailer, and the status details where there is none.
// As in grpc-go, a value that cannot be read forbids: a server that went to the
// trouble of saying something about retries is not in a state to be retried by
// clients that do not understand it.
func readPushback(trailer metadata.MD, s *status.Status) pushback {
	switch values := trailer.Get(pushbackKey); len(values) {
	case 0:
		return pushback{after: retryInfo(s)}
	case 1:
		ms, err := strconv.ParseInt(values[0], 10, 64)
		if err != nil || ms < 0 {
			return pushback{forbidden: true}
		}
		return pushback{after: milliseconds(ms)}
	}
	return pushback{forbidden: true}
}

// milliseconds is saturated. Zero means at once, which a hint of zero does not:
// there it means that nothing was said. Here the server did say it.
func milliseconds(ms int64) time.Duration {
	if ms > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	return max(time.Duration(ms)*time.Millisecond, 1)
}

// retryInfo returns the delay of a google.rpc.RetryInfo among the details.
func retryInfo(s *status.Status) time.Duration {
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok && info.GetRetryDelay() != nil {
			return max(info.GetRetryDelay().AsDuration(), 0)
		}
	}
	return 0
}
