package rationconfig

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxLinks is how many symbolic links may lead to a file. Systems follow about as many.
const maxLinks = 40

// places returns the directories in which a change could alter what opening the paths
// yields, and the names in them that matter: the files, every symbolic link on the way
// to them, and the directories themselves. A Kubernetes mount swaps a link that is
// neither the file nor in the directory where the file is.
func places(paths []string) (dirs []string, matters map[string]bool) {
	matters = make(map[string]bool)
	for _, path := range paths {
		for _, name := range steps(path) {
			dir := filepath.Dir(name)
			matters[name], matters[dir] = true, true
			if !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs, matters
}

// steps returns the symbolic links on the way to a file, and the file or else the first
// thing that is missing.
func steps(path string) (names []string) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil // the working directory is gone; polling goes on
	}
	at := filepath.VolumeName(path) + string(filepath.Separator)
	rest := split(path[len(at):])
	for links := 0; len(rest) > 0; {
		next := filepath.Join(at, rest[0])
		info, err := os.Lstat(next)
		rest = rest[1:]
		switch {
		case err != nil || len(rest) == 0 && info.Mode()&os.ModeSymlink == 0:
			return append(names, next)
		case info.Mode()&os.ModeSymlink == 0:
			at = next
			continue
		}
		names = append(names, next)
		target, err := os.Readlink(next)
		if links++; err != nil || links > maxLinks {
			return names
		}
		if filepath.IsAbs(target) {
			at = filepath.VolumeName(target) + string(filepath.Separator)
			target = target[len(at):]
		}
		rest = append(split(target), rest...)
	}
	return names
}

func split(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return os.IsPathSeparator(uint8(r)) })
}
