package rationconfig

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// A watched set whose reloads a test waits for.
type watched struct {
	*Set
	t       *testing.T
	reloads chan Reload
}

// watch watches files with nothing but what the system tells of them.
func watch(t *testing.T, names ...string) *watched {
	t.Helper()
	w := &watched{t: t, reloads: make(chan Reload, 1000)}
	l := Loader{
		Poll:     time.Hour,
		Logger:   slog.New(slog.DiscardHandler),
		OnReload: func(r Reload) { w.reloads <- r },
	}
	var err error
	if w.Set, err = l.Watch(names...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// until waits for the reload that brings p to so many attempts. There may be others
// before it: a file that is written in two steps can be read in between.
func (w *watched) until(attempts int) {
	w.t.Helper()
	for executor(w.t, w.Set, "p").Policy().Attempts != attempts {
		<-w.reloads
	}
}

// failure waits for the next reload that fails.
func (w *watched) failure() {
	w.t.Helper()
	for (<-w.reloads).Err == nil {
	}
}

func policy(attempts int) string {
	return fmt.Sprintf("policies: {p: {attempts: %d}}", attempts)
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestWatch: a change is seen, whichever way it is made.
func TestWatch(t *testing.T) {
	tests := []struct {
		name   string
		change func(t *testing.T, w *watched)
	}{
		{"written in place", func(t *testing.T, w *watched) {
			rewrite(t, "a.yaml", policy(5))
		}},
		{"replaced", func(t *testing.T, w *watched) {
			rewrite(t, "a.yaml.new", policy(5))
			must(t, os.Rename("a.yaml.new", "a.yaml"))
		}},
		{"replaced by an editor that keeps the old one", func(t *testing.T, w *watched) {
			must(t, os.Rename("a.yaml", "a.yaml~"))
			rewrite(t, "a.yaml", policy(5))
		}},
		{"removed, and back after a while", func(t *testing.T, w *watched) {
			must(t, os.Remove("a.yaml"))
			w.failure()
			rewrite(t, "a.yaml", policy(5))
		}},
		{"bad, and good after a while", func(t *testing.T, w *watched) {
			rewrite(t, "a.yaml", "policies: {p: {attempts: 0}}")
			w.failure()
			rewrite(t, "a.yaml", policy(5))
		}},
		{"its directory replaced", func(t *testing.T, w *watched) {
			dir, err := os.Getwd()
			must(t, err, os.Mkdir(dir+".new", 0o777), os.WriteFile(dir+".new/a.yaml", []byte(policy(5)), 0o666),
				os.Rename(dir, dir+".old"), os.Rename(dir+".new", dir))
			t.Cleanup(func() { os.RemoveAll(dir + ".old") })
		}},
		{"replaced twice, the second time in a new directory", func(t *testing.T, w *watched) {
			dir, err := os.Getwd()
			must(t, err, os.RemoveAll(dir))
			w.failure()
			must(t, os.Mkdir(dir, 0o777), os.WriteFile(dir+"/a.yaml", []byte(policy(4)), 0o666))
			w.until(4)
			must(t, os.WriteFile(dir+"/a.yaml", []byte(policy(5)), 0o666))
		}},
		{"a link in its place", func(t *testing.T, w *watched) {
			rewrite(t, "b.yaml", policy(4))
			must(t, os.Symlink("b.yaml", "link"), os.Rename("link", "a.yaml"))
			w.until(4)
			rewrite(t, "b.yaml", policy(5)) // where only the link leads
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			names := write(t, policy(2))
			path, err := filepath.Abs(names[0])
			must(t, err)
			w := watch(t, path)
			tt.change(t, w)
			w.until(5)
		})
	}
}

// TestWatchKubernetes: a mounted ConfigMap is a link to a file behind a link to a
// directory, and an update swaps the second link.
func TestWatchKubernetes(t *testing.T) {
	t.Chdir(t.TempDir())
	mount := func(version string, attempts int) {
		must(t, os.Mkdir(version, 0o777),
			os.WriteFile(filepath.Join(version, "policies.yaml"), []byte(policy(attempts)), 0o666),
			os.Symlink(version, "..data_tmp"), os.Rename("..data_tmp", "..data"))
	}
	mount("..2026_1", 2)
	must(t, os.Symlink(filepath.Join("..data", "policies.yaml"), "policies.yaml"))
	w := watch(t, "policies.yaml")
	for i := range 5 {
		mount(fmt.Sprintf("..2026_%d", i+2), i+3)
		must(t, os.RemoveAll(fmt.Sprintf("..2026_%d", i+1)))
		w.until(i + 3)
	}
	if s := w.Status(); s.Err != nil {
		t.Error(s.Err)
	}
}

// TestWatchLinkFarAway: the link that is swapped is neither beside the path nor beside
// the file, and is absolute.
func TestWatchLinkFarAway(t *testing.T) {
	root := t.TempDir()
	at := func(elements ...string) string { return filepath.Join(append([]string{root}, elements...)...) }
	for i, release := range []string{"one", "two"} {
		must(t, os.MkdirAll(at("releases", release), 0o777),
			os.WriteFile(at("releases", release, "p.yaml"), []byte(policy(i+2)), 0o666))
	}
	must(t, os.Mkdir(at("etc"), 0o777), os.Symlink(at("releases", "one"), at("releases", "current")),
		os.Symlink(at("releases", "current", "p.yaml"), at("etc", "p.yaml")))
	w := watch(t, at("etc", "p.yaml"))
	must(t, os.Symlink("two", at("swap")), os.Rename(at("swap"), at("releases", "current")))
	w.until(3)
	// What no longer leads to the file is no longer watched.
	got := w.watch.notify.WatchList()
	slices.Sort(got)
	if want := []string{at("etc"), at("releases"), at("releases", "two")}; !slices.Equal(got, want) {
		t.Errorf("%q are watched", got)
	}
}

// TestWatchLayers: any of several files may change.
func TestWatchLayers(t *testing.T) {
	names := write(t, policy(2), "policies: {q: {}}")
	w := watch(t, names...)
	rewrite(t, names[1], policy(4))
	w.until(4)
	rewrite(t, names[0], "policies: {q: {}}")
	rewrite(t, names[1], policy(5))
	w.until(5)
}

// TestWatchElsewhere: a program may leave the directory that it named its files in.
func TestWatchElsewhere(t *testing.T) {
	names := write(t, policy(2))
	path, err := filepath.Abs(names[0])
	must(t, err)
	w := watch(t, names...)
	t.Chdir(t.TempDir())
	rewrite(t, path, policy(4))
	w.until(4)
	rewrite(t, path, policy(5))
	w.until(5)
}

// TestWatchRapid: of a thousand writes in a row the last one is in force, and they have
// not been a thousand reloads.
func TestWatchRapid(t *testing.T) {
	names := write(t, policy(2))
	w := watch(t, names...)
	for i := range 1000 {
		rewrite(t, "next", policy(3+i))
		must(t, os.Rename("next", names[0]))
	}
	w.until(1002)
	if s := w.Status(); s.Failures > 0 || s.Reloads > 500 {
		t.Errorf("%+v", s)
	}
}

// TestWatchRefuses: what cannot be loaded is not watched.
func TestWatchRefuses(t *testing.T) {
	if s, err := Watch(write(t, "policies: {}")...); s != nil || err == nil {
		t.Errorf("got %v, %v", s, err)
	}
	if s, err := Watch(); s != nil || err == nil {
		t.Errorf("got %v, %v", s, err)
	}
}

// TestClose: a set that is closed no longer follows its file, and can still be used.
func TestClose(t *testing.T) {
	names := write(t, policy(2))
	w := watch(t, names...)
	must(t, w.Close(), w.Close())
	<-w.watch.done
	rewrite(t, names[0], policy(5))
	if got := executor(t, w.Set, "p").Policy().Attempts; got != 2 {
		t.Errorf("%d attempts", got)
	}
	must(t, w.Reload())
	w.until(5)
}

// TestCloseEnds: nothing is left of a set that is closed, though its files change.
func TestCloseEnds(t *testing.T) {
	names := write(t, policy(2))
	for i := range 20 {
		s, err := quietLoader().Watch(names...)
		must(t, err)
		rewrite(t, names[0], policy(3+i))
		must(t, s.Close())
		<-s.watch.done
		for range s.watch.events { // until the library's own goroutine has ended
		}
	}
}

// TestCloseWithin: a set may be closed from the function that hears of reloads.
func TestCloseWithin(t *testing.T) {
	names := write(t, policy(2))
	var s *Set
	var ready, done sync.WaitGroup
	ready.Add(1)
	done.Add(1)
	l := Loader{Logger: slog.New(slog.DiscardHandler), OnReload: func(Reload) {
		ready.Wait()
		s.Close()
		done.Done()
	}}
	s, err := l.Watch(names...)
	must(t, err)
	ready.Done()
	rewrite(t, names[0], policy(5))
	done.Wait()
}

// pretend runs a watcher whose events the test makes up, in the bubble of its caller.
// It counts reloads.
func pretend(t *testing.T) (tell func(name string), reloads *atomic.Int64) {
	events := make(chan fsnotify.Event)
	reloads = new(atomic.Int64)
	w := &watcher{
		events:  events,
		poll:    defaultPoll,
		logger:  slog.New(slog.DiscardHandler),
		done:    make(chan struct{}),
		reload:  func() { reloads.Add(1) },
		matters: map[string]bool{"a": true},
	}
	go w.run(t.Context())
	return func(name string) {
		events <- fsnotify.Event{Name: name}
		synctest.Wait()
	}, reloads
}

// TestSettling: changes in quick succession are one, and what does not matter is not
// heard.
func TestSettling(t *testing.T) {
	type step struct {
		at   time.Duration
		op   string // the name that an event has; "" for none
		want int64  // reloads
	}
	tests := []struct {
		name  string
		steps []step
	}{
		{"one change", []step{{0, "a", 0}, {quiet - 1, "", 0}, {quiet, "", 1}, {5 * time.Second, "", 1}}},
		{"a second one puts it off", []step{{0, "a", 0}, {quiet / 2, "a", 0}, {quiet, "", 0}, {quiet * 3 / 2, "", 1}}},
		{"two that are apart", []step{{0, "a", 0}, {quiet, "", 1}, {2 * quiet, "a", 1}, {3 * quiet, "", 2}}},
		{"another file", []step{{0, "b", 0}, {time.Second, "", 0}}},
		{"polling", []step{{defaultPoll - 1, "", 0}, {defaultPoll, "", 1}, {2 * defaultPoll, "", 2}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tell, reloads := pretend(t)
				start := time.Now()
				for _, s := range tt.steps {
					time.Sleep(s.at - time.Since(start))
					synctest.Wait()
					if s.op != "" {
						tell(s.op)
					}
					if reloads.Load() != s.want {
						t.Fatalf("at %v: %d reloads, want %d", s.at, reloads.Load(), s.want)
					}
				}
			})
		})
	}
}

// TestPatience: changes that never pause do not put off a reload for ever.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tell, reloads := pretend(t)
		for range 5 * patience / quiet {
			tell("a")
			time.Sleep(quiet / 2)
		}
		if reloads.Load() != 2 {
			t.Errorf("%d reloads in %v", reloads.Load(), 5*patience/2)
		}
	})
}
