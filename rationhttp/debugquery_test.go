package rationhttp

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDebugQuery(t *testing.T) {
	byDefault := debugQuery{sort: "trouble", page: 1, per: 50, refresh: 5}
	with := func(change func(*debugQuery)) debugQuery {
		q := byDefault
		change(&q)
		return q
	}
	for _, tc := range []struct {
		query string
		want  debugQuery
	}{
		{"", byDefault},
		{"sort=x&only=x&page=x&per=x&refresh=x&show=x&format=x&unknown=x", byDefault},
		{"page=0&per=0&refresh=3&show=-1", byDefault},
		{"page=-1&per=-1&refresh=-1", byDefault},
		{"q=DB-1", with(func(q *debugQuery) { q.search = "db-1" })},
		{"sort=calls&only=degraded&page=3&per=20", with(func(q *debugQuery) {
			q.sort, q.only, q.page, q.per = "calls", "degraded", 3, 20
		})},
		{"per=501", with(func(q *debugQuery) { q.per = 500 })},
		{"refresh=0", with(func(q *debugQuery) { q.refresh = 0 })},
		{"show=7", with(func(q *debugQuery) { q.show = 7 })},
		{"format=json", with(func(q *debugQuery) { q.json, q.per = true, 0 })},
		{"format=json&per=5", with(func(q *debugQuery) { q.json, q.per = true, 5 })},
	} {
		v, err := url.ParseQuery(tc.query)
		if err != nil {
			t.Fatal(err)
		}
		got := parseDebugQuery(v)
		if got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.query, got, tc.want)
		}
		again, err := url.ParseQuery(strings.TrimPrefix(got.link(nil), "?"))
		if err != nil || parseDebugQuery(again) != got {
			t.Errorf("%s: its link %s asks for something else", tc.query, got.link(nil))
		}
	}
}

func TestDebugQuerySearchIsBounded(t *testing.T) {
	for _, text := range []string{strings.Repeat("a", 1<<20), strings.Repeat("東", 1000), "\xff\xfe"} {
		q := parseDebugQuery(url.Values{"q": {text}})
		if len(q.search) > debugMaxSearch || !utf8.ValidString(q.search) {
			t.Errorf("%d bytes: %q", len(q.search), q.search)
		}
	}
}
