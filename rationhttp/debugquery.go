package rationhttp

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A debugQuery is what the query string of a page asks for. What it does not say,
// or says in a way that cannot be read, has a default.
type debugQuery struct {
	search  string // part of a name or key, lower case; "" = all
	sort    string // one of debugSorts
	only    string // "degraded", or "" = all
	page    int    // from 1
	per     int    // items to a page; 0 = all of them on one
	refresh int    // seconds; 0 = off
	show    uint64 // the id of one item; 0 = the list
	json    bool
}

// The orders of the list. The first is the default: what is in trouble comes
// first.
var debugSorts = []string{"trouble", "name", "spent", "attempts", "calls", "refused"}

// The intervals at which a page refreshes itself, in seconds. The second is the
// default.
var debugRefreshes = []int{2, 5, 15, 60, 0}

const (
	debugPerPage    = 50
	debugMaxPerPage = 500
	debugMaxSearch  = 200 // bytes
)

func parseDebugQuery(v url.Values) debugQuery {
	q := debugQuery{
		search: strings.ToLower(strings.ToValidUTF8(cut(v.Get("q"), debugMaxSearch), "")),
		sort:   debugSorts[0],
		page:   1,
		json:   v.Get("format") == "json",
	}
	if s := v.Get("sort"); slices.Contains(debugSorts, s) {
		q.sort = s
	}
	if v.Get("only") == "degraded" {
		q.only = "degraded"
	}
	if n, err := strconv.Atoi(v.Get("page")); err == nil && n > 1 {
		q.page = n
	}
	if !q.json {
		q.per = debugPerPage
	}
	if n, err := strconv.Atoi(v.Get("per")); err == nil && n > 0 {
		q.per = min(n, debugMaxPerPage)
	}
	q.refresh = debugRefreshes[1]
	if n, err := strconv.Atoi(v.Get("refresh")); err == nil && slices.Contains(debugRefreshes, n) {
		q.refresh = n
	}
	q.show, _ = strconv.ParseUint(v.Get("show"), 10, 64)
	return q
}

// link returns the address, relative to the page, of the page after a change. What
// is as it is by default is left out, so that addresses stay short enough to be
// sent to somebody.
func (q debugQuery) link(change func(*debugQuery)) string {
	if change != nil {
		change(&q)
	}
	v := url.Values{}
	set := func(key, value string, is bool) {
		if is {
			v.Set(key, value)
		}
	}
	set("q", q.search, q.search != "")
	set("sort", q.sort, q.sort != debugSorts[0])
	set("only", q.only, q.only != "")
	set("page", strconv.Itoa(q.page), q.page > 1)
	set("per", strconv.Itoa(q.per), q.per != debugPerPage && q.per != 0)
	set("refresh", strconv.Itoa(q.refresh), q.refresh != debugRefreshes[1])
	set("show", strconv.FormatUint(q.show, 10), q.show != 0)
	set("format", "json", q.json)
	return "?" + v.Encode()
}
