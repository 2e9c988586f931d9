package rationconfig

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// defaultPoll is how long a change may go unnoticed where the system does not
	// tell of it. Reading a small file that often costs nothing.
	defaultPoll = 10 * time.Second

	// quiet is how long there is no further change before files are read. It lets
	// an editor finish, which takes a few steps, and joins what belongs together.
	quiet = 100 * time.Millisecond

	// patience is how long changes that never pause can put off a reload.
	patience = 2 * time.Second
)

// Watch is the function [Watch] with the settings of l.
func (l Loader) Watch(paths ...string) (*Set, error) {
	w := newWatcher(&l)
	w.look(paths) // before the first read, so that no change falls in between
	s, err := l.Load(paths...)
	if err != nil {
		w.close()
		return nil, err
	}
	paths = slices.Clone(paths)
	for i := range paths {
		paths[i] = from(s.dir, paths[i])
	}
	ctx, stop := context.WithCancel(context.Background())
	w.reload = func() {
		w.look(paths)
		_ = s.reload(ctx) // has been told
	}
	w.stop = stop
	s.watch = w
	go w.run(ctx)
	return s, nil
}

// A watcher turns what a file system tells into reloads. It belongs to one goroutine.
type watcher struct {
	notify  *fsnotify.Watcher // nil where there is none to be had
	events  <-chan fsnotify.Event
	faults  <-chan error
	logger  *slog.Logger
	poll    time.Duration
	reload  func()
	stop    func()
	done    chan struct{}   // closed when all has ended
	dirs    []string        // that are watched
	matters map[string]bool // what a change of counts
}

func newWatcher(l *Loader) *watcher {
	w := &watcher{logger: l.logger(), poll: l.Poll, done: make(chan struct{})}
	if w.poll <= 0 {
		w.poll = defaultPoll
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		// The number of watchers is limited, per user as a rule. It must not keep
		// a service from starting.
		w.logger.Warn("rationconfig: changes of files are found by polling only",
			"every", w.poll, "err", err)
		return w
	}
	w.notify, w.events, w.faults = notify, notify.Events, notify.Errors
	return w
}

// run reloads after changes until the context ends.
func (w *watcher) run(ctx context.Context) {
	defer close(w.done)
	defer w.close()
	var s settling
	timer := time.NewTimer(w.poll)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case event := <-w.events:
			if !w.matters[event.Name] {
				continue
			}
			s.touch(time.Now())
			timer.Reset(time.Until(s.due()))
		case err := <-w.faults:
			// Events may be lost: look at the files.
			w.logger.Warn("rationconfig: watching files", "err", err)
			s.touch(time.Now())
			timer.Reset(time.Until(s.due()))
		case <-timer.C:
			s = settling{}
			w.reload()
			timer.Reset(w.poll)
		}
	}
}

// look watches the directories in which a change could matter. What the paths lead to
// may have moved since the last time, and a directory that was replaced under its name
// is no longer watched, so that all is done anew.
func (w *watcher) look(paths []string) {
	if w.notify == nil {
		return
	}
	for _, dir := range w.dirs {
		_ = w.notify.Remove(dir) // may be gone
	}
	w.dirs, w.matters = places(paths)
	for _, dir := range w.dirs {
		_ = w.notify.Add(dir) // polling finds what this does not tell of
	}
}

func (w *watcher) close() {
	if w.notify != nil {
		w.notify.Close()
	}
}

// settling waits for a series of changes to end.
type settling struct{ first, last time.Time }

func (s *settling) touch(now time.Time) {
	if s.first.IsZero() {
		s.first = now
	}
	s.last = now
}

// due returns when the changes count as one.
func (s *settling) due() time.Time {
	due, latest := s.last.Add(quiet), s.first.Add(patience)
	if due.After(latest) {
		return latest
	}
	return due
}
