package rationhttp

import (
	"context"
	"net/http"
)

type repeatableKey struct{}

// Repeatable returns a context whose requests may be retried whatever their
// method: the server carries out a second copy of them as if there were one. It
// says so beyond what the method and an Idempotency-Key say, and travels no
// further than the process. The innermost of it and [SingleShot] counts.
func Repeatable(ctx context.Context) context.Context {
	return context.WithValue(ctx, repeatableKey{}, true)
}

// SingleShot returns a context whose requests are never retried, whatever their
// method and header.
func SingleShot(ctx context.Context) context.Context {
	return context.WithValue(ctx, repeatableKey{}, false)
}

// repeatable reports whether a request may be sent again: because its context
// says so, its method is idempotent, or its header has a key by which the
// server recognises copies. What the context says beats everything else.
func repeatable(req *http.Request) bool {
	if declared, ok := req.Context().Value(repeatableKey{}).(bool); ok {
		return declared
	}
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete,
		http.MethodOptions, http.MethodTrace:
		return true
	}
	return hasKey(req.Header, "Idempotency-Key") || hasKey(req.Header, "X-Idempotency-Key")
}

// hasKey reports whether a field makes a request idempotent. As in net/http, an
// entry without values does and is not sent. An empty value does not: it is
// what a program sends whose key went missing, and no server tells copies apart
// by it.
func hasKey(h http.Header, name string) bool {
	values, ok := h[name]
	return ok && (len(values) == 0 || values[0] != "")
}

// method returns the method of a request, which is GET when it is empty.
func method(req *http.Request) string {
	if req.Method == "" {
		return http.MethodGet
	}
	return req.Method
}

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }
