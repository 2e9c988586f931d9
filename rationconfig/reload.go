package rationconfig

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationconfig/strict"
)

// A Reload is one reload. It is a value.
type Reload struct {
	// Err says why nothing was changed, and is nil for a reload that went well.
	Err error

	// Changed are the policies that the reload changed, Added those that are new,
	// and Missing those that the files no longer have, which stay in force as they
	// last were. All are sorted.
	Changed, Added, Missing []string
}

// Reload reads the files again, for who is told of changes otherwise, by a signal say.
// It is what a watching set does by itself. The error is also in [Set.Status].
func (s *Set) Reload() error { return s.reload(context.Background()) }

// reload runs the user's functions, so that it takes the lock only in between. Of
// reloads that overlap the one that began last wins, since it has read last.
func (s *Set) reload(ctx context.Context) error {
	turn := s.turns.Add(1)
	sources := read(s.dir, s.paths)
	if s.knows(digestOf(sources)) {
		return s.Status().Err
	}
	p := s.loader.plan(sources)
	r, log, settled := s.settle(ctx, turn, p)
	if settled {
		s.tell(r, log)
	}
	return r.Err
}

func (s *Set) knows(d digest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen == d
}

// settle brings a plan into force, or notes why it cannot be. It reports whether
// there is something to tell, and to log.
func (s *Set) settle(ctx context.Context, turn uint64, p *plan) (r Reload, log, settled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if turn < s.turn || p.digest == s.seen || ctx.Err() != nil {
		return Reload{Err: s.status.Err}, false, false
	}
	now := time.Now()
	s.turn, s.seen = turn, p.digest
	if r.Err = p.err; r.Err == nil {
		r = s.apply(p, now)
	}
	s.status.Err = r.Err
	if r.Err == nil {
		s.status.Reloads++
		s.status.LoadedAt = now
		s.logged = ""
		return r, true, true
	}
	s.status.Failures++
	s.status.FailedAt = now
	log = s.logged != r.Err.Error()
	s.logged = r.Err.Error()
	return r, log, true
}

// apply makes a plan the truth: it gives the shared budgets their numbers, and its
// settings to each policy whose text differs. The plan has been checked down to the
// core, so that an error is a defect here; the rest is applied all the same.
func (s *Set) apply(p *plan, now time.Time) (r Reload) {
	for name, b := range p.file.Budgets {
		if !reflect.DeepEqual(s.inForce.Budgets[name], b) {
			r.Err = errors.Join(r.Err, retune(name, b, now))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.policies)) {
		_, known := s.executors[name]
		switch {
		case !known:
			r.Added = append(r.Added, name)
		case s.same(name, p):
			continue
		default:
			r.Changed = append(r.Changed, name)
		}
		r.Err = errors.Join(r.Err, s.put(name, p))
	}
	for _, name := range slices.Sorted(maps.Keys(s.executors)) {
		if _, there := p.policies[name]; !there {
			r.Missing = append(r.Missing, name)
		}
	}
	s.keep(p.file)
	s.status.Missing = r.Missing
	return r
}

// same reports whether a policy is in force as planned. Only the file's part of it can
// be compared; what Customize makes of it depends on nothing else.
func (s *Set) same(name string, p *plan) bool {
	return reflect.DeepEqual(s.inForce.Policies[name], p.file.Policies[name])
}

// keep remembers what is in force. What a file no longer has still is.
func (s *Set) keep(f file) {
	if s.inForce.Policies == nil {
		s.inForce = file{make(map[string]*SharedBudget), make(map[string]*Policy)}
	}
	maps.Copy(s.inForce.Budgets, f.Budgets)
	maps.Copy(s.inForce.Policies, f.Policies)
}

func (s *Set) put(name string, p *plan) error {
	policy, err := p.policies[name].live(p.file.Budgets)
	if err != nil {
		return err
	}
	if e := s.executors[name]; e != nil {
		return e.Update(policy)
	}
	e, err := ration.New(policy)
	if err == nil {
		s.executors[name] = e
	}
	return err
}

// retune makes the numbers of a file those of a shared budget, whoever made it.
func retune(name string, b *SharedBudget, now time.Time) error {
	fraction, minimumPerSecond := b.numbers()
	bucket, err := ration.SharedBudget(name, fraction, minimumPerSecond)
	if err != nil {
		return err
	}
	return bucket.Retune(now, fraction, minimumPerSecond)
}

// tell logs a reload and hands it on.
func (s *Set) tell(r Reload, log bool) {
	logger := s.loader.logger()
	switch {
	case !log:
	case r.Err != nil:
		logger.Error("rationconfig: policies not reloaded; those in force stay so",
			"files", s.paths, "problems", problems(r.Err))
	default:
		level := slog.LevelInfo
		if r.Missing != nil {
			level = slog.LevelWarn
		}
		logger.Log(context.Background(), level, "rationconfig: policies reloaded",
			"files", s.paths, "changed", r.Changed, "added", r.Added, "missing", r.Missing)
	}
	if s.loader.OnReload == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			logger.Error("rationconfig: OnReload panics", "panic", p)
		}
	}()
	s.loader.OnReload(r)
}

// problems returns the lines of an error, so many of them as a log can bear.
func problems(err error) (lines []string) {
	const most = 20
	var faults *strict.Error
	if !errors.As(err, &faults) {
		return []string{err.Error()}
	}
	for i, p := range faults.Problems {
		if i == most {
			return append(lines, "and more")
		}
		lines = append(lines, p.String())
	}
	return lines
}
