package ration

import (
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"
)

// frozen copies what v points to into memory that cannot be written, where a
// store is a fault even if it stores what is there. What v points to in turn is
// not copied, and must be kept alive by v.
func frozen[T any](t *testing.T, v *T) *T {
	t.Helper()
	if raceEnabled {
		t.Skip("the race detector does the stores itself, and does not survive a fault")
	}
	size := int(unsafe.Sizeof(*v))
	page := syscall.Getpagesize()
	mem, err := syscall.Mmap(-1, 0, (size+page-1)/page*page,
		syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Skip("no memory of our own: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(mem); err != nil {
			t.Error(err)
		}
	})
	copy(mem, unsafe.Slice((*byte)(unsafe.Pointer(v)), size))
	if err := syscall.Mprotect(mem, syscall.PROT_READ); err != nil {
		t.Fatal(err)
	}
	return (*T)(unsafe.Pointer(&mem[0]))
}

// writes reports whether f stores to memory that cannot be written.
func writes(f func()) (faulted bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { faulted = recover() != nil }()
	f()
	return false
}

// A store that changes nothing still takes the cache line away from every other
// core, so it does not show in what a test can read.
func TestBudgetFullDepositWritesNothing(t *testing.T) {
	full := mustBudget(t, 0.1, 3)
	b := frozen(t, full)
	if writes(func() { b.Deposit(base); b.deposit(0); b.Utilization() }) {
		t.Error("a deposit into a full bucket writes to it")
	}
	if !writes(func() { b.Withdraw(base, Critical) }) {
		t.Error("a withdrawal writes nothing: the memory is not frozen")
	}
	full.Withdraw(base, Critical)
	if b := frozen(t, full); !writes(func() { b.Deposit(base) }) {
		t.Error("a deposit into a bucket with room writes nothing")
	}
	full.Deposit(base.Add(hour))
	if b := frozen(t, full); writes(func() { b.Deposit(base) }) {
		t.Error("a deposit into a bucket that is full again writes to it")
	}
}

// The same of a breaker that is closed and has nothing to forget.
func TestBreakerSuccessWritesNothing(t *testing.T) {
	var fresh breaker
	s := BreakerSettings{}.withDefaults()
	b := frozen(t, &fresh)
	if writes(func() {
		a, ok, _ := b.admit(0, &s, second)
		if !ok {
			t.Error("refused")
		}
		b.succeeded(0, &s, a, 0)
		b.returned(0, a)
		if b.refuses(0) {
			t.Error("a closed breaker refuses")
		}
	}) {
		t.Error("a success writes to a closed breaker")
	}
	if !writes(func() { b.failed(0, &s, admission{}, false, 0) }) {
		t.Error("a failure writes nothing: the memory is not frozen")
	}
}
