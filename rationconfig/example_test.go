package rationconfig_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationconfig"
	"github.com/ration-go/ration/rationconfig/strict"
)

// file writes a file for an example, and returns its path.
func file(name, text string) string {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		log.Fatal(err)
	}
	return path
}

func ExampleLoad() {
	path := file("policies.yaml", `
policies:
  payments:
    attempts: 4
    deadline: 2s
`)
	set, err := rationconfig.Load(path)
	if err != nil {
		log.Fatal(err)
	}
	payments, err := set.Executor("payments")
	if err != nil {
		log.Fatal(err)
	}
	tries := 0
	err = payments.Run(context.Background(), func(context.Context) error {
		if tries++; tries < 4 {
			return ration.Transient(errors.New("connection reset"))
		}
		return nil
	})
	fmt.Println(tries, err)
	// Output: 4 <nil>
}

// A file for all clusters, and one for this one.
func ExampleLoad_layers() {
	base := file("base.yaml", `
policies:
  payments: {attempts: 4, breaker: {consecutiveFailures: 10, break: 5s}}
`)
	cluster := file("cluster.yaml", `
policies:
  payments: {breaker: {enabled: false}}
`)
	set, err := rationconfig.Load(base, cluster)
	if err != nil {
		log.Fatal(err)
	}
	payments, _ := set.Executor("payments")
	p := payments.Policy()
	fmt.Println(p.Attempts, p.Breaker == ration.NoBreaker)
	// Output: 4 true
}

// Everything that is wrong with a file is known at once.
func ExampleLoad_problems() {
	path := file("policies.yaml", `
policies:
  payments:
    atempts: 4
    deadline: 2
    budget: {enabled: false, fraction: 20%}
  search:
    preset: htpp
`)
	_, err := rationconfig.Load(path)
	var faults *strict.Error
	if errors.As(err, &faults) {
		for _, p := range faults.Problems {
			p.File = filepath.Base(p.File)
			fmt.Println(p)
		}
	}
	// Output:
	// policies.yaml:4: policies.payments.atempts: is no key here; did you mean attempts?
	// policies.yaml:5: policies.payments.deadline: 2 is not a duration above 0, such as 250ms, or none
	// policies.yaml:8: policies.search.preset: htpp is not default, http or none
}

func ExampleWatch() {
	path := file("policies.yaml", "policies: {payments: {attempts: 4}}")
	set, err := rationconfig.Watch(path)
	if err != nil {
		log.Fatal(err)
	}
	defer set.Close()
	payments, _ := set.Executor("payments") // for ever

	fmt.Println(payments.Policy().Attempts)
	// Output: 4
}

// What a file cannot say is said by code, and somebody hears of reloads.
func ExampleLoader() {
	path := file("policies.yaml", "policies: {payments: {attempts: 4}}")
	reloaded := make(chan rationconfig.Reload)
	loader := rationconfig.Loader{
		Customize: func(name string, p *ration.Policy) {
			p.Classify = ration.RetryAny
		},
		OnReload: func(r rationconfig.Reload) { reloaded <- r },
		Poll:     time.Second,
	}
	set, err := loader.Watch(path)
	if err != nil {
		log.Fatal(err)
	}
	defer set.Close()
	payments, _ := set.Executor("payments")

	next := file("policies.yaml", "policies: {payments: {attempts: 2}, search: {}}")
	if err := os.Rename(next, path); err != nil {
		log.Fatal(err)
	}
	r := <-reloaded
	fmt.Println(r.Changed, r.Added, payments.Policy().Attempts)
	// Output: [payments] [search] 2
}

// A signal asks for a reload, as it does of many daemons.
func ExampleSet_Reload() {
	path := file("policies.yaml", "policies: {payments: {attempts: 4}}")
	set, err := rationconfig.Load(path)
	if err != nil {
		log.Fatal(err)
	}
	hangup := make(chan os.Signal, 1) // signal.Notify(hangup, syscall.SIGHUP)
	go func() {
		for range hangup {
			_ = set.Reload() // logged, and in the status
		}
	}()

	if err := os.Remove(path); err != nil {
		log.Fatal(err)
	}
	fmt.Println(set.Reload() != nil, set.Status().Failures, set.Status().Policies)
	// Output: true 1 [payments]
}

func ExamplePolicies() {
	path := file("policies.yaml", "policies: {payments: {attempts: 4}, search: {preset: none}}")
	policies, err := rationconfig.Policies(path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(policies["payments"].Attempts, policies["search"].Attempts)
	// Output: 4 1
}
