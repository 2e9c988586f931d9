package ration_test

import (
	"context"
	"fmt"

	"github.com/ration-go/ration"
)

// A nightly backfill says what it is, and stops retrying before a checkout
// does.
func ExampleWithCriticality() {
	ctx := ration.WithCriticality(context.Background(), ration.Sheddable)
	fmt.Println(ration.CriticalityOf(ctx))
	fmt.Println(ration.CriticalityOf(context.Background()))
	// Output:
	// Sheddable
	// Critical
}

func ExampleParseCriticality() {
	fmt.Println(ration.ParseCriticality("sheddableplus"))
	fmt.Println(ration.ParseCriticality("-1"))
	// Output:
	// SheddablePlus true
	// Critical false
}
