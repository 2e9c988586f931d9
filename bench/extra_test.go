package bench

import (
	"context"
	"fmt"
	"testing"

	"github.com/ration-go/ration"
)

// What Ration can do besides, on the path of a success through retry, budget and
// breaker.
var extraGroup = group{"Extra", []row{
	{name: "plain", peers: []peer{{ours, func(tb testing.TB) func(int) {
		e := ration.MustNew(rationPolicy(tb, plan{budget: true, breaker: true}))
		return succeeding(func() *ration.Executor { return e })
	}, 0}, floorOf(clockPair)}},
	{name: "failure-ratio", peers: []peer{{ours, func(tb testing.TB) func(int) {
		p := rationPolicy(tb, plan{budget: true, breaker: true})
		p.Breaker = &ration.BreakerSettings{FailureRatio: 0.5}
		e := ration.MustNew(p)
		return succeeding(func() *ration.Executor { return e })
	}, 0}, floorOf(clockPair)}},
	{name: "listener", peers: []peer{{ours, func(tb testing.TB) func(int) {
		p := rationPolicy(tb, plan{budget: true, breaker: true})
		p.OnEvent = func(ration.Event) {}
		e := ration.MustNew(p)
		return succeeding(func() *ration.Executor { return e })
	}, 0}, floorOf(clockPair)}},
	{name: "metrics", peers: []peer{{ours, func(tb testing.TB) func(int) {
		attachMetrics(tb)
		e := ration.MustNew(rationPolicy(tb, plan{budget: true, breaker: true}))
		return succeeding(func() *ration.Executor { return e })
	}, 0}, {"otel-sdk", recordAlone, 0}, floorOf(clockPair)}},
	{name: "try", peers: []peer{{ours, func(tb testing.TB) func(int) {
		e := ration.MustNew(rationPolicy(tb, plan{budget: true, breaker: true}))
		ctx := context.Background()
		return repeat(func() { ration.Try(ctx, e, succeed) })
	}, 2}, floorOf(clockPair)}},
	keyRow("for", 1, false), keyRow("for", 100, false), keyRow("for", 1000, false),
	keyRow("for+do", 1, true), keyRow("for+do", 100, true), keyRow("for+do", 1000, true),
}}

func succeeding(of func() *ration.Executor) func(int) {
	ctx := context.Background()
	return repeat(func() { ration.Do(ctx, of(), succeed) })
}

var found *ration.Executor

// keyRow looks up n keys in turn, and calls under each if do is set.
func keyRow(name string, n int, do bool) row {
	return row{name: fmt.Sprintf("%s,keys=%d", name, n), peers: []peer{{
		ours, func(tb testing.TB) func(int) {
			e := ration.MustNew(rationPolicy(tb, plan{budget: true, breaker: true}))
			keys := make([]string, n)
			for i := range keys {
				keys[i] = fmt.Sprintf("host-%d.example.com:443", i)
				e.For(keys[i])
			}
			i := 0
			next := func() *ration.Executor {
				if i++; i >= n {
					i = 0
				}
				return e.For(keys[i])
			}
			if do {
				return succeeding(next)
			}
			return repeat(func() { found = next() })
		}, 0,
	}, floorOf(clockPair)}}
}
