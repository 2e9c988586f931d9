package rationconfig

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/ration-go/ration"
)

// A Loader loads sets of policies. The zero Loader is what [Load] and [Watch] use. It
// is a value; it must not be changed while a set of its making is in use, and its
// functions must be safe for concurrent use if sets share them.
type Loader struct {
	// Customize gives a policy what a file cannot express, such as a Classify or an
	// OnEvent. It runs after the file has had its say, and goes before it. nil =
	// none. It runs for every policy whenever a file is read that is not as it was,
	// also for files that are then refused, and must not change what the policy
	// points to.
	Customize func(name string, p *ration.Policy)

	// OnReload hears of every reload, good or bad, that [Status] counts. nil =
	// nobody does. It runs on the goroutine of the reload, outside every lock, and
	// a panic in it is isolated.
	OnReload func(Reload)

	// Logger gets one line for each reload, an error if it failed. The same
	// failure is logged once. nil = [slog.Default].
	Logger *slog.Logger

	// Poll is how often [Loader.Watch] looks at the files although nobody told it
	// of a change, as on network file systems. 0 = 10 s.
	Poll time.Duration
}

// Load reads the policies of a file. Of several files, a later one goes before those
// ahead of it, key by key. The error lists everything that is wrong with all of them;
// it is a [*strict.Error].
//
// [strict.Error]: https://pkg.go.dev/github.com/ration-go/ration/rationconfig/strict#Error
func Load(paths ...string) (*Set, error) { return Loader{}.Load(paths...) }

// Watch is [Load] for files that change: the set reloads whenever one does, until it is
// closed.
//
// A file may be written in place, be replaced, vanish for a while, or lie behind
// symbolic links that are swapped, as Kubernetes mounts it. Changes in quick succession
// become one reload, a tenth of a second after the last of them. What cannot be used
// changes nothing: it is counted, logged and told by [Set.Status], and the settings
// that were in force stay so.
//
// Whoever writes a file in place shows readers parts of it. Such a part is usually
// refused, but one that ends between two policies is a good file that lacks some; put a
// new file beside the old and rename it.
func Watch(paths ...string) (*Set, error) { return Loader{}.Watch(paths...) }

// Policies reads files as [Load] does and returns the policies in them as values, for
// who builds the executors otherwise or only looks. A budget that the files share has
// its numbers, but is not shared.
func Policies(paths ...string) (map[string]ration.Policy, error) {
	if len(paths) == 0 {
		return nil, errNoFile
	}
	f, err := parse(read("", paths))
	if err != nil {
		return nil, err
	}
	policies := make(map[string]ration.Policy, len(f.Policies))
	for name, p := range f.Policies {
		policy, err := p.build(f.Budgets)
		if err != nil {
			return nil, err
		}
		policy.Name = name
		policies[name] = policy
	}
	return policies, nil
}

// Load is the function [Load] with the settings of l.
func (l Loader) Load(paths ...string) (*Set, error) {
	s := &Set{
		loader:    l,
		paths:     slices.Clone(paths),
		executors: make(map[string]*ration.Executor),
	}
	// A program that leaves its directory still means the files that were there. If
	// the directory is gone, so are they, and reading says so.
	s.dir, _ = os.Getwd()
	if err := s.begin(); err != nil {
		return nil, err
	}
	return s, nil
}

var errNoFile = errors.New("rationconfig: there is no file to load; name at least one")

// begin is the first load.
func (s *Set) begin() error {
	if len(s.paths) == 0 {
		return errNoFile
	}
	p := s.loader.plan(read(s.dir, s.paths))
	if p.err != nil {
		return p.err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.seen = p.digest
	s.status.LoadedAt = now
	return s.apply(p, now).Err
}

// customize runs the user's function, and makes an error of a panic: a file that is
// edited must not end the process.
func (l *Loader) customize(name string, p *ration.Policy) (err error) {
	if l.Customize == nil {
		return nil
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("rationconfig: Customize panics at policy %q: %v", name, r)
		}
	}()
	l.Customize(name, p)
	checked := *p
	checked.Unlisted = true
	if _, err = ration.New(checked); err != nil {
		err = fmt.Errorf("rationconfig: policy %q after Customize: %w", name, err)
	}
	return err
}

// logger returns where to log.
func (l *Loader) logger() *slog.Logger {
	if l.Logger != nil {
		return l.Logger
	}
	return slog.Default()
}
