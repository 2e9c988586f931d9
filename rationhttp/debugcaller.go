package rationhttp

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"strings"
)

// A caller is where a nested retry comes from: what is safe to show of the
// request whose sender retries too. The path and the query are not: they are
// unbounded in number, and hold what nobody should read.
type caller struct {
	peer  string // the address without its port
	route string // the pattern that the request matches, if known
	agent string // the beginning of its User-Agent
}

var (
	// inProcess is the source where no request of a caller is served: the outer
	// loop is an attempt of another executor.
	inProcess = caller{peer: "this process"}

	otherCallers = caller{peer: "others"}
)

// clone returns a copy that does not keep the header that it was cut from.
func (c caller) clone() caller {
	return caller{strings.Clone(c.peer), strings.Clone(c.route), strings.Clone(c.agent)}
}

const callerLength = 160 // bytes of each of its parts

type callerKey struct{}

// withCaller puts into ctx who sends r, while a page is there that shows it.
func withCaller(ctx context.Context, r *http.Request, next http.Handler) context.Context {
	if recording.Load() == 0 {
		return ctx
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return context.WithValue(ctx, callerKey{}, caller{
		peer:  cut(cmp.Or(host, "unknown"), callerLength),
		route: cut(routeOf(r, next), callerLength),
		agent: cut(r.UserAgent(), callerLength),
	})
}

// routeOf returns the pattern that r matches. A mux sets it on the request as it
// passes, which is later when it is what comes next, and must then be asked.
func routeOf(r *http.Request, next http.Handler) string {
	if mux, ok := next.(*http.ServeMux); ok && r.Pattern == "" {
		_, pattern := mux.Handler(r)
		return pattern
	}
	return r.Pattern
}

func callerOf(ctx context.Context) caller {
	if c, ok := ctx.Value(callerKey{}).(caller); ok {
		return c
	}
	return inProcess
}
