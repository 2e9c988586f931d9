package rationconfig

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/ration-go/ration"
)

// A plan is what files would have in force, looked at from every side before anything
// is touched: either all of it comes into force or nothing.
type plan struct {
	digest   digest
	err      error // why it cannot be used
	file     file
	policies map[string]planned
}

// A planned policy is as it will be, but for a shared bucket.
type planned struct {
	ration.Policy
	shared string // "" for a bucket that is not shared
}

// A digest tells texts apart. Without a change of it, nothing is done at all.
type digest [sha256.Size]byte

func digestOf(sources []source) (d digest) {
	h := sha256.New()
	add := func(text []byte) {
		h.Write(binary.AppendUvarint(nil, uint64(len(text)))) // else "a", "bc" is "ab", "c"
		h.Write(text)
	}
	for _, s := range sources {
		add(s.text)
		if s.err != nil {
			add([]byte(s.err.Error()))
		}
	}
	h.Sum(d[:0])
	return d
}

func (l *Loader) plan(sources []source) *plan {
	p := &plan{digest: digestOf(sources), policies: make(map[string]planned)}
	if p.file, p.err = parse(sources); p.err != nil {
		return p
	}
	for _, name := range slices.Sorted(maps.Keys(p.file.Policies)) {
		var err error
		if p.policies[name], err = l.policy(name, p.file); err != nil {
			p.err = errors.Join(p.err, err)
		}
	}
	return p
}

func (l *Loader) policy(name string, f file) (p planned, err error) {
	from := f.Policies[name].complete()
	if p.Policy, err = from.build(f.Budgets); err != nil {
		return p, err
	}
	p.Name = name
	template := p.Budget
	err = l.customize(name, &p.Policy)
	if from.Budget.shares() && p.Budget == template {
		p.shared = *from.Budget.Shared
	}
	return p, err
}

// live returns the policy with the bucket that it shares, which a plan that comes to
// nothing must not make.
func (p planned) live(budgets map[string]*SharedBudget) (ration.Policy, error) {
	if p.shared == "" {
		return p.Policy, nil
	}
	fraction, minimumPerSecond := budgets[p.shared].numbers()
	var err error
	p.Budget, err = ration.SharedBudget(p.shared, fraction, minimumPerSecond)
	return p.Policy, err
}
