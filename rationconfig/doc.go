// Package rationconfig keeps policies in files, under names, and reloads them while a
// service runs.
//
//	policies:
//	  payments:
//	    attempts: 4
//	    deadline: 2s
//	    breaker: {consecutiveFailures: 10}
//
// [Load] and [Watch] read such files and give each policy an executor that is the same
// for ever:
//
//	set, err := rationconfig.Watch("/etc/shop/policies.yaml")
//	payments, err := set.Executor("payments")
//	client, err := rationhttp.NewClient(ration.Policy{}, rationhttp.WithExecutor(payments))
//
// The keys are the fields of [ration.Policy], spelled as keys are, so that there is one
// vocabulary for code and configuration. What code must spell with a sentinel, a file
// switches off with enabled: false, and a bound that it does without is none. A
// [Loader] adds what a file cannot express.
//
// A file is read strictly: what is unknown, out of range or without effect is refused
// with its line, all of it at once. docs/policy-file.md lists every key, and
// schema.json is for editors.
package rationconfig
