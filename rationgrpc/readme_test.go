package rationgrpc_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The README's table of codes is the one that the tests of the codes run.
func TestReadmeCodes(t *testing.T) {
	listed := map[string]string{}
	row := regexp.MustCompile(`(?m)^\| (\w+) \| (ok|transient|throttled|permanent)\b`)
	for _, m := range row.FindAllStringSubmatch(read(t, "README.md"), -1) {
		listed[m[1]] = m[2]
	}
	for code, kind := range verdicts {
		if got := listed[code.String()]; got != kind.String() {
			t.Errorf("README.md says that %v is %q, the tests %v", code, got, kind)
		}
		delete(listed, code.String())
	}
	for code := range listed {
		t.Errorf("README.md lists %s", code)
	}
	if !strings.Contains(read(t, "README.md"), "| DeadlineExceeded, the attempt's own | transient |") {
		t.Error("README.md does not tell the attempt's own deadline from the server's")
	}
}

// The modules that README.md names are those that go.mod requires.
func TestReadmeModules(t *testing.T) {
	_, list, _ := strings.Cut(read(t, "README.md"), "own lines:\n\n```\n")
	list, _, _ = strings.Cut(list, "```")
	var required []string
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v`).FindAllStringSubmatch(read(t, "go.mod"), -1) {
		required = append(required, m[1])
	}
	slices.Sort(required)
	if got := strings.Fields(list); !slices.Equal(got, required) {
		t.Errorf("README.md lists %q, go.mod %q", got, required)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
