package window

// cacheLine is what is left between two values that different cores write. It
// is the line size of amd64 and of most arm64 machines; elsewhere a wrong guess
// costs time, not correctness.
const cacheLine = 64

// minWidth is the narrowest slice of any window, in nanoseconds. Nobody needs
// one that narrow: it keeps every epoch within 2^59 of zero, so that a distance
// between two of them cannot overflow whatever now is, and it lets a width of
// zero mean something other than a division by zero.
const minWidth = 16

// epochOf numbers the slices of time of the given width; slice 0 starts at the
// origin. It rounds down, where Go's division would make the two slices around
// the origin into one of double width.
func epochOf(now, width int64) int64 {
	width = max(width, minWidth)
	e := now / width
	if now%width < 0 {
		e--
	}
	return e
}
