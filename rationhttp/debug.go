package rationhttp

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"net/http"
	"strconv"
	"time"
)

// A DebugPage shows every executor of the process and every key: see
// [DebugHandler]. It is an [http.Handler], and safe for concurrent use.
type DebugPage struct {
	history  *history
	template *template.Template
	csp      string
}

var (
	//go:embed debug/page.html
	debugHTML string

	//go:embed debug/page.css
	debugCSS string
)

// DebugHandler returns a page that shows what the budgets, breakers and measured
// terms of this process are at, what was refused and why, and where retries are
// nested in retries: the first thing to look at when calls fail. With
// ?format=json it is the same as data. Mount it as net/http/pprof is, under any
// prefix of a server that the public cannot reach:
//
//	page := rationhttp.DebugHandler()
//	defer page.Close()
//	mux.Handle("/debug/ration/", page)
//
// It changes nothing and answers GET and HEAD only. It needs no script and loads
// nothing, and shows names, hosts and the texts of errors as text, whatever they
// hold. It does show them, as it does routes, addresses and user agents of
// callers whose retries it has seen nested.
//
// From now until [DebugPage.Close] it observes every call that ends, which costs
// each some 200 ns, and keeps about 1 KB, at most 6 KB, for each executor and key
// in use: counts of the last minute, a few of the last refusals, a few sources of
// nested retries. One page is enough for a process; each keeps a history of its
// own. Executors that are collected and keys that are forgotten take theirs with
// them.
func DebugHandler() *DebugPage {
	// html/template adds some 400 KB to every program that imports this package.
	// Escaping by hand would save them, and one escape forgotten hands the page to
	// whoever names a host. It is parsed here and not as every program starts.
	page := template.Must(template.New("page").Funcs(template.FuncMap{"grouped": grouped}).
		Parse(debugHTML))
	sum := sha256.Sum256([]byte(debugCSS))
	return &DebugPage{
		history:  newHistory(),
		template: page,
		csp: "default-src 'none'; img-src data:; form-action 'self'; base-uri 'none'; " +
			"frame-ancestors 'none'; style-src 'sha256-" +
			base64.StdEncoding.EncodeToString(sum[:]) + "'",
	}
}

// Close ends the observation and forgets the history; the page goes on to show
// what can be seen without. It always returns nil, and may be called again.
func (d *DebugPage) Close() error {
	d.history.close()
	return nil
}

// ServeHTTP implements [http.Handler].
func (d *DebugPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", d.csp)
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "rationhttp: this page is only read", http.StatusMethodNotAllowed)
		return
	}
	q := parseDebugQuery(r.URL.Query())
	report := d.report(time.Now(), q)
	status := http.StatusOK
	if q.show != 0 && report.Matching == 0 {
		status = http.StatusNotFound
	}
	var body bytes.Buffer
	var err error
	if q.json {
		h.Set("Content-Type", "application/json")
		err = json.NewEncoder(&body).Encode(report)
	} else {
		h.Set("Content-Type", "text/html; charset=utf-8")
		err = d.template.Execute(&body, newDebugView(report, q))
	}
	if err != nil {
		http.Error(w, "rationhttp: the page cannot be written: "+err.Error(),
			http.StatusInternalServerError)
		return
	}
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(status)
	if r.Method == http.MethodGet {
		_, _ = w.Write(body.Bytes())
	}
}
