package rationotel

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"
)

// maxPolicies bounds the series of a program whose policies are named by data.
// Past it, new names share "other".
const maxPolicies = 200

// maxLabel is how much of a name becomes an attribute. It is more than a host
// name can have.
const maxLabel = 256

// A table holds the series by policy and key. It never forgets one, since neither
// does the SDK: what bounds the memory of both is that the first names to come
// keep their series and later ones share another.
//
// Protocol. Maps are replaced, not changed, so that a reader takes no lock; they
// are small, and grow for a short time only. What grows them holds mu.
type table struct {
	maxKeys  int // of a policy
	begin    func(*series)
	policies atomic.Pointer[map[string]*policy]
	rest     atomic.Pointer[policy] // of the names past maxPolicies; nil until there is one
	mu       sync.Mutex
}

// A policy is the part of a table that is one policy's.
type policy struct {
	name string
	keys atomic.Pointer[map[string]*series] // and, under "", what has no key
	rest atomic.Pointer[series]             // of the keys past the limit; nil until there is one
}

// newTable returns an empty table, which calls begin for each new series.
func newTable(maxKeys int, begin func(*series)) *table {
	t := &table{maxKeys: maxKeys, begin: begin}
	t.policies.Store(&map[string]*policy{})
	return t
}

// series returns what is measured for a key of a policy.
func (t *table) series(name, key string) *series {
	if t.maxKeys == 0 {
		key = ""
	}
	p := t.policy(name)
	if s := (*p.keys.Load())[key]; s != nil {
		return s
	}
	if key != "" {
		if s := p.rest.Load(); s != nil {
			return s
		}
	}
	return t.addKey(p, key)
}

func (t *table) policy(name string) *policy {
	if p := (*t.policies.Load())[name]; p != nil {
		return p
	}
	if p := t.rest.Load(); p != nil {
		return p
	}
	return t.addPolicy(name)
}

// addPolicy enters a name, or what is for names past the limit.
func (t *table) addPolicy(name string) *policy {
	t.mu.Lock()
	defer t.mu.Unlock()
	policies := maps.Clone(*t.policies.Load())
	if p := policies[name]; p != nil {
		return p
	}
	if len(policies) >= maxPolicies {
		if t.rest.Load() == nil {
			t.rest.Store(newPolicy(other))
		}
		return t.rest.Load()
	}
	p := newPolicy(name)
	policies[name] = p
	t.policies.Store(&policies)
	return p
}

func newPolicy(name string) *policy {
	p := &policy{name: policyLabel(name)}
	p.keys.Store(&map[string]*series{})
	return p
}

// addKey enters a key of a policy, or what is for keys past the limit.
func (t *table) addKey(p *policy, key string) *series {
	t.mu.Lock()
	defer t.mu.Unlock()
	keys := maps.Clone(*p.keys.Load())
	if s := keys[key]; s != nil {
		return s
	}
	named := len(keys)
	if keys[""] != nil {
		named--
	}
	if key != "" && named >= t.maxKeys {
		if p.rest.Load() == nil {
			p.rest.Store(t.newSeries(p, other))
		}
		return p.rest.Load()
	}
	s := t.newSeries(p, key)
	keys[key] = s
	p.keys.Store(&keys)
	return s
}

func (t *table) newSeries(p *policy, key string) *series {
	s := newSeries(label{policy: p.name, key: labelOf(key)})
	t.begin(s)
	return s
}

// labelOf returns a name as exporters take it: some refuse what is not UTF-8, and
// with it all that they would have exported.
func labelOf(name string) string {
	return strings.ToValidUTF8(name[:min(len(name), maxLabel)], "\uFFFD")
}

func policyLabel(name string) string {
	if name == "" {
		return unnamed
	}
	return labelOf(name)
}
