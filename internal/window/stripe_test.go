package window

import (
	"os/exec"
	"strings"
	"sync"
	"testing"
)

func TestStripeRange(t *testing.T) {
	if s := Stripe(); s >= stripeCount {
		t.Errorf("stripe %d, want one below %d", s, stripeCount)
	}
}

func TestStripeStable(t *testing.T) {
	first := Stripe()
	for range 100 {
		if s := Stripe(); s != first {
			t.Fatalf("stripe %d, then %d, in one place of one goroutine", first, s)
		}
	}
}

// TestStripeSpread holds many goroutines alive at once, so that their stacks
// are distinct. No stripe may be left out, and none may take half of them.
func TestStripeSpread(t *testing.T) {
	const goroutines = 256
	var mu sync.Mutex
	var taken [stripeCount]int
	var ready, wg sync.WaitGroup
	ready.Add(goroutines)
	for range goroutines {
		wg.Go(func() {
			s := Stripe()
			mu.Lock()
			taken[s]++
			mu.Unlock()
			ready.Done()
			ready.Wait()
		})
	}
	wg.Wait()
	for s, n := range taken {
		if n == 0 || n > goroutines/2 {
			t.Errorf("stripe %d has %d of %d goroutines: %v", s, n, goroutines, taken)
		}
	}
}

// TestInlined asks the compiler: the functions of the hot path that must not
// cost a call.
func TestInlined(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the compiler")
	}
	out, err := exec.Command("go", "build", "-gcflags=-m", ".").CombinedOutput()
	if err != nil {
		t.Skipf("no compiler to ask: %v", err)
	}
	for _, name := range []string{"Stripe", "epochOf", "bucketOf", "(*Memo).Get"} {
		if !strings.Contains(string(out), "can inline "+name+"\n") {
			t.Errorf("%s cannot be inlined", name)
		}
	}
}

func TestStripeAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	if n := testing.AllocsPerRun(100, func() { Stripe() }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
