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
// lower bits only tell how deep a call is. One multiplication would do for
// evenness, but stacks at some distances would then mostly collide (16 KB, with
// the usual golden ratio), and stacks of one size lie at regular distances. The
// second costs 0.2 ns and leaves no distance special.
func Stripe() uint32 {
	const odd = 0x9e3779b97f4a7c15
	var here byte
	h := uint64(uintptr(unsafe.Pointer(&here))) >> 11 * odd
	h ^= h >> 32
	return uint32(h * odd >> (64 - stripeBits))
}
