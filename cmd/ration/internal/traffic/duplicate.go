package traffic

import (
	"bytes"
	"io"
)

// duplicates returns, for each source, the name of another that holds all of it: the
// same file under two names, a rotated file and its compressed copy, or a copy made
// while the file was still being written. "" means there is none.
//
// Files are compared to their ends only if they begin alike, so that reading them all
// costs little. What can be read once only is never compared.
func duplicates(sources []Source) ([]string, error) {
	same := make([]string, len(sources))
	heads := make([][]byte, len(sources))
	for i, s := range sources {
		if !s.Again || len(sources) == 1 {
			continue
		}
		head, err := s.head()
		if err != nil {
			return nil, err
		}
		heads[i] = head
	}
	for i := range sources {
		for j := range i {
			if same[i] != "" || same[j] != "" || !alike(heads[i], heads[j]) {
				continue
			}
			switch shorter := compare(sources[i], sources[j]); shorter {
			case -1:
				same[i] = sources[j].Name
			case 1:
				same[j] = sources[i].Name
			}
		}
	}
	return same, nil
}

// alike reports whether two beginnings agree as far as both go.
func alike(a, b []byte) bool {
	n := min(len(a), len(b))
	return n > 0 && bytes.Equal(a[:n], b[:n])
}

// head returns the first bytes of what a source holds, none if it cannot be unpacked,
// which whoever reads it will say.
func (s Source) head() ([]byte, error) {
	f, err := s.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := unpack(f)
	if err != nil {
		return nil, nil
	}
	head := make([]byte, 4<<10)
	n, _ := io.ReadFull(r, head)
	return head[:n], nil
}

// compare returns -1 if the second source holds all of the first, 1 if it is the
// other way round, and 0 if they differ.
func compare(a, b Source) int {
	var readers [2]io.Reader
	for i, s := range []Source{a, b} {
		f, err := s.Open()
		if err != nil {
			return 0
		}
		defer f.Close()
		if readers[i], err = unpack(f); err != nil {
			return 0
		}
	}
	x, y := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, errA := io.ReadFull(readers[0], x)
		m, errB := io.ReadFull(readers[1], y)
		if k := min(n, m); !bytes.Equal(x[:k], y[:k]) {
			return 0
		}
		switch {
		case errA != nil && n <= m:
			return -1
		case errB != nil:
			return 1
		}
	}
}
