package strict

import (
	"fmt"
	"strings"
	"testing"
)

// TestMeantMany: a message stays readable, and is found quickly, however many words
// there are.
func TestMeantMany(t *testing.T) {
	words := make([]string, 2000)
	for i := range words {
		words[i] = fmt.Sprintf("name%04d", i)
	}
	if got := Meant("nmae0999", words[:1000]); got != "did you mean name0999?" {
		t.Errorf("got %s", got)
	}
	got := Meant("nmae0999", words)
	if !strings.HasPrefix(got, "allowed are name0000, ") || !strings.HasSuffix(got, ", name0049 and 1950 more") {
		t.Errorf("got %s", got)
	}
}
