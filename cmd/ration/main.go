package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/ration-go/ration/rationconfig/strict"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second Ctrl-C is for a command that does not heed the first.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Exit statuses. A shell reads 130 as ended by Ctrl-C.
const (
	statusFailed      = 1
	statusUnusable    = 2
	statusInterrupted = 130
)

// A command is one word after ration. Its run gets the arguments that follow the
// word. What it prints goes to the streams, and its error is printed by the caller.
type command struct {
	name string
	run  func(ctx context.Context, args []string, std streams) error
}

type streams struct {
	in       io.Reader
	out, err io.Writer
}

func commands() []command {
	return []command{
		{"simulate", simulate},
		{"calibrate", calibrate},
		{"drill", runDrill},
		{"check", checkFiles},
		{"explain", explain},
		{"help", help},
		{"version", version},
	}
}

// run is the whole program as a function, so that tests and the manual run it too.
// It returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	std := streams{stdin, stdout, stderr}
	if len(args) == 0 {
		fmt.Fprint(stderr, page("ration"))
		return statusUnusable
	}
	name := "ration"
	err := dispatch(ctx, &name, args, std)
	if err == nil {
		return 0
	}
	return report(name, err, stderr)
}

// dispatch runs the command that args name, and extends name by it.
func dispatch(ctx context.Context, name *string, args []string, std streams) error {
	switch args[0] {
	case "-h", "-help", "--help":
		return help(ctx, nil, std)
	case "-version", "--version":
		return version(ctx, nil, std)
	}
	var known []string
	for _, c := range commands() {
		if c.name == args[0] {
			*name += " " + c.name
			return c.run(ctx, args[1:], std)
		}
		known = append(known, c.name)
	}
	return usage("there is no command %q; %s", args[0], strict.Meant(args[0], known))
}

// report prints an error on one line and returns the status it stands for.
func report(name string, err error, stderr io.Writer) int {
	var every everyProblem
	var file *strict.Error
	var use *usageError
	switch {
	case errors.Is(err, syscall.EPIPE):
		// The reader has seen enough, and knows.
		return statusFailed
	case errors.Is(err, context.Canceled):
		fmt.Fprintf(stderr, "%s: interrupted\n", name)
		return statusInterrupted
	case errors.As(err, &every):
		fmt.Fprintln(stderr, every)
		return statusUnusable
	case errors.As(err, &file):
		// Without a prefix: editors jump to what begins with FILE:LINE.
		fmt.Fprintln(stderr, file)
		return statusUnusable
	case errors.As(err, &use):
		fmt.Fprintf(stderr, "%s: %s\n", name, use)
		return statusUnusable
	}
	fmt.Fprintf(stderr, "%s: %s\n", name, strings.ReplaceAll(err.Error(), "\n", "; "))
	return statusFailed
}
