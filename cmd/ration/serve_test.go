package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// The page of a drill shows its hops while it runs, and is gone afterwards.
func TestDrillServes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stderr := newTail()
	ended := make(chan int)
	go func() {
		args := []string{"drill", "--serve", "127.0.0.1:0", "--for", "1h", "--rate", "50"}
		ended <- run(ctx, args, nil, io.Discard, stderr)
	}()
	m := regexp.MustCompile(`http://\S+/debug/ration/`).FindString(stderr.await(t, ", the metrics"))
	base := strings.TrimSuffix(m, "debug/ration/")
	for path, want := range map[string]string{
		"":                           "Executors and keys",
		"debug/ration/":              "Executors and keys",
		"debug/ration/?format=json":  `"items":[`,
		"metrics":                    "target_info",
		"debug/ration/?q=nobody+has": "Nothing matches",
	} {
		resp, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("/%s: %v, %s without %q:\n%.300s", path, err, resp.Status, want, body)
		}
	}
	cancel()
	if status := <-ended; status != statusInterrupted {
		t.Errorf("status %d, want %d; %s", status, statusInterrupted, stderr)
	}
	if _, err := http.Get(m); err == nil {
		t.Error("the page is still there")
	}
}

// What cannot be served is said at once: nothing was measured that a last scrape
// would have to be waited for.
func TestDrillCannotServe(t *testing.T) {
	for _, tc := range []struct{ name, serve, metrics, want string }{
		{"no page", "nowhere", "", "cannot serve the page"},
		{"no page, but metrics", "nowhere", "127.0.0.1:0", "cannot serve the page"},
		{"no metrics", "", "nowhere", "cannot serve metrics"},
		{"a page, but no metrics", "127.0.0.1:0", "nowhere", "cannot serve metrics"},
	} {
		args := []string{"drill", "--serve", tc.serve, "--metrics", tc.metrics}
		var stderr bytes.Buffer
		status := run(t.Context(), args, nil, io.Discard, &stderr)
		if status != statusFailed || !strings.Contains(stderr.String(), tc.want) ||
			strings.Contains(stderr.String(), "waiting") {
			t.Errorf("%s: status %d: %s", tc.name, status, &stderr)
		}
	}
}

// A tail is a stream that one can wait for.
type tail struct {
	text    chan string // holds all that was written
	written chan struct{}
}

func newTail() *tail {
	s := &tail{make(chan string, 1), make(chan struct{}, 1)}
	s.text <- ""
	return s
}

func (s *tail) Write(p []byte) (int, error) {
	s.text <- <-s.text + string(p)
	select {
	case s.written <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (s *tail) String() string {
	text := <-s.text
	s.text <- text
	return text
}

// await returns what was written once that contains what is waited for.
func (s *tail) await(t *testing.T, want string) string {
	t.Helper()
	for !strings.Contains(s.String(), want) {
		select {
		case <-s.written:
		case <-t.Context().Done():
			t.Fatalf("no %q in %s", want, s)
		}
	}
	return s.String()
}
