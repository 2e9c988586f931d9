package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ration-go/ration/rationsim"
)

// rivalsOutput is the part of the object of simulate --rivals that the page shows.
type rivalsOutput struct{ Rivals []rivalOutput }

type rivalOutput struct {
	Name          string
	Availability  rationsim.Band
	Amplification rationsim.Band
	AgainstAvail  string `json:"availability_against_ration"`
	AgainstWorst  string `json:"amplification_against_ration"`
}

// TestRivalsOnEveryPreset holds the table of docs/rivals.md that covers all presets to
// what the command says, and with -update rewrites it. It takes some minutes, and so it
// is asked for.
func TestRivalsOnEveryPreset(t *testing.T) {
	if os.Getenv("RATION_RIVALS") != "full" {
		t.Skip("takes minutes; RATION_RIVALS=full runs it")
	}
	const file, begin, end = "../../docs/rivals.md", "<!-- presets -->\n", "<!-- end of presets -->"
	var rows strings.Builder
	names := slices.Concat(rationsim.PresetNames(), rationsim.TopologyPresetNames())
	slices.Sort(names)
	for _, preset := range slices.Compact(names) {
		text, errs, code := console(t, "", "simulate", "--preset", preset, "--rivals", "--json")
		if code != 0 {
			t.Fatal(errs)
		}
		var out rivalsOutput
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatal(err)
		}
		rows.WriteString(rivalRows(preset, out))
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), begin)
	was, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", file)
	}
	want := "\n" + rows.String() + "\n"
	switch {
	case *update:
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o666); err != nil {
			t.Fatal(err)
		}
	case was != want:
		t.Errorf("%s is not what the command says; -update rewrites it", file)
	}
}

// rivalRows is a table of one preset, the best availability first.
func rivalRows(preset string, out rivalsOutput) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n| rule | availability | worst second |\n|---|---|---|\n", preset)
	slices.SortStableFunc(out.Rivals, func(x, y rivalOutput) int {
		return cmp.Compare(y.Availability.Median, x.Availability.Median)
	})
	marks := map[string]string{"better": " +", "worse": " -"}
	for _, r := range out.Rivals {
		a, w := r.Availability, r.Amplification
		fmt.Fprintf(&b, "| %s | %.2f %% (%.2f to %.2f)%s | %.2f (%.2f to %.2f)%s |\n", r.Name,
			100*a.Median, 100*a.Min, 100*a.Max, marks[r.AgainstAvail],
			w.Median, w.Min, w.Max, marks[r.AgainstWorst])
	}
	return b.String() + "\n"
}
