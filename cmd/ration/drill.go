package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/cmd/ration/internal/drill"
)

// What a drill is by default: 64-fold, and over within a minute.
const (
	defaultDrillRate     = 100
	defaultDrillFor      = 36 * time.Second
	defaultDrillAttempts = 4
)

// Bounds of a drill. Past maxDrillLoad attempts a second at the database, which is
// several times what the default comes to, the drill would measure the machine.
const (
	minDrillFor      = time.Second
	maxDrillFor      = time.Hour
	maxDrillRate     = 1000
	maxDrillAttempts = 8
	maxDrillLoad     = 20_000
)

// runDrill is the command drill.
func runDrill(ctx context.Context, args []string, std streams) error {
	o, err := drillFlags(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return help(ctx, []string{"drill"}, std)
	case err != nil:
		return err
	}
	if o.serve != "" {
		stop, err := servePage(o.serve, std.err)
		if err != nil {
			return err
		}
		defer stop()
	}
	// Last, since from here on every end waits for a scrape.
	if o.metrics != "" {
		m, err := serveMetrics(o.metrics)
		if err != nil {
			return err
		}
		defer m.close()
		defer m.linger(ctx, std.err)
	}
	if o.json {
		return o.runJSON(ctx, std)
	}
	return o.runText(ctx, std)
}

// drillOptions are the arguments of the command.
type drillOptions struct {
	rate     whole
	attempts whole
	policy   string         // FILE#NAME; "" = the drill's own
	shipped  *ration.Policy // that policy
	lasts    span
	metrics  string // the address to serve them at; "" = none
	serve    string // the address to serve the page at; "" = none
	json     bool
}

func drillFlags(args []string) (o drillOptions, err error) {
	o.rate = whole{value: defaultDrillRate, least: 1, most: maxDrillRate}
	o.attempts = whole{value: defaultDrillAttempts, least: 1, most: maxDrillAttempts}
	o.lasts = span{value: defaultDrillFor, least: minDrillFor, most: maxDrillFor}
	flags := flag.NewFlagSet("drill", flag.ContinueOnError)
	flags.Var(&o.rate, "rate", "")
	flags.Var(&o.attempts, "attempts", "")
	flags.StringVar(&o.policy, "policy", "", "")
	flags.Var(&o.lasts, "for", "")
	flags.StringVar(&o.metrics, "metrics", "", "")
	flags.StringVar(&o.serve, "serve", "", "")
	flags.BoolVar(&o.json, "json", false, "")
	rest, err := parse(flags, args)
	if err != nil {
		return o, err
	}
	if len(rest) > 0 {
		return o, usage("takes no argument, and got %q", rest[0])
	}
	if o.policy != "" {
		if err := o.ship(); err != nil {
			return o, err
		}
	}
	if load := o.rate.value * cube(o.attempts.value); load > maxDrillLoad {
		return o, usage("--rate %d with --attempts %d is up to %s attempts a second at the "+
			"database; at most %s are allowed", o.rate.value, o.attempts.value,
			count(int(load)), count(maxDrillLoad))
	}
	return o, nil
}

// ship reads the policy that the flag names, for each hop.
func (o *drillOptions) ship() error {
	if o.attempts.set {
		return usage("takes --attempts or --policy, which has attempts of its own")
	}
	policies, err := readRef(o.policy)
	if err != nil {
		return err
	}
	if len(policies) > 1 {
		return usage("--policy %s has %d policies; name one as FILE#NAME", o.policy, len(policies))
	}
	p := resolved(policies[0])
	switch {
	case p.Attempts > maxDrillAttempts:
		return usage("policy %q makes %d attempts, and a drill at most %d", p.Name, p.Attempts,
			maxDrillAttempts)
	case p.Attempts > 1 && p.Budget == nil:
		return usage("policy %q has no budget, and a drill shows what budgets do", p.Name)
	}
	o.shipped, o.attempts.value = &policies[0], uint64(p.Attempts)
	return nil
}

// cube returns how far attempts multiply over the three hops.
func cube(attempts uint64) uint64 { return attempts * attempts * attempts }

// drill returns what the options ask for. The load is divided among the phases.
func (o *drillOptions) drill() drill.Drill {
	return drill.Drill{
		Rate:     int(o.rate.value),
		Attempts: int(o.attempts.value),
		Shipped:  o.shipped,
		Each:     o.lasts.value / time.Duration(len(drill.Phases())),
	}
}

// each runs one phase after the other and hands on what each came to. It ends with
// the first phase that does not run to its end.
func (o *drillOptions) each(
	ctx context.Context, std streams, done func(*drill.Result) error,
) error {
	phases := drill.Phases()
	for i, p := range phases {
		d := o.drill()
		what := fmt.Sprintf("%d of %d, %s", i+1, len(phases), p.Name())
		bar := startProgressOf(ctx, std.err, isTerminal(std.err), what, int64(d.Actions()))
		d.Acted = func() { bar.ended.Add(1) }
		r, err := d.Run(ctx, p)
		bar.stop() // before a line that it would be drawn over
		if err == nil {
			err = done(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// runJSON prints one object, of the phases that have run to their end if the drill
// is interrupted.
func (o *drillOptions) runJSON(ctx context.Context, std streams) error {
	results := []*drill.Result{}
	err := o.each(ctx, std, func(r *drill.Result) error {
		results = append(results, r)
		return nil
	})
	interrupted := errors.Is(err, context.Canceled)
	if err != nil && !interrupted {
		return err
	}
	out := object{
		{"rate", o.rate.value},
		{"attempts", o.attempts.value},
		{"duration_s", o.lasts.value.Seconds()},
		{"interrupted", interrupted},
		{"phases", results},
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	if err := e.Encode(out); err != nil {
		return err
	}
	if _, err := std.out.Write(text.Bytes()); err != nil {
		return err
	}
	return err
}

// runText prints what is to come, a line for each phase as it ends, and then the
// numbers side by side.
func (o *drillOptions) runText(ctx context.Context, std streams) error {
	if _, err := io.WriteString(std.out, o.introduction()); err != nil {
		return err
	}
	var results []*drill.Result
	err := o.each(ctx, std, func(r *drill.Result) error {
		results = append(results, r)
		_, err := io.WriteString(std.out, drillLine(r))
		return err
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	text := drillTables(results)
	if err != nil {
		text += fmt.Sprintf("\nInterrupted after %d of %d phases. What was under way is left out.\n",
			len(results), len(drill.Phases()))
	} else {
		text += "\n" + o.drillVerdict(results)
	}
	if _, err := io.WriteString(std.out, text); err != nil {
		return err
	}
	return err
}

// span is a flag's value that is a duration within bounds.
type span struct{ value, least, most time.Duration }

// String implements [flag.Value].
func (s *span) String() string { return short(s.value) }

// Set implements [flag.Value].
func (s *span) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < s.least || d > s.most {
		return fmt.Errorf("it is not a duration from %s to %s, such as 36s",
			short(s.least), short(s.most))
	}
	s.value = d
	return nil
}
