package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ration-go/ration/rationconfig/strict"
)

// A usageError is input that cannot be used: a flag, an argument or a file that is
// not there. Its text is one line that names the mend.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usage(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// parse parses flags and returns the arguments between them. Unlike the package's
// own Parse it takes flags after arguments too, as people write them; what follows
// -- is an argument. A request for help comes back as [flag.ErrHelp].
func parse(flags *flag.FlagSet, args []string) (rest []string, err error) {
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	for len(args) > 0 {
		if args[0] == "--" {
			return append(rest, args[1:]...), nil
		}
		if args[0] == "-" || !strings.HasPrefix(args[0], "-") {
			rest, args = append(rest, args[0]), args[1:]
			continue
		}
		// One flag at a time: Parse would step over a --.
		n := 1
		if takesNext(flags, args) {
			n = 2
		}
		if err := flags.Parse(args[:n]); err != nil {
			return nil, flagError(flags, args[0], err)
		}
		args = args[n:]
	}
	return rest, nil
}

// takesNext reports whether the first argument is a flag whose value is the second.
func takesNext(flags *flag.FlagSet, args []string) bool {
	f := flags.Lookup(flagName(args[0]))
	if f == nil || strings.Contains(args[0], "=") || len(args) == 1 {
		return false
	}
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return !ok || !b.IsBoolFlag()
}

// flagName returns the name in -name, --name or --name=value.
func flagName(arg string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
	return name
}

func flagError(flags *flag.FlagSet, arg string, err error) error {
	see := fmt.Sprintf("see ration %s -h", flags.Name())
	name := flagName(arg)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return err
	case flags.Lookup(name) == nil:
		var known []string
		flags.VisitAll(func(f *flag.Flag) { known = append(known, "--"+f.Name) })
		return usage("there is no flag %s; %s (%s)", arg, strict.Meant(arg, known), see)
	}
	text := strings.Replace(err.Error(), " -"+name, " --"+name, 1)
	return usage("%s (%s)", text, see)
}

// whole is a flag's value that is a whole number within bounds.
type whole struct {
	value       uint64
	least, most uint64
	set         bool
}

// String implements [flag.Value].
func (w *whole) String() string { return fmt.Sprint(w.value) }

// Set implements [flag.Value].
func (w *whole) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n < w.least || n > w.most {
		return fmt.Errorf("it is not a whole number from %d to %d", w.least, w.most)
	}
	w.value, w.set = n, true
	return nil
}
