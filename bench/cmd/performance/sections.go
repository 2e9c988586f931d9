package main

import "strings"

// A section is what the page says of a group. floor names what its rows are held
// against, if they have a floor beside them.
type section struct{ group, title, text, floor string }

var sections = []section{
	{
		group: "Floor", title: "Floors",
		text: "What nobody who does the job can do without, measured in the same run.",
	},
	{
		group: "Success", title: "A call that succeeds",
		text: "Nearly every call, on a good day: the bucket is full and the breaker closed. " +
			"Nothing waits on a timeout.",
		floor: "two clock reads",
	},
	{
		group: "Timeout", title: "With a timeout for the attempt",
		text: "Retry, budget and breaker as above, by what the function does with its context: " +
			"ignores it, polls `Err`, waits on `Done` in a select, or derives a context of its " +
			"own. For Ration these are the defaults, measured ceiling and deadline included. " +
			"The floor is two clock reads while nothing needs a timer, and then " +
			"`context.WithTimeout` with its cancel and the same use.",
		floor: "the floor",
	},
	{
		group: "Failure", title: "Calls that meet failures",
		text: "Retried at once, with a budget that does not run out, so that the machinery is " +
			"measured and not the wait.",
		floor: "two clock reads",
	},
	{
		group: "Refusal", title: "Refusals",
		text: "By an open breaker, and by an empty budget after one failed attempt. `Do` pauses " +
			"for 100 ms before it returns a refusal, so that no caller can spin on it. That " +
			"pause is not the cost of the decision, so here a `ration.Call` is driven by hand, " +
			"from `Begin` to the error; its driver reads no clock, while the peers read theirs.",
	},
	{
		group: "Budget", title: "The bucket alone",
		text: "Told the time, as it is in a call. x/time/rate has no deposit, as time alone " +
			"fills it. The budget of failsafe-go counts what is in flight: its rows are what it " +
			"does for an attempt and for a retry, both ends of each. With several goroutines a " +
			"figure is wall time per operation, over all of them.",
		floor: "one atomic load",
	},
	{
		group: "Extra", title: "What can be switched on",
		text: "A success through retry, budget and breaker: plain, with the breaker's failure " +
			"ratio, with a listener that receives every event, with metrics, through `Try`, and " +
			"with a scope per key. No peer reports metrics by itself: beside that row is what the " +
			"SDK of OpenTelemetry takes for the same four measurements made by hand, and nothing " +
			"else. `for` is the lookup alone, `for+do` the lookup and the call; keys are " +
			"visited in turn, so that a thousand of them do not stay in the nearest cache.",
		floor: "two clock reads",
	},
	{
		group: "HTTP", title: "An HTTP round trip",
		text: "Over a stub that answers at once, and on loopback through a client of net/http. " +
			"What is added to the bare transport is what counts.",
		floor: "the bare transport",
	},
	{
		group: "GRPC", title: "A gRPC unary call",
		text: "To a health service in the same process, over a buffer in memory. gRPC's own " +
			"retries, set by a service configuration, throttle but have no breaker.",
		floor: "the bare connection",
	},
	{group: "Scaling", title: "Shared by goroutines"},
	{group: "Memory", title: "Memory"},
}

// names are those of the peers whose benchmarks cannot carry them.
var names = map[string]string{
	ours:                 "**Ration**",
	ours + "-ratio":      "Ration, with a failure ratio",
	ours + "-timeout":    "Ration, with its timeouts",
	"backoff":            "backoff",
	"aws":                "AWS SDK",
	"aws+gobreaker":      "AWS SDK + gobreaker",
	"backoff+gobreaker":  "backoff + gobreaker",
	"otel-sdk":           "OpenTelemetry SDK",
	"retry-go+gobreaker": "retry-go + gobreaker",
	"go-retry+gobreaker": "go-retry + gobreaker",
	"x-time-rate":        "x/time/rate",
	"grpc-retry-policy":  "gRPC's own",
}

// name returns what the page calls the peer of j. A star marks a peer that has no
// budget, in a row that asks for one.
func name(j job) string {
	n := names[j.peer]
	if n == "" {
		n = j.peer
	}
	asked := strings.Contains(j.row, "budget") || j.group == "Timeout"
	for _, without := range []string{"backoff", "go-retry", "retry-go"} {
		if asked && strings.HasPrefix(j.peer, without) {
			return n + " \\*"
		}
	}
	return n
}
