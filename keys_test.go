package ration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var errKeyed = Transient(errors.New("keyed failure"))

func failKey(context.Context) error    { return errKeyed }
func succeedKey(context.Context) error { return nil }

// opensAtOnce is a policy without waits whose breakers open at the first
// failure.
func opensAtOnce(length time.Duration) Policy {
	return Policy{
		Attempts: 1,
		Breaker:  &BreakerSettings{ConsecutiveFailures: 1, Break: length, MaxBreak: length},
	}
}

// openKey makes the breaker of a key open at now, for all of its break.
func openKey(e *Executor, now instant) {
	b := &e.state.breaker
	s := e.root.settings.Load().breaker
	a, _, _ := b.admit(now, s, hour)
	b.failed(now, s, a, false, almostOne)
}

// checkRegistry compares what the registry counts with what it holds.
func checkRegistry(t *testing.T, r *registry) {
	t.Helper()
	held := map[string]bool{}
	n := 0
	for e := range r.all {
		n++
		held[e.key] = true
		if r.lookup(e.key) != e {
			t.Errorf("%q is held and not found", e.key)
		}
	}
	if n != r.count || len(held) != n {
		t.Errorf("%d keys are counted, %d held, %d of them different", r.count, n, len(held))
	}
}

func TestForFindsItsKey(t *testing.T) {
	e := MustNew(Policy{Name: "keyed"})
	if e.Key() != "" || len(e.Keys()) != 0 {
		t.Errorf("a new executor has key %q and keys %v", e.Key(), e.Keys())
	}
	a, b := e.For("a"), e.For("b")
	if a == b || a == e || a.Key() != "a" || b.Key() != "b" {
		t.Errorf("For(a) has key %q, For(b) %q", a.Key(), b.Key())
	}
	if e.For("a") != a || e.For("b") != b {
		t.Error("a key is not found again")
	}
	if a.For("b") != b || a.For("a") != a || b.For("c") != e.For("c") {
		t.Error("keys are not flat")
	}
	if nameless := e.For(""); nameless == e || e.For("") != nameless {
		t.Error("the empty key is not a key like others")
	}
	var keys []string
	for _, k := range e.Keys() {
		keys = append(keys, k.Key())
	}
	if want := []string{"", "a", "b", "c"}; !slices.Equal(keys, want) {
		t.Errorf("Keys() = %q, want %q", keys, want)
	}
	if once := a.Once(); once == a || a.Once() != once || once.Key() != "a" ||
		once.For("b") != b.Once() {
		t.Error("Once of a key is not of that key")
	}
	if a.Policy().Name != "keyed" {
		t.Errorf("a key has policy %q", a.Policy().Name)
	}
	checkRegistry(t, &e.root.keys)
}

// C23: what one key spends, another still has. A bucket that the policy names
// is shared on purpose.
func TestKeysAreIsolated(t *testing.T) {
	p := opensAtOnce(minute)
	p.Attempts = 0
	e := MustNew(p)
	a, b := e.For("a"), e.For("b")
	now := time.Now()
	for a.Budget().Withdraw(now, Critical) {
	}
	openKey(a, clock())
	a.state.estimates().record(clock(), 0, second)
	if a.Budget() == b.Budget() || a.Budget() == e.Budget() {
		t.Error("keys share a bucket")
	}
	if got := b.Budget().UtilizationAt(now) + e.Budget().UtilizationAt(now); got != 0 {
		t.Errorf("others have spent %v of a bucket that they did not use", got)
	}
	for name, other := range map[string]*Executor{"b": b, "the parent": e} {
		if got := other.Breaker(now).State; got != BreakerClosed {
			t.Errorf("the breaker of %s is %v", name, got)
		}
		if n := samples(other.state.estimates(), clock()); n != 0 {
			t.Errorf("%s has %d samples of others", name, n)
		}
	}
	if got := a.Breaker(now).State; got != BreakerOpen {
		t.Errorf("the breaker of a is %v", got)
	}

	p.Budget = mustBudget(t, 0.1, 1)
	e = MustNew(p)
	if e.For("a").Budget() != p.Budget || e.For("b").Budget() != p.Budget {
		t.Error("a key does not use the budget that the policy names")
	}
}

