package bench

import (
	"os"
	"strings"
	"testing"
)

// TestFiguresPresent checks that the raw figures of docs/performance.md hold every
// row there is and no other. That the page was made of them is tested beside the
// command that makes it.
func TestFiguresPresent(t *testing.T) {
	raw, err := os.ReadFile("../docs/performance.txt")
	if err != nil {
		t.Fatal(err)
	}
	measured := make(map[string]bool)
	for line := range strings.Lines(string(raw)) {
		if name, _, ok := strings.Cut(line, " "); ok && strings.HasPrefix(name, "Benchmark") {
			name = strings.TrimPrefix(name, "Benchmark")
			if i := strings.LastIndexByte(name, '-'); i > 0 && isNumber(name[i+1:]) {
				name = name[:i] // GOMAXPROCS
			}
			measured[name] = true
		}
	}
	for _, name := range benchmarks() {
		if !measured[name] {
			t.Errorf("%s was not measured; run go run ./bench/cmd/performance", name)
		}
		delete(measured, name)
	}
	for name := range measured {
		t.Errorf("%s was measured, and is no longer a row", name)
	}
}

func benchmarks() (names []string) {
	for _, g := range groups {
		for _, r := range g.rows {
			for _, p := range r.peers {
				names = append(names, g.name+"/"+r.name+"/"+p.name)
			}
		}
	}
	for _, name := range limitNames() {
		names = append(names, "Limits/"+name+"/"+ours)
	}
	for _, m := range memories {
		names = append(names, "Memory/"+m.name+"/"+ours)
	}
	return names
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// TestEveryRowHasOurs keeps a row from being about others alone.
func TestEveryRowHasOurs(t *testing.T) {
	for _, g := range groups {
		for _, r := range g.rows {
			if g.name != "Floor" && r.peers[0].name != ours {
				t.Errorf("%s/%s begins with %s", g.name, r.name, r.peers[0].name)
			}
		}
	}
}
