package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ration-go/ration/rationsim"
)

func TestHelp(t *testing.T) {
	for _, args := range [][]string{
		{"help"}, {"-h"}, {"-help"}, {"--help"}, {"help", "-h"},
	} {
		if out, err, code := console(t, "", args...); out != page("ration") || err != "" || code != 0 {
			t.Errorf("%q: %d, %q, %q", args, code, out, err)
		}
	}
	for _, args := range [][]string{
		{"help", "simulate"}, {"simulate", "-h"}, {"simulate", "--help"}, {"simulate", "-seed", "1", "-h", "x"},
	} {
		if out, err, code := console(t, "", args...); out != page("simulate") || err != "" || code != 0 {
			t.Errorf("%q: %d, %q, %q", args, code, out, err)
		}
	}
	if out, err, code := console(t, ""); out != "" || err != page("ration") || code != statusUnusable {
		t.Errorf("without arguments: %d, %q, %q", code, out, err)
	}
}

// TestHelpPages: each page fits a terminal and ends with its last line, and the
// program has one for each command.
func TestHelpPages(t *testing.T) {
	for _, topic := range append(topics(), "ration") {
		text := page(topic)
		if !strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\n\n") {
			t.Errorf("%s: does not end with one end of line", topic)
		}
		for line := range strings.Lines(text) {
			if width(strings.TrimSuffix(line, "\n")) > lineWidth || strings.Contains(line, "\t") {
				t.Errorf("%s: too wide, or with a tab: %q", topic, line)
			}
		}
	}
	for _, c := range commands() {
		if !strings.Contains(page("ration"), "  ration "+c.name+" ") {
			t.Errorf("the help does not list %s", c.name)
		}
	}
	for _, name := range rationsim.PresetNames() {
		if !strings.Contains(page("simulate"), "\n  "+name+" ") {
			t.Errorf("the help does not list the preset %s", name)
		}
	}
}

func TestVersion(t *testing.T) {
	for _, arg := range []string{"version", "--version"} {
		out, err, code := console(t, "", arg)
		if !strings.HasPrefix(out, "ration ") || strings.Count(out, "\n") != 1 || err != "" || code != 0 {
			t.Errorf("%s: %d, %q, %q", arg, code, out, err)
		}
	}
}

// TestUsage: arguments that cannot be used, each answered by one line that says what
// to do instead, and by status 2.
func TestUsage(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{"a.yaml": "", "b.yaml": ""} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("folder", 0o777); err != nil {
		t.Fatal(err)
	}
	const see = " (see ration simulate -h)\n"
	const flags = "--chain, --csv, --html, --json, --policy, --preset, --rivals, --seed, --seeds, --svg, --trace, --variant"
	presets := strings.Join(rationsim.TopologyPresetNames(), ", ")
	pages := strings.Join(topics(), ", ")
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	known := strings.Join(names, ", ")
	tests := []struct {
		args, want string
	}{
		{"simlate", "ration: there is no command \"simlate\"; did you mean simulate?\n"},
		{"run", "ration: there is no command \"run\"; allowed are " + known + "\n"},
		{"--json", "ration: there is no command \"--json\"; allowed are " + known + "\n"},
		{"version now", "ration version: takes no argument, and got \"now\"\n"},
		{"help me", "ration help: there is no topic \"me\"; allowed are " + pages + "\n"},
		{"help scenarios", "ration help: there is no topic \"scenarios\"; did you mean scenario?\n"},
		{"help ../main", "ration help: there is no topic \"../main\"; allowed are " + pages + "\n"},
		{"help a b", "ration help: takes one topic, not 2\n"},

		{"simulate --sedes 3", "ration simulate: there is no flag --sedes; did you mean --seeds?" + see},
		{"simulate --verbose", "ration simulate: there is no flag --verbose; " +
			"allowed are " + flags + see},
		{"simulate ---seed", "ration simulate: there is no flag ---seed; did you mean --seed?" + see},
		{"simulate a.yaml -x", "ration simulate: there is no flag -x; " +
			"allowed are " + flags + see},
		{"simulate --seed", "ration simulate: flag needs an argument: --seed" + see},
		{"simulate --preset", "ration simulate: flag needs an argument: --preset" + see},
		{"simulate --seed -1", "ration simulate: invalid value \"-1\" for flag --seed: " +
			"it is not a whole number from 0 to 9007199254740991" + see},
		{"simulate --seed 1.5", "ration simulate: invalid value \"1.5\" for flag --seed: " +
			"it is not a whole number from 0 to 9007199254740991" + see},
		{"simulate --seed=9007199254740992", "ration simulate: invalid value \"9007199254740992\" " +
			"for flag --seed: it is not a whole number from 0 to 9007199254740991" + see},
		{"simulate --seeds 0", "ration simulate: invalid value \"0\" for flag --seeds: " +
			"it is not a whole number from 1 to 10000" + see},
		{"simulate --seeds 10001", "ration simulate: invalid value \"10001\" for flag --seeds: " +
			"it is not a whole number from 1 to 10000" + see},
		{"simulate --seeds NaN", "ration simulate: invalid value \"NaN\" for flag --seeds: " +
			"it is not a whole number from 1 to 10000" + see},
		{"simulate --json=maybe", "ration simulate: invalid boolean value \"maybe\" for --json: " +
			"parse error" + see},
		{"simulate --preset storm", "ration simulate: there is no preset \"storm\"; " +
			"allowed are " + presets + "\n"},
		{"simulate --preset trades", "ration simulate: there is no preset \"trades\"; did you mean trade?\n"},
		{"simulate --preset=", "ration simulate: there is no preset \"\"; allowed are " + presets + "\n"},
		{"simulate --preset trade a.yaml", "ration simulate: takes a preset or a scenario, " +
			"and got both \"trade\" and \"a.yaml\"\n"},
		{"simulate a.yaml b.yaml", "ration simulate: takes one scenario, and got \"a.yaml\" and \"b.yaml\"\n"},
		{"simulate a.yaml --json b.yaml", "ration simulate: takes one scenario, " +
			"and got \"a.yaml\" and \"b.yaml\"\n"},

		{"simulate nowhere.yaml", "nowhere.yaml: does not exist\n"},
		{"simulate trade", "trade: does not exist; for the preset of that name use --preset trade\n"},
		{"simulate -- --json", "--json: does not exist\n"},
		{"simulate folder", "folder: is a directory; name a file\n"},
		{"simulate a.yaml/x", "a.yaml/x: cannot be read: not a directory\n"},
		{"simulate a.yaml", "a.yaml:1: is empty\n"},
		{"simulate -", "stdin:1: is empty\n"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			out, err, code := console(t, "", strings.Split(tt.args, " ")...)
			if out != "" || err != tt.want || code != statusUnusable {
				t.Errorf("%d, %q\n got %q\nwant %q", code, out, err, tt.want)
			}
		})
	}
	const empty = "ration simulate: takes a scenario, and its name is empty\n"
	if out, err, code := console(t, "", "simulate", ""); out != "" || err != empty || code != 2 {
		t.Errorf("an empty name: %d, %q, %q", code, out, err)
	}
}

