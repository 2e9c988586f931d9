package rationhttp

import (
	"io"
	"net/http"

	"github.com/ration-go/ration"
)

// A gaveUpWriter adds [RetryHeader] to a failing response when calls made for
// the request have given up by then.
type gaveUpWriter struct {
	http.ResponseWriter
	gaveUp *ration.GiveUp
}

// watch returns a writer that adds the header. Code that looks for optional
// methods by type finds those that w has, and no others: a writer that claims
// to flush and does not breaks whoever believes it. [http.ResponseController]
// finds w itself.
func watch(w http.ResponseWriter, gaveUp *ration.GiveUp) http.ResponseWriter {
	g := &gaveUpWriter{ResponseWriter: w, gaveUp: gaveUp}
	flusher, flushes := w.(http.Flusher)
	hijacker, hijacks := w.(http.Hijacker)
	switch {
	case flushes && hijacks:
		return struct {
			*gaveUpWriter
			http.Flusher
			http.Hijacker
		}{g, flusher, hijacker}
	case flushes:
		return struct {
			*gaveUpWriter
			http.Flusher
		}{g, flusher}
	case hijacks:
		return struct {
			*gaveUpWriter
			http.Hijacker
		}{g, hijacker}
	}
	return g
}

// WriteHeader is where a status is final. An implicit one is 200 and no
// failure.
func (g *gaveUpWriter) WriteHeader(status int) {
	if failing(status) && g.gaveUp.Marked() {
		g.Header().Set(RetryHeader, retryNever)
	}
	g.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (g *gaveUpWriter) Unwrap() http.ResponseWriter { return g.ResponseWriter }

// ReadFrom keeps the way open by which net/http has the kernel copy a file.
func (g *gaveUpWriter) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(g.ResponseWriter, r)
}
