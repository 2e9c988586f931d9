package rationconfig

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationconfig/strict"
)

// ErrUnknownPolicy is what the error of [Set.Executor] wraps.
var ErrUnknownPolicy = errors.New("unknown policy")

// A Set is the policies of one file, or of several in layers, each with a live
// [ration.Executor]. Make one with [Load] or [Watch]. All methods are safe for
// concurrent use.
//
// A reload keeps state and applies settings: tokens, breakers and estimates stay, each
// edited setting is in force for the calls that begin after it, and calls in flight
// finish under those they began with. A policy whose text is unchanged is not touched.
//
// A policy that a reload no longer finds stays in force as it last was: code holds its
// executor, and a file's silence is no order to drop protection. It is reported by
// [Status], in the [Reload] and in the log, and obeys the file again when it is back.
type Set struct {
	loader Loader
	paths  []string
	dir    string        // from which they start
	turns  atomic.Uint64 // of reloads, as they begin
	watch  *watcher      // nil unless it watches

	mu        sync.Mutex // guards the fields below; no user code runs under it
	turn      uint64     // of the reload that was settled last
	seen      digest     // of what it read
	logged    string     // the last error in the log, until a reload goes well
	inForce   file
	executors map[string]*ration.Executor
	status    Status
}

// A Status says how a [Set] stands to its files. It is a value.
type Status struct {
	// Err says why the files as they are now are not in force, and is nil if they
	// are. It is a [*strict.Error] where a file is at fault.
	Err error

	// Reloads counts those that went well and Failures those that did not, the
	// first load aside. Where no byte has changed nothing is counted, so that a
	// file which stays bad has failed once.
	Reloads, Failures uint64

	// LoadedAt is when the settings in force were read, and FailedAt when a reload
	// last failed, zero if none has.
	LoadedAt, FailedAt time.Time

	// Policies are the names of all policies, and Missing of those that the files
	// no longer have. Both are sorted.
	Policies, Missing []string
}

// Executor returns the executor of the policy with that name. It is the same for the
// life of the set: keep it, hand it to a transport or an interceptor, and reloads reach
// it there. The error lists the names that there are, and wraps [ErrUnknownPolicy].
func (s *Set) Executor(name string) (*ration.Executor, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.executors[name]; ok {
		return e, nil
	}
	names := slices.Sorted(maps.Keys(s.executors))
	text, all := strict.Meant(name, names), strict.Meant("", names)
	if text != all {
		text += " " + strings.Replace(all, "allowed", "There", 1)
	}
	return nil, fmt.Errorf("rationconfig: %w %q; %s", ErrUnknownPolicy, name, text)
}

// Status returns how things stand.
func (s *Set) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.status
	status.Policies = slices.Sorted(maps.Keys(s.executors))
	status.Missing = slices.Clone(status.Missing)
	return status
}

// Close ends the watching, if there is any: no change of a file is applied once Close
// has returned. The executors stay usable, and so does [Set.Reload]. It may be called
// more than once, and from [Loader.OnReload]. It returns nil, always; the error makes
// it an [io.Closer].
func (s *Set) Close() error {
	if s.watch != nil {
		s.watch.stop()
		s.Status() // waits for a reload that is being applied
	}
	return nil
}
