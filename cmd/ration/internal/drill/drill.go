// Package drill sends user actions through a chain of real servers on loopback and
// makes the last of them fail:
//
//	client -> frontend (HTTP) -> backend (gRPC) -> database (HTTP)
//
// Each arrow is a hop that retries under a policy of the library that ships. The
// package counts what reaches each server, and says how much of it the retries
// are: without budgets the hops multiply.
package drill

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ration-go/ration"
)

// A Drill is how hard the chain is driven. It is not changed while it runs.
type Drill struct {
	Rate     int           // user actions a second, evenly spaced
	Each     time.Duration // the load of one phase
	Attempts int           // of each hop, at most; 1 = no retries

	// Shipped, unless nil, is the policy of each hop in place of the drill's own,
	// but for a deadline above [Deadline]. Its Attempts are those above.
	Shipped *ration.Policy

	// Acted, unless nil, is called after each user action, concurrently.
	Acted func()
}

// Actions returns how many user actions a phase has.
func (d *Drill) Actions() int { return max(1, int(d.Each.Seconds()*float64(d.Rate))) }

// A Phase is a trouble that the database is in, met by one way to retry.
type Phase struct {
	Trouble Trouble
	Budgets Budgets
}

// Phases returns all of them, trouble by trouble, so that what belongs together is
// seen together.
func Phases() (phases []Phase) {
	for _, t := range troubles {
		for _, b := range []Budgets{Off, On, LoopBroken} {
			phases = append(phases, Phase{t, b})
		}
	}
	return phases
}

// Name returns what the phase is called.
func (p Phase) Name() string { return p.Trouble.Name + ", " + p.Budgets.Label() }

// Budgets is what holds the retries of the hops back.
type Budgets string

// The ways to retry. LoopBroken has the budgets too, and each server that has
// given up says so to its caller, which then does not retry.
const (
	Off        Budgets = "off"
	On         Budgets = "on"
	LoopBroken Budgets = "loop-broken"
)

// Label returns what people read.
func (b Budgets) Label() string {
	switch b {
	case Off:
		return "no budgets"
	case On:
		return "budgets"
	}
	return "loop broken"
}

// Run runs one phase on a chain of its own, whose buckets are full. It returns once
// every action has ended and every server is gone. If the context ends first, so
// does the phase, and there is no result.
func (d *Drill) Run(ctx context.Context, p Phase) (*Result, error) {
	c, err := d.newChain(p)
	if err != nil {
		return nil, err
	}
	defer c.close()
	// An action before the trouble opens the connections, and shows that the
	// failures to come are the database's.
	switch err := c.act(ctx); {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("the chain fails while nothing is wrong: %w", err)
	}
	n := &counts{begun: time.Now()}
	c.counts.Store(n)
	actions := d.drive(ctx, c, n)
	elapsed := time.Since(n.begun)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := d.result(p, n, actions, elapsed)
	if r.Simulated, err = d.Model(ctx, p, modelSeed); err != nil {
		return nil, err
	}
	return r, nil
}

// An action is what became of one user action.
type action struct {
	err  error
	took time.Duration
}

// drive starts the actions of a phase when they are due, whatever becomes of those
// before them, and waits for all of them. Those that have not begun when the
// context ends are left out.
func (d *Drill) drive(ctx context.Context, c *chain, n *counts) []action {
	var running sync.WaitGroup
	defer running.Wait()
	actions := make([]action, d.Actions())
	due := time.NewTimer(0)
	defer due.Stop()
	for i := range actions {
		at := n.begun.Add(time.Duration(i) * time.Second / time.Duration(d.Rate))
		due.Reset(time.Until(at))
		select {
		case <-ctx.Done():
			return actions[:i]
		case <-due.C:
		}
		running.Go(func() {
			begun := time.Now()
			actions[i].err = c.act(ctx)
			actions[i].took = time.Since(begun)
			if d.Acted != nil {
				d.Acted()
			}
		})
	}
	return actions
}
