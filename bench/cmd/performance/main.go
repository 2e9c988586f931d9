// Command performance measures Ration beside its peers and writes what it found
// to docs/performance.md. From the root of the repository:
//
//	go run ./bench/cmd/performance
//
// It builds the benchmarks of the module bench once and runs them in as many
// passes as -count says, one after another, so that what else the machine does in
// a minute falls on every row alike. The raw figures go to docs/performance.txt,
// in the format of the Go benchmarks, which benchstat reads as well. With -render
// nothing is measured: the page is written again from the raw figures.
//
// The page has one part that is written by hand, between two markers; it is kept.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "performance:", err)
		}
		stop()
		os.Exit(1)
	}
}

// settings are the flags.
type settings struct {
	count     int
	benchtime string
	bench     string
	docs      string
	render    bool
}

func run(ctx context.Context, args []string, stderr io.Writer) error {
	var s settings
	flags := flag.NewFlagSet("performance", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&s.count, "count", 6, "passes over all benchmarks; six make a 95% interval")
	flags.StringVar(&s.benchtime, "benchtime", "100ms", "how long each benchmark runs in a pass")
	flags.StringVar(&s.bench, "bench", ".", "which benchmarks, as in go test")
	flags.StringVar(&s.docs, "docs", "docs", "where the page and the raw figures go")
	flags.BoolVar(&s.render, "render", false, "do not measure; write the page anew")
	if err := flags.Parse(args); err != nil {
		return err
	}
	raw, page := filepath.Join(s.docs, rawName), filepath.Join(s.docs, pageName)
	if !s.render {
		command := strings.Join(append([]string{"go run ./bench/cmd/performance"}, args...), " ")
		figures, err := measure(ctx, s, command, stderr)
		if err != nil {
			return err
		}
		if err := os.WriteFile(raw, figures, 0o644); err != nil {
			return err
		}
	}
	return renderFile(raw, page)
}

const (
	rawName  = "performance.txt"
	pageName = "performance.md"
)

// renderFile writes the page from the raw figures, and keeps what was written by
// hand in the page that is there.
func renderFile(raw, page string) error {
	figures, err := os.ReadFile(raw)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(page)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	r, err := readResults(bytes.NewReader(figures))
	if err != nil {
		return err
	}
	var text bytes.Buffer
	render(&text, r, handWritten(string(old)))
	return os.WriteFile(page, text.Bytes(), 0o644)
}
