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
// A server stream begins when its first message is asked for, or its header:
// until then nothing is sent. Streams that are to run side by side must be read
// side by side.
//
// # What is a failure
//
//	Unavailable         transient: retried after the short wait
//	DeadlineExceeded    transient if it was the attempt's own deadline, otherwise permanent
//	ResourceExhausted   throttled: retried after the longer wait, and charged to the
//	                    budget, because the server did work to refuse
//	every other code    permanent
//
// Aborted is the code that is most often worth another try: [WithTransientCodes]
// adds it. An error that carries a mark such as [ration.Transient], from an
// interceptor that runs within the attempt, is what the mark says, whatever its
// code. A policy's own Classify is asked about the status errors of attempts,
// marked with the verdict above, so that one which changes a few ends with
// [ration.DefaultClassifier]; the value beside them, as beside a nil error, is the
// reply or a stream's first message.
//
// A server's pushback is obeyed: grpc-retry-pushback-ms replaces the wait, and
// forbids the retry when it is negative, unreadable or given twice, as gRFC A6
// has it; google.rpc.RetryInfo in the status details replaces the wait too.
//
// # What the caller gets
//
// When attempts end on a failure, its status as gRPC gave it. When the library
// stopped the call, a [*ration.Error] in a wrapper that has a status too, so that
// errors.As and status.Code both work. The call options Header, Trailer and Peer
// tell of the last attempt.
//
// Each attempt's deadline goes out as grpc-timeout, unless that of the caller's
// context is earlier. A server stream sends only the latter: it outlives its
// attempt, so that the attempt timeout and the policy's Deadline bound the way to
// the first message. Client and bidirectional streams are bounded by neither.
//
// # Retries of gRPC itself
//
// grpc-go retries on its own in two ways. A call that certainly never reached
// the server is sent again transparently; that is below this package, costs the
// server nothing, and is left alone. A retry policy in the service config
// multiplies with the one here: four attempts there and three here are twelve.
// Use one of the two; [grpc.WithDisableRetry] turns the other off.
//
// # Scope
//
// Budget, breaker and estimates are kept per service, the first part of the
// method's name, for at most [ration.MaxKeys] services of a connection. Keep the
// interceptor as long as the connection lives: it holds that state.
package rationgrpc
