package ration

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// named returns the policies of the executors listed under a prefix.
func named(prefix string) (names []string) {
	for _, e := range Executors() {
		if name := e.Policy().Name; strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names
}

func TestExecutors(t *testing.T) {
	b := MustNew(Policy{Name: t.Name() + "b"})
	a := MustNew(Policy{Name: t.Name() + "a", Attempts: 1})
	again := MustNew(Policy{Name: t.Name() + "b"})
	b.For("key")
	want := []string{t.Name() + "a", t.Name() + "b", t.Name() + "b"}
	if got := named(t.Name()); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	all := Executors()
	if i := slices.Index(all, b); i < 0 || all[i+1] != again {
		t.Error("not by age within a name")
	}
	if err := a.Update(Policy{Name: t.Name() + "c"}); err != nil {
		t.Fatal(err)
	}
	if got := named(t.Name()); got[2] != t.Name()+"c" {
		t.Errorf("after a change of name: %v", got)
	}
	runtime.KeepAlive(again)
}

func TestExecutorsAreForgotten(t *testing.T) {
	before := entries()
	kept := MustNew(Policy{Name: t.Name()}).For("key")
	for i := range 10_000 {
		MustNew(Policy{Name: fmt.Sprint(t.Name(), i)}).For("key")
	}
	for range 10 { // a cleanup may need a second cycle to run
		runtime.GC()
		if entries() <= before+1 {
			break
		}
	}
	// Whoever holds an executor of a key holds its parent.
	if got := named(t.Name()); !slices.Equal(got, []string{t.Name()}) {
		t.Errorf("%d are listed", len(got))
	}
	if n := entries(); n > before+1 {
		t.Errorf("%d entries, %d before", n, before)
	}
	runtime.KeepAlive(kept)
}

func entries() int {
	listed.Lock()
	defer listed.Unlock()
	return len(listed.roots)
}
