package rationhttp

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"strings"

	"github.com/ration-go/ration"
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

// nested marks ctx as that of a request whose sender retries, and says who that is
// while a page is there that shows it.
func nested(ctx context.Context, r *http.Request, next http.Handler) context.Context {
	if recording.Load() == 0 {
		return ration.WithNestedRetry(ctx)
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	c := ration.RetryingCaller{Peer: host, Route: routeOf(r, next), Agent: r.UserAgent()}
	return ration.WithNestedRetryFrom(ctx, func() ration.RetryingCaller { return c })
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
	c, ok := ration.RetryingCallerOf(ctx)
	if !ok {
		return inProcess
	}
	return caller{
		peer:  keep(cmp.Or(c.Peer, "unknown"), callerLength),
		route: keep(c.Route, callerLength),
		agent: keep(c.Agent, callerLength),
	}
}