// C23: a dependency that always fails, under load, and one that fails once in a
// hundred, behind one executor. The second never misses a retry.
func TestKeysKeepTheirRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := MustNew(Policy{Attempts: 2, Backoff: NoBackoff})
		refused := 0
		for i := range 3000 {
			if err := e.For("a").Run(t.Context(), failKey); errors.Is(err, ErrBudgetExhausted) {
				refused++
			}
			tried := 0
			err := e.For("b").Run(t.Context(), func(context.Context) error {
				if tried++; i%100 == 0 && tried == 1 {
					return errKeyed
				}
				return nil
			})
			if err != nil {
				t.Fatalf("call %d to the healthy one: %v", i, err)
			}
		}
		if refused < 2000 {
			t.Errorf("the failing one was refused %d times: it was no storm", refused)
		}
	})
}

// C30: many more keys than are remembered, with a failure each, and then
// silence.
func TestKeysAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := 100_000
		if raceEnabled { // which makes each a hundred times as slow
			keys = 3 * MaxKeys
		}
		e := MustNew(Policy{Attempts: 1, Breaker: &BreakerSettings{}})
		r := &e.root.keys
		var heap [2]uint64
		for i := range keys {
			e.For(strconv.Itoa(i)).Run(t.Context(), failKey)
			if r.count > MaxKeys {
				t.Fatalf("%d keys are remembered after %d", r.count, i+1)
			}
			switch i {
			case 2 * MaxKeys:
				heap[0] = heapInUse()
			case keys - 1:
				heap[1] = heapInUse()
			}
		}
		if r.count != MaxKeys {
			t.Errorf("%d keys are remembered, want %d", r.count, MaxKeys)
		}
		if heap[1] > heap[0]+heap[0]/4 {
			t.Errorf("the heap grew from %d to %d bytes", heap[0], heap[1])
		}
		checkRegistry(t, r)
		time.Sleep(time.Hour)
		e.For("after an hour")
		if r.count != 1 {
			t.Errorf("%d keys are remembered after an hour, want the new one", r.count)
		}
		checkRegistry(t, r)
	})
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC() // what was floating in the first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// The key that goes is the one that was used least recently. An addition is the
// unit: keys that were used between the same two additions are equal, so the
// model allows for any of them.
func TestKeysForgetTheLeastRecentlyUsed(t *testing.T) {
	r := newStateRand(7)
	e := MustNew(Policy{})
	keys := &e.root.keys
	used := map[string]int{} // by the number of additions then
	additions := 0
	for range rounds(12_000) + 3*MaxKeys {
		// Some keys are in favour, so that there are hits and misses.
		key := strconv.FormatInt(min(r.Int64N(4000), r.Int64N(4000)), 10)
		_, known := used[key]
		if found := keys.lookup(key) != nil; found != known {
			t.Fatalf("%q is remembered: %t, want %t", key, found, known)
		}
		if !known {
			additions++
		}
		full := len(used) == MaxKeys
		e.For(key)
		if !known && full {
			gone := forgotten(t, keys, used)
			delete(used, gone)
		}
		used[key] = additions
	}
	if additions < 2*MaxKeys || additions > rounds(10_000)+3*MaxKeys {
		t.Errorf("%d additions: that is not the mixture it was meant to be", additions)
	}
	for key := range used {
		if keys.lookup(key) == nil {
			t.Errorf("%q is forgotten, used %d of %d", key, used[key], additions)
		}
	}
	checkRegistry(t, keys)
}

// forgotten returns the one key of those used least recently that is gone.
func forgotten(t *testing.T, r *registry, used map[string]int) (gone string) {
	t.Helper()
	least := slices.Min(slices.Collect(maps.Values(used)))
	missing := 0
	for key, at := range used {
		if at == least && r.lookup(key) == nil {
			gone = key
			missing++
		}
	}
	if missing != 1 {
		t.Fatalf("%d of the least recently used keys are forgotten, want one", missing)
	}
	return gone
}

