package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

const module = "github.com/ration-go/ration/bench"

// measure returns the raw figures: what made them, and the output of each pass.
//
// The workspace is left aside, as it would raise the versions of the peers to the
// highest that any module of ours asks for.
func measure(ctx context.Context, s settings, command string, stderr io.Writer) ([]byte, error) {
	dir, err := output(ctx, ".", "go", "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return nil, err
	}
	if dir = strings.TrimSpace(dir); dir == "" {
		return nil, fmt.Errorf("module %s is not in the workspace: run this from the root", module)
	}
	head, err := heading(ctx, dir, command)
	if err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "performance-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	binary := filepath.Join(tmp, "bench.test")
	if _, err := output(ctx, dir, "go", "test", "-c", "-o", binary, "."); err != nil {
		return nil, err
	}
	raw := bytes.NewBufferString(head)
	for pass := range s.count {
		begin := time.Now()
		out, err := output(ctx, dir, binary, "-test.run=^$", "-test.benchmem",
			"-test.bench="+s.bench, "-test.benchtime="+s.benchtime, "-test.timeout=1h")
		if err != nil {
			return nil, err
		}
		raw.WriteString(padding.ReplaceAllString(out, " "))
		fmt.Fprintf(stderr, "pass %d of %d: %v\n",
			pass+1, s.count, time.Since(begin).Round(time.Second))
	}
	return raw.Bytes(), nil
}

// padding lines up the columns of a benchmark's output, and is a third of it.
var padding = regexp.MustCompile(`[ \t]+`)

// heading is configuration in the benchmark format: the command, the day, the
// version of Go and of each peer.
func heading(ctx context.Context, dir, command string) (string, error) {
	version, err := output(ctx, dir, "go", "env", "GOVERSION")
	if err != nil {
		return "", err
	}
	modules, err := output(ctx, dir, "go", "list", "-m", "-f",
		"{{if not (or .Main .Replace .Indirect)}}{{.Path}} {{.Version}}{{end}}", "all")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "command: %s\nday: %s\nprocessors: %d\ngo: %s", command,
		time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), version)
	for line := range strings.Lines(modules) {
		if path, v, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			fmt.Fprintf(&b, "%s%s: %s\n", modulePrefix, path, v)
		}
	}
	return b.String(), nil
}

// modulePrefix marks the configuration that gives the version of a module.
const modulePrefix = "module-"

func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if dir != "." {
		cmd.Env = append(os.Environ(), "GOWORK=off")
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out, &stderr)
	}
	return string(out), nil
}
