package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ration-go/ration"
)

// A screen is what a terminal shows of one line.
type screen struct {
	mu   sync.Mutex
	text string
	all  bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all.Write(p)
	for _, part := range strings.SplitAfter(string(p), "\r") {
		if _, after, ok := strings.Cut(part, "\x1b[2K"); ok { // empties the line
			s.text, part = "", after
		}
		text, _, cuts := strings.Cut(strings.TrimSuffix(part, "\r"), "\x1b[0K") // ends the line
		old := []rune(s.text)
		if n := width(text); n < len(old) && !cuts {
			text += string(old[n:]) // which it does not cover
		}
		s.text = text
	}
	return len(p), nil
}

func (s *screen) shows() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimSpace(s.text)
}

func (s *screen) written() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Len()
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s screen
		p := startProgress(t.Context(), &s, true, 20_000)
		for range 50 {
			p.count(ration.Event{Kind: ration.EventSucceeded})
			p.count(ration.Event{Kind: ration.EventAttempt})
		}
		time.Sleep(progressAfter - 1)
		synctest.Wait()
		if s.written() > 0 {
			t.Errorf("before its time: %q", s.shows())
		}
		time.Sleep(2 * time.Nanosecond)
		synctest.Wait()
		if got := s.shows(); !strings.Contains(got, " 0%") {
			t.Errorf("at the start: %q", got)
		}
		for range 5000 {
			p.count(ration.Event{Kind: ration.EventSucceeded})
		}
		time.Sleep(2 * progressEvery)
		synctest.Wait()
		if got := s.shows(); !strings.Contains(got, "25%") {
			t.Errorf("a quarter of the way: %q", got)
		}
		for range 20_000 { // more than there were thought to be
			p.count(ration.Event{Kind: ration.EventSucceeded})
		}
		time.Sleep(2 * progressEvery)
		synctest.Wait()
		if got := s.shows(); !strings.Contains(got, "99%") || width(got) > lineWidth-20 {
			t.Errorf("at the end: %q", got)
		}
		p.stop()
		p.stop()
		if got := s.shows(); got != "" {
			t.Errorf("left behind: %q", got)
		}
		before := s.written()
		time.Sleep(time.Minute)
		if s.written() != before {
			t.Error("it goes on")
		}
	})
}

// TestProgressQuiet: nothing is drawn where there is no terminal, nor when the work
// is done, or given up, before long.
func TestProgressQuiet(t *testing.T) {
	tests := []struct {
		name       string
		onTerminal bool
		lasts      time.Duration
		interrupt  bool
	}{
		{"no terminal", false, time.Hour, false},
		{"soon done", true, progressAfter - 1, false},
		{"interrupted", true, time.Hour, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				var s screen
				p := startProgress(ctx, &s, tt.onTerminal, 1000)
				if tt.interrupt {
					cancel()
				}
				time.Sleep(tt.lasts)
				p.stop()
				cancel()
				if s.written() > 0 {
					t.Errorf("drew %q", s.shows())
				}
			})
		})
	}
}

func TestIsTerminal(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if isTerminal(f) || isTerminal(&bytes.Buffer{}) {
		t.Error("a file and a buffer are no terminals")
	}
}