// In exact order, where every key was used between other additions.
func TestKeysForgetInOrder(t *testing.T) {
	e := MustNew(Policy{})
	keys := &e.root.keys
	name := func(i int) string { return "key " + strconv.Itoa(i) }
	for i := range MaxKeys {
		e.For(name(i))
	}
	e.For(name(0)).Once()
	e.For(name(2))
	for i := range 10 {
		e.For("new " + strconv.Itoa(i))
	}
	for i := range 20 {
		// 1 and 3 to 11 have gone; 0 and 2 were used since.
		want := i == 0 || i == 2 || i > 11
		if found := keys.lookup(name(i)) != nil; found != want {
			t.Errorf("%s is remembered: %t, want %t", name(i), found, want)
		}
	}
	if again := e.For(name(1)); again.Budget().UtilizationAt(time.Now()) != 0 {
		t.Error("a key that comes back has a history")
	}
}

// C30: a key whose breaker is open is forgotten last, and not before its break
// is over, even past the limit.
func TestKeysKeepOpenBreakers(t *testing.T) {
	e := MustNew(opensAtOnce(15 * second))
	keys := &e.root.keys
	now := instant(0)
	add := func(key string) *Executor { return keys.add(e.root, key, now) }
	for i := range 1000 {
		openKey(add("open "+strconv.Itoa(i)), now)
	}
	for i := range 100 {
		now += instant(second) / 100
		add("closed " + strconv.Itoa(i))
	}
	if keys.count != MaxKeys {
		t.Errorf("%d keys, want %d", keys.count, MaxKeys)
	}
	for i := range 100 {
		if found := keys.lookup("closed "+strconv.Itoa(i)) != nil; found != (i >= 76) {
			t.Errorf("closed %d, of 24 that fit, is remembered: %t", i, found)
		}
	}
	for i := range 200 { // more than fit beside the open ones, all open
		openKey(add("more "+strconv.Itoa(i)), now)
	}
	if keys.count != 1200 {
		t.Errorf("%d keys, want the 1,200 that are open", keys.count)
	}
	now = instant(15*second) - 1
	add("a nanosecond early")
	for i := range 1000 {
		if keys.lookup("open "+strconv.Itoa(i)) == nil {
			t.Fatalf("open %d is forgotten before its break is over", i)
		}
	}
	now++
	last := add("on time")
	if keys.count != MaxKeys || keys.lookup("on time") != last {
		t.Errorf("%d keys, want %d, the new one among them", keys.count, MaxKeys)
	}
	// The limit is met by forgetting the oldest of those whose break is over.
	for i := range 1000 {
		if found := keys.lookup("open "+strconv.Itoa(i)) != nil; found != (i >= 178) {
			t.Fatalf("open %d is remembered: %t, of 1,202 keys with a limit of 1,024", i, found)
		}
	}
	if keys.lookup("more 199") == nil || keys.lookup("a nanosecond early") == nil {
		t.Error("a key is forgotten that was used later than others")
	}
	checkRegistry(t, keys)
}

// A flood of keys that open together and close together costs the next one a
// walk or two, and not a walk for each: that would take the better part of a
// minute here, with everyone waiting who brings a new key.
func TestKeysForgetAFloodAtOnce(t *testing.T) {
	flood := max(rounds(25_000), 2*MaxKeys)
	e := MustNew(opensAtOnce(15 * second))
	keys := &e.root.keys
	for i := range flood {
		openKey(keys.add(e.root, strconv.Itoa(i), 0), 0)
	}
	if keys.count != flood {
		t.Fatalf("%d keys, want all %d", keys.count, flood)
	}
	keys.add(e.root, "next", instant(15*second))
	if keys.count != MaxKeys {
		t.Errorf("%d keys, want %d", keys.count, MaxKeys)
	}
	for i := range flood {
		if found := keys.lookup(strconv.Itoa(i)) != nil; found != (i > flood-MaxKeys) {
			t.Fatalf("key %d is remembered: %t, want the last ones", i, found)
		}
	}
	checkRegistry(t, keys)
}

