// Package rationhttp puts HTTP under a [ration.Policy]: requests that a program
// sends, and what their callers say about the requests that it serves.
//
// A client is protected in one line, and so is every other user of an
// [http.RoundTripper], such as a reverse proxy:
//
//	client, err := rationhttp.NewClient(ration.Policy{Name: "catalogue"})
//
// and a server passes on what its callers say about their retries in one:
//
//	http.ListenAndServe(addr, rationhttp.Middleware()(mux))
//
// # What is retried
//
// GET, HEAD, PUT, DELETE, OPTIONS and TRACE; any other request only when it
// says that it may be repeated, by [Repeatable] in its context or by a key in
// the field Idempotency-Key or X-Idempotency-Key; and none that is declared
// [SingleShot]. A request that may not be retried still runs under the policy,
// as one attempt: the breaker sees it, and its success funds the retries of
// others.
//
// A request body comes again from GetBody, which [http.NewRequest] provides for
// bodies in memory. Without it, the body is kept while it is sent, up to
// [DefaultBodyLimit]: see [WithBodyLimit].
//
// # What is a failure
//
//	429                   throttled: retried after its Retry-After or the longer wait
//	503 with Retry-After  throttled, with that hint
//	408, 500, 502, 503, 504 and other 5xx   transient: retried after the short wait
//	everything else, 501 and 505 included   an answer
//
// Errors of the base are judged by [ration.DefaultClassifier], and by the types
// and values that only net/http returns: connections that a server closes as a
// request goes out, HTTP/2 streams and connections that a server ends. What it
// makes up for one occasion, as when a proxy refuses to connect or an HTTP/2
// connection no longer answers pings, has no type to go by and is not retried.
// A policy's own Classify is asked about responses and errors alike, a failing
// status being a [*StatusError] that is marked with the verdict above, so that
// one which changes a few ends with DefaultClassifier.
//
// # What the caller gets
//
// When attempts end on a failing response, that response, its body unread, and
// no error. When the library stopped the call, a [*ration.Error] that wraps the
// StatusError; see [WithFailingResponse] to get the response then too.
// Responses that a retry replaces are drained and closed before the wait, so
// that their connections are used again.
//
// Deadlines and attempt timeouts bound the way to the headers. A body may take
// as long as it likes, as long as no read of it waits for longer than the
// attempt timeout: see [WithStallTimeout].
//
// # Retries of net/http itself
//
// [http.Transport] sends a request again on its own when a connection that it
// had kept ends before an answer begins: any request of which nothing has gone
// out, and a GET, HEAD, OPTIONS or TRACE, or one with an idempotency key, also if
// the server has seen it. An HTTP/2 server can ask for it too. That is below this
// package, happens at most once for each connection kept, and is neither counted
// nor charged. A base with DisableKeepAlives does not do it, and makes a
// connection for each request.
//
// # What goes on
//
// [DebugHandler] is a page of all executors in the process, those of this package
// and others: budgets, breakers, refusals, and who retries around whom.
//
// # Scope
//
// Budget, breaker and estimates are kept per host and port, for at most
// [ration.MaxKeys] hosts: see [Transport.Hosts]. Keep the transport as long as
// the process lives, since it holds that state.
//
// No error, event or log text of this package holds the user, path or query of
// a URL or the value of a header. Note that [http.Client] puts the URL into the
// error that it wraps around ours.
package rationhttp
