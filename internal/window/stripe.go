package window

import "unsafe"

const (
	stripeBits = 2

	// stripeCount is the number of stripes of everything in this package, a
	// power of two. Four keep two busy goroutines apart three times in four
	// and cost 128 or 144 bytes each; a reader visits them all.
	stripeCount = 1 << stripeBits
)

// Stripe returns the stripe for the calling goroutine: a number below four, the
// same for repeated calls from one place in one goroutine, and spread evenly
// over goroutines. It is a hint about cost: a stack that grows moves, and the
// number may then change.
//
// The goroutine is told by the address of its stack. That is the only value of
// its own that costs nothing to read, and goroutines that run at one time have
// different ones. A random number is spread as well, but sends every goroutine
// to every line, which then travels between the cores: the very cost that
// stripes are to avoid. The number of the processor would be the ideal, but the
// runtime tells it only to those who pin themselves to it, and that call is not
// for packages outside the standard library.
//
// The address is never followed, only hashed. The smallest stack is 2 KB, so
// lower bits only tell how deep a call is. Multiplying by 2^64 over the golden
// ratio, and keeping the top bits, puts adjacent stacks on different stripes.
func Stripe() uint32 {
	var here byte
	stack := uint64(uintptr(unsafe.Pointer(&here))) >> 11
	return uint32(stack * 0x9e3779b97f4a7c15 >> (64 - stripeBits))
}