// Open keys stay, though they are older than all the others of a flood.
func TestKeysForgetAFloodAroundOpenOnes(t *testing.T) {
	e := MustNew(opensAtOnce(15 * second))
	keys := &e.root.keys
	for i := range 1200 {
		k := keys.add(e.root, strconv.Itoa(i), 0)
		openedAt := instant(0)
		if i < 300 {
			openedAt = instant(10 * second)
		}
		openKey(k, openedAt)
	}
	keys.add(e.root, "new", instant(15*second))
	if keys.count != MaxKeys {
		t.Errorf("%d keys, want %d", keys.count, MaxKeys)
	}
	for i := range 1200 {
		want := i < 300 || i >= 300+1201-MaxKeys
		if found := keys.lookup(strconv.Itoa(i)) != nil; found != want {
			t.Fatalf("key %d is remembered: %t, want %t", i, found, want)
		}
	}
	checkRegistry(t, keys)
}

// When every key is open nobody looks for one to forget until the first break
// ends; a clock that steps back does not put that off.
func TestKeysScanAgain(t *testing.T) {
	e := MustNew(opensAtOnce(10 * minute))
	keys := &e.root.keys
	now := instant(hour)
	for i := range MaxKeys {
		openKey(keys.add(e.root, strconv.Itoa(i), now), now)
	}
	keys.add(e.root, "x", now)
	if want := now + instant(scanWait); keys.nextScan != want {
		t.Errorf("the next scan is in %v, want in %v", keys.nextScan.since(now), scanWait)
	}
	openKey(keys.lookup("x"), now)
	now -= instant(10 * minute) // and the breaks are anew from here
	for e := range keys.all {
		e.state.breaker.status(now)
	}
	keys.add(e.root, "y", now)
	if want := now + instant(scanWait); keys.nextScan != want {
		t.Errorf("after a step back the next scan is in %v, want in %v",
			keys.nextScan.since(now), scanWait)
	}
	now += instant(10 * minute)
	keys.add(e.root, "z", now)
	if keys.count != MaxKeys {
		t.Errorf("%d keys after the breaks, want %d", keys.count, MaxKeys)
	}
}

// A key that is used, in whatever way, is remembered; one that is not goes
// after ten minutes.
func TestKeysIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := MustNew(Policy{Attempts: 1})
		idle, busy, nameless, once := e.For("idle"), e.For("busy"), e.For(""), e.For("once").Once()
		for range 30 {
			for _, k := range []*Executor{busy, nameless, once} {
				if err := k.Run(t.Context(), succeedKey); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(minute)
		}
		var left []string
		for _, k := range e.Keys() {
			left = append(left, k.Key())
		}
		if want := []string{"", "busy", "once"}; !slices.Equal(left, want) {
			t.Errorf("after half an hour the keys are %q, want %q", left, want)
		}
		if e.For("") != nameless || e.For("idle") == idle {
			t.Error("the wrong state was forgotten")
		}
		time.Sleep(9*minute - 1) // used a minute ago, or just now
		if n := len(e.Keys()); n != 4 {
			t.Errorf("%d keys before ten minutes of silence, want 4", n)
		}
		time.Sleep(time.Nanosecond)
		if n := len(e.Keys()); n != 1 {
			t.Errorf("%d keys after ten minutes of silence, want the one asked for since", n)
		}
		time.Sleep(minute)
		if n := len(e.Keys()); n != 0 {
			t.Errorf("%d keys after ten minutes more, want none", n)
		}
	})
}

// Who holds the executor of a key that was forgotten can go on.
func TestKeysForgottenStillWork(t *testing.T) {
	e := MustNew(Policy{Attempts: 1})
	old := e.For("old")
	for i := range MaxKeys {
		e.For(strconv.Itoa(i))
	}
	if e.root.keys.lookup("old") != nil {
		t.Fatal("the oldest key is remembered")
	}
	if err := old.Run(t.Context(), succeedKey); err != nil {
		t.Error(err)
	}
	if again := e.For("old"); again == old || again.For("old") != again {
		t.Error("what was forgotten is found")
	}
	checkRegistry(t, &e.root.keys)
}

