package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationconfig"
	"github.com/ration-go/ration/rationconfig/strict"
)

// explain is the command of that name.
func explain(ctx context.Context, args []string, std streams) error {
	flags := flag.NewFlagSet("explain", flag.ContinueOnError)
	rest, err := parse(flags, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return help(ctx, []string{"explain"}, std)
	case err != nil:
		return err
	case len(rest) == 0 || len(rest) > 2:
		return usage("takes FILE and, to see one policy of it, NAME (see ration explain -h)")
	}
	text, err := explanation(rest[0], rest[1:])
	var faults *strict.Error
	switch {
	case errors.As(err, &faults):
		return everyProblem(faults.Problems)
	case err != nil:
		return err
	}
	_, err = io.WriteString(std.out, text)
	return err
}

// explanation explains the named policies of a file, all of them if none is named.
func explanation(file string, names []string) (string, error) {
	set, err := rationconfig.Load(layers(file)...)
	if err != nil {
		return "", err
	}
	if len(names) == 0 {
		names = set.Status().Policies
	}
	var texts []string
	for _, name := range names {
		e, err := set.Executor(name)
		if err != nil {
			return "", usage("%s: %s", file, strings.TrimPrefix(err.Error(), "rationconfig: "))
		}
		texts = append(texts, e.Explain()+chainText(e))
	}
	return strings.Join(texts, "\n"), nil
}

// chainText is a table of what a chain of hops comes to at its bottom if each of them
// retries like e, for as long as its dependency fails.
func chainText(e *ration.Executor) string {
	attempts := e.Policy().Attempts
	if attempts == 1 {
		return ""
	}
	var b strings.Builder
	b.WriteString("a chain of hops that all retry like this, in attempts at its bottom per call\n")
	fmt.Fprintf(&b, "  %-16s%12s%16s\n", "hops", "budgets", "no budgets")
	for _, hops := range []int{1, 2, 3, 5, 8} {
		with := "-"
		if bucket := e.Budget(); bucket != nil {
			with = fmt.Sprintf("%.2fx", 1+float64(hops)*bucket.Fraction())
		}
		fmt.Fprintf(&b, "  %-16d%12s%16s\n", hops, with,
			power(attempts, hops)+"x")
	}
	return b.String()
}

// power is exact up to where nobody counts any more.
func power(attempts, hops int) string {
	x := math.Pow(float64(attempts), float64(hops))
	if x < 1e9 {
		return count(int(x))
	}
	return fmt.Sprintf("%.2g", x)
}
