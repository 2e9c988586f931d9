package traffic

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
)

// longestLine is as long as a line of a log may be. What is longer is skipped to its
// end and counted as malformed; it is not kept.
const longestLine = 1 << 20

// longestSpans is the same for lines of spans, each of which is a whole batch.
const longestSpans = 64 << 20

var errLongLine = fault("is longer than any line that makes sense")

// A lineReader reads lines, whatever they end with, of any length, in the memory of
// one that is as long as allowed.
type lineReader struct {
	r     *bufio.Reader
	most  int
	long  []byte // a line that does not fit into the buffer of r
	n     int    // of the line read last, from 1
	bytes int64
}

func newLineReader(r io.Reader, most int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 256<<10), most: most}
}

// next returns a line without its end, valid until the next call. [errLongLine] is
// about one line only, and the next call goes on behind it. The last line of input
// that breaks off is returned before its error.
func (l *lineReader) next() ([]byte, error) {
	l.n++
	line, err := l.r.ReadSlice('\n')
	l.bytes += int64(len(line))
	if err == nil {
		return trimEnd(line), nil
	}
	l.long = l.long[:0]
	tooLong := false
	for {
		if tooLong = tooLong || len(l.long)+len(line) > l.most; !tooLong {
			l.long = append(l.long, line...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
		line, err = l.r.ReadSlice('\n')
		l.bytes += int64(len(line))
	}
	switch {
	case tooLong:
		return nil, errLongLine
	case err == nil || len(l.long) > 0:
		// An error comes back with the next call, since readers repeat theirs.
		return trimEnd(l.long), nil
	}
	l.n--
	return nil, err
}

func trimEnd(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}

// unpack returns what a file holds, whether it is compressed or not: its first bytes
// say so, since rotated files are renamed at will.
func unpack(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	magic, _ := b.Peek(2)
	if !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return b, nil
	}
	return gzip.NewReader(b)
}
