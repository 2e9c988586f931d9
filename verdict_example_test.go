package ration_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/ration-go/ration"
)

func ExampleDefaultClassifier() {
	for _, err := range []error{
		nil,
		fmt.Errorf("reading the reply: %w", io.ErrUnexpectedEOF),
		fmt.Errorf("reading the key: %w", fs.ErrNotExist),
		ration.Throttled(errors.New("slow down"), 5*time.Second),
	} {
		fmt.Println(ration.DefaultClassifier(nil, err))
	}
	// Output:
	// ok
	// transient
	// permanent
	// throttled, retry after 5s
}

func ExampleRetryAny() {
	fmt.Println(ration.RetryAny(nil, errors.New("no rule knows this one")))
	fmt.Println(ration.RetryAny(nil, ration.Permanent(errors.New("wrong password"))))
	// Output:
	// transient
	// permanent
}

// A classifier changes the verdicts it cares about and leaves the others to the
// default. It sees the value too, for answers that are errors in all but name.
func ExampleClassifier() {
	errStale := errors.New("replica is behind")
	type reply struct{ busy bool }

	classify := func(value any, err error) ration.Verdict {
		if errors.Is(err, errStale) {
			return ration.Verdict{Kind: ration.VerdictTransient}
		}
		if r, ok := value.(reply); ok && err == nil && r.busy {
			return ration.Verdict{Kind: ration.VerdictThrottled, RetryAfter: time.Second}
		}
		return ration.DefaultClassifier(value, err)
	}

	fmt.Println(classify(reply{}, errStale))
	fmt.Println(classify(reply{busy: true}, nil))
	fmt.Println(classify(reply{}, nil))
	// Output:
	// transient
	// throttled, retry after 1s
	// ok
}

// The layer that knows more has the last word, and nothing about the error is
// lost.
func ExamplePermanent() {
	err := fmt.Errorf("reading from the sidecar: %w", io.EOF)
	fmt.Println(ration.DefaultClassifier(nil, err))

	err = ration.Permanent(err)
	fmt.Println(ration.DefaultClassifier(nil, err))
	fmt.Println(errors.Is(err, io.EOF))
	// Output:
	// transient
	// permanent
	// true
}

func ExampleTransient() {
	err := ration.Transient(errors.New("lock is held by another worker"))
	fmt.Println(err)
	fmt.Println(ration.DefaultClassifier(nil, err))
	// Output:
	// lock is held by another worker
	// transient
}

// What failed may know how long it will last, without asking anyone to slow
// down.
func ExampleMark() {
	err := ration.Mark(errors.New("electing a leader"), ration.Verdict{
		Kind:       ration.VerdictTransient,
		RetryAfter: 3 * time.Second,
	})
	fmt.Println(ration.DefaultClassifier(nil, err))
	// Output: transient, retry after 3s
}

func ExampleThrottled() {
	err := ration.Throttled(errors.New("quota used up"), 30*time.Second)
	fmt.Println(ration.DefaultClassifier(nil, err))
	// Output: throttled, retry after 30s
}

// A local limiter refuses without asking the dependency, so the retry costs no
// token of the budget.
func ExampleRefused() {
	err := ration.Refused(errors.New("local limit reached"), 200*time.Millisecond)
	fmt.Println(ration.DefaultClassifier(nil, err))
	// Output: throttled, self-imposed, retry after 200ms
}
