package ration

import (
	"cmp"
	"maps"
	"runtime"
	"slices"
	"sync"
	"weak"
)

// listed are the roots that New has made. Pointers are weak: to be listed keeps
// no executor, and a dropped one takes its entry with it when it is collected.
var listed struct {
	sync.Mutex
	last  uint64
	roots map[uint64]weak.Pointer[root] // by age
}

// list enters r.
func (r *root) list() {
	r.listed = true
	listed.Lock()
	defer listed.Unlock()
	if listed.roots == nil {
		listed.roots = make(map[uint64]weak.Pointer[root])
	}
	listed.last++
	listed.roots[listed.last] = weak.Make(r)
	runtime.AddCleanup(r, unlist, listed.last)
}

func unlist(age uint64) {
	listed.Lock()
	defer listed.Unlock()
	delete(listed.roots, age)
}

// Executors returns the executors of the process that [New] made and that are
// still in use, sorted by the name of their policy and then by age, except those
// that are Unlisted. Those of keys are found with [Executor.Keys]. It is meant
// for debugging and telemetry: being listed does not keep an executor alive, and
// holding what is returned does.
func Executors() []*Executor {
	listed.Lock()
	ages := slices.Sorted(maps.Keys(listed.roots))
	all := make([]*Executor, 0, len(ages))
	for _, age := range ages {
		if r := listed.roots[age].Value(); r != nil {
			all = append(all, r.top)
		}
	}
	listed.Unlock()
	slices.SortStableFunc(all, func(a, b *Executor) int {
		return cmp.Compare(a.Policy().Name, b.Policy().Name)
	})
	return all
}