// TestFlagsAnywhere: a flag may stand behind the scenario, and be spelled either
// way.
func TestFlagsAnywhere(t *testing.T) {
	want, _, _ := console(t, tiny, "simulate", "--json", "--seed", "7", "-")
	for _, args := range []string{
		"simulate - --json --seed=7", "simulate -seed 7 - -json", "simulate --seed 7 --json=true -- -",
	} {
		if got, err, code := console(t, tiny, strings.Fields(args)...); got != want || code != 0 {
			t.Errorf("%s: %d, %s%s", args, code, got, err)
		}
	}
}

// tiny is the least that a scenario can be, and takes no time.
const tiny = "{duration: 2s, rate: 50, dependency: {latency: {p50: 10ms, p99: 20ms}}}"

// broken is a stream that nothing can be written to.
type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

// TestOutputFails: a reader that has gone away is no news to anyone; any other
// failure is told.
func TestOutputFails(t *testing.T) {
	for _, args := range []string{"simulate -", "simulate --json -", "help", "version"} {
		t.Run(args, func(t *testing.T) {
			var stderr bytes.Buffer
			gone := &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}
			code := run(t.Context(), strings.Fields(args), strings.NewReader(tiny), broken{gone}, &stderr)
			if code != statusFailed || stderr.Len() > 0 {
				t.Errorf("nobody reads: %d, %q", code, &stderr)
			}
			full := errors.New("no space left\non device")
			code = run(t.Context(), strings.Fields(args), strings.NewReader(tiny), broken{full}, &stderr)
			name := strings.Fields(args)[0]
			if want := "ration " + name + ": no space left; on device\n"; code != statusFailed ||
				stderr.String() != want {
				t.Errorf("disk full: %d, got %q, want %q", code, &stderr, want)
			}
		})
	}
}

// TestInterrupt: Ctrl-C ends the command at once, whatever it is busy with, and
// nothing that looks like a result is printed.
func TestInterrupt(t *testing.T) {
	endless, unblock := io.Pipe()
	defer unblock.Close()
	for name, args := range map[string]string{
		"waiting for input": "simulate -",
		"simulating":        "simulate",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			interrupt()
			var out, err bytes.Buffer
			code := run(ctx, strings.Fields(args), endless, &out, &err)
			if want := "ration simulate: interrupted\n"; code != statusInterrupted || out.Len() > 0 ||
				err.String() != want {
				t.Errorf("%d, %q, %q", code, &out, &err)
			}
		})
	}
}

// TestReadFails: an input that breaks off is not the input that was meant.
func TestReadFails(t *testing.T) {
	torn := io.MultiReader(strings.NewReader(tiny), &failing{})
	var out, err bytes.Buffer
	code := run(t.Context(), []string{"simulate", "-"}, torn, &out, &err)
	if want := "stdin: cannot be read: torn\n"; code != statusUnusable || err.String() != want {
		t.Errorf("%d, %q, %q", code, &out, &err)
	}
}

type failing struct{}

func (*failing) Read([]byte) (int, error) { return 0, errors.New("torn") }

// TestGoldenNames: a golden that no test reads any more goes unnoticed.
func TestGoldenNames(t *testing.T) {
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for name := range goldens {
		want = append(want, filepath.Join("testdata", name))
	}
	slices.Sort(want)
	if !slices.Equal(files, want) {
		t.Errorf("there are %q, want %q", files, want)
	}
}
