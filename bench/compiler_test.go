package bench

import (
	"bytes"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

const root = "github.com/ration-go/ration"

// TestCompiler asserts, from what the compiler says of its own decisions, the facts
// that the hot paths rely on. Each has a reason that a benchmark would show only as
// a few nanoseconds more, and a reader not at all.
func TestCompiler(t *testing.T) {
	says := compile(t)
	for _, fact := range []struct{ want, why string }{
		{`budget\.go:\d+:\d+: can inline \(\*Budget\)\.Deposit\n`,
			"a deposit into a full bucket is one load where it is made"},
		{`budget\.go:\d+:\d+: can inline \(\*Budget\)\.deposit\n`, "and so is that of a call"},
		{`\w+\.go:\d+:\d+: inlining call to \(\*Budget\)\.deposit\n`, "which is made inline"},
		{`\w+\.go:\d+:\d+: inlining call to \(\*Call\)\.record\n`,
			"a log and a listener that are not there cost a comparison"},
		{`\w+\.go:\d+:\d+: inlining call to window\.Stripe\n`,
			"the address that tells goroutines apart is one of run's own frame"},
		{`\w+\.go:\d+:\d+: inlining call to clock\n`, "the clock is read without a detour"},
		{`keys\.go:\d+:\d+: can inline \(\*registry\)\.found\n`, "a key is looked up in one call"},
	} {
		if !regexp.MustCompile(fact.want).MatchString(says) {
			t.Errorf("the compiler does not say %q: %s", fact.want, fact.why)
		}
	}
	for _, fact := range []struct{ refuse, why string }{
		{`do\.go:\d+:\d+: moved to heap: (c|o|value)\n`, "a call, and what became of its attempt, live on the stack"},
		{`call\.go:\d+:\d+: moved to heap: (c|o)\n`, "and so they do for who drives a call by hand"},
		{`do\.go:\d+:\d+: (func literal|fn) escapes`, "the deferred function and the caller's allocate nothing"},
		{`budget\.go:\d+:\d+: moved to heap`, "the bucket allocates nothing after it is made"},
		{`breaker\.go:\d+:\d+: moved to heap`, "nor does the breaker"},
	} {
		if line := regexp.MustCompile(fact.refuse).FindString(says); line != "" {
			t.Errorf("the compiler says %q: %s", line, fact.why)
		}
	}
}

// compile returns what the compiler says of the core. It asks the build cache, so
// that it takes a second once and nothing after.
func compile(t *testing.T) string {
	t.Helper()
	if raceEnabled {
		t.Skip("asked without the race detector, whose calls change what is inlined")
	}
	cmd := exec.Command("go", "build", "-gcflags="+root+"=-m", root)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	if !strings.Contains(stderr.String(), "can inline") {
		t.Fatalf("the compiler says nothing of inlining:\n%s", &stderr)
	}
	return strings.ReplaceAll(stderr.String(), "\r\n", "\n")
}