// Lookups pass through chains that others cut. Whoever asks gets the executor
// of the key it asked for, and a key that never falls idle is never lost.
func TestKeysConcurrent(t *testing.T) {
	const goroutines = 8
	e := MustNew(opensAtOnce(time.Microsecond))
	hot := e.For("hot")
	var wg sync.WaitGroup
	for g := range goroutines {
		random := newStateRand(uint64(g))
		wg.Go(func() {
			for i := range rounds(4000) {
				if e.For("hot") != hot {
					t.Error("the hot key is lost")
					return
				}
				key := strconv.FormatInt(random.Int64N(3*MaxKeys), 10)
				k := e.For(key)
				if k.Key() != key {
					t.Errorf("For(%q) has key %q", key, k.Key())
					return
				}
				switch i % 50 {
				case 0:
					k.Budget()
					openKey(k, clock())
				case 1:
					if i%1000 == 1 {
						e.Keys()
					}
				}
			}
		})
	}
	wg.Wait()
	checkRegistry(t, &e.root.keys)
	if n := e.root.keys.count; n > MaxKeys+goroutines {
		t.Errorf("%d keys, want at most %d but for open ones", n, MaxKeys)
	}
}

// Everyone who asks first for one key gets the same executor.
func TestKeysAddedTogether(t *testing.T) {
	e := MustNew(Policy{})
	for i := range 100 {
		var got [8]*Executor
		var wg sync.WaitGroup
		for g := range got {
			wg.Go(func() { got[g] = e.For(strconv.Itoa(i)).Once() })
		}
		wg.Wait()
		for _, k := range got[1:] {
			if k != got[0] {
				t.Fatal("two executors of one key")
			}
		}
	}
	// Whoever looked in vain, and then waited for the lock, looks again.
	keys := &e.root.keys
	late := keys.add(e.root, "late", 0)
	if keys.add(e.root, "late", 0) != late {
		t.Error("two executors of one key, one after the other")
	}
	checkRegistry(t, &e.root.keys)
}

func TestForAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	e := MustNew(Policy{})
	keys := manyKeys(100)
	for _, k := range keys {
		e.For(k).Once()
	}
	i := 0
	if n := testing.AllocsPerRun(1000, func() {
		e.For(keys[i%len(keys)]).Once()
		i++
	}); n != 0 {
		t.Errorf("%v allocations to find a key, want none", n)
	}
}

// A key with a history: budget, breaker with its window, and a latency
// estimate.
func TestKeysMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	const keys, most = 1000, 8 << 10
	e := MustNew(Policy{Breaker: &BreakerSettings{FailureRatio: 0.5}})
	names := manyKeys(keys)
	before := heapInUse()
	for _, k := range names {
		if err := e.For(k).Run(t.Context(), succeedKey); err != nil {
			t.Fatal(err)
		}
	}
	each := (heapInUse() - before) / keys
	t.Logf("%d bytes a key", each)
	if each > most {
		t.Errorf("%d bytes a key, want at most %d", each, most)
	}
	runtime.KeepAlive(e)
}

func manyKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("host-%d.example:443", i)
	}
	return keys
}

func BenchmarkFor(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		keys := manyKeys(n)
		e := MustNew(Policy{})
		for _, k := range keys {
			e.For(k)
		}
		b.Run("keys="+strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				e.For(keys[i%n])
			}
		})
		b.Run("parallel/keys="+strconv.Itoa(n), func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for i := 0; pb.Next(); i++ {
					e.For(keys[i%n])
				}
			})
		})
	}
	b.Run("new", func(b *testing.B) {
		e := MustNew(Policy{})
		key := strings.Repeat("k", 20)
		for i := 0; b.Loop(); i++ {
			e.For(key + strconv.Itoa(i))
		}
	})
}
