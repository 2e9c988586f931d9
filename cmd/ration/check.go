package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/ration-go/ration/rationconfig"
	"github.com/ration-go/ration/rationconfig/strict"
)

// checkFiles is the command check. It prints a line for each file that is in order,
// and everything that is wrong with the others.
func checkFiles(ctx context.Context, args []string, std streams) error {
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	files, err := parse(flags, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return help(ctx, []string{"check"}, std)
	case err != nil:
		return err
	case len(files) == 0:
		return usage("takes files, and got none (see ration check -h)")
	}
	var all everyProblem
	for _, file := range files {
		text, err := checkFile(file)
		var faults *strict.Error
		switch {
		case errors.As(err, &faults):
			all = append(all, faults.Problems...)
		case err != nil:
			return err
		default:
			if _, err := fmt.Fprintf(std.out, "%s: %s\n", file, text); err != nil {
				return err
			}
		}
	}
	if all != nil {
		return all
	}
	return nil
}

// everyProblem is an error that is printed in full, a line for each problem.
type everyProblem []strict.Problem

func (p everyProblem) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].String()
	}
	return strings.Join(lines, "\n")
}

// checkFile checks one argument, and says what it holds.
func checkFile(arg string) (string, error) {
	files := layers(arg)
	if len(files) == 1 && isScenario(files[0]) {
		c, err := openScenario(files[0], nil)
		if err != nil {
			return "", err
		}
		if t := c.topology; t != nil {
			return fmt.Sprintf("a scenario with %s and %s",
				plural(len(t.base.Services), "service", "services"),
				plural(len(t.variants), "variant", "variants")), nil
		}
		return "a scenario with " + plural(len(c.configs), "policy", "policies"), nil
	}
	policies, err := rationconfig.Policies(files...)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %s", plural(len(policies), "policy", "policies"),
		strings.Join(slices.Sorted(maps.Keys(policies)), ", ")), nil
}

// isScenario reports whether a file has keys that only a scenario has. A file that
// cannot be read is none, so that whoever reads policies says why.
func isScenario(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	d, err := strict.Read(file, f)
	if err != nil {
		return false
	}
	known := strict.Keys(reflect.TypeFor[scenarioFile]())
	return slices.ContainsFunc(d.TopKeys(), func(key string) bool {
		return key != "policies" && slices.Contains(known, key)
	})
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}
