// Package rationgrpc puts gRPC calls under a [ration.Policy].
//
// A client connection is protected in one line:
//
//	guard, err := rationgrpc.New(ration.Policy{Name: "inventory"})
//	...
//	conn, err := grpc.NewClient(target, append(guard.DialOptions(), creds)...)
//
// and a server passes on what its callers say about their retries in one:
//
//	server := grpc.NewServer(rationgrpc.ServerOptions()...)
//
// # What is retried
//
// Unary calls and server streams, unless they are declared single-shot with
// [SingleShot] or [WithRepeatable]. A server stream is retried until its first
// message has arrived; after that nothing is retried and nothing is cut. Client
// and bidirectional streams are never retried, since what they have sent is
// gone, but the breaker refuses them and hears how they begin, and their
// successes feed the budget.
//
// Unavailable, and DeadlineExceeded when it was the attempt's own deadline, are
// transient; ResourceExhausted is throttled, and charged to the budget, because
// the server did work to refuse; every other code is permanent. Aborted is the
// one that is most often worth another try: [WithTransientCodes] adds it.
//
// A server's pushback is obeyed: grpc-retry-pushback-ms replaces the wait, and
// forbids the retry when it is negative, unreadable or given twice, as gRFC A6
// has it; google.rpc.RetryInfo in the status details replaces the wait too.
//
// # Retries of gRPC itself
//
// grpc-go retries on its own in two ways. A call that certainly never reached
// the server is sent again transparently; that is below this package, costs the
// server nothing, and is left alone. A retry policy in the service config
// multiplies with the one here: four attempts there and three here are twelve.
// Use one of the two; grpc.WithDisableRetry turns the other off.
//
// # Scope
//
// Budget, breaker and estimates are kept per service, the first part of the
// method's name, for at most [ration.MaxKeys] services of a connection. Keep the
// interceptor as long as the connection lives: it holds that state.
package rationgrpc
