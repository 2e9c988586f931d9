package rationsim

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// openRow is a row of the comparison that was made before there was a simulator,
// by a model of its own, with one run of each rule. None of its numbers is from
// here. A negative number stands for one that it does not have.
type openRow struct {
	amplification [4]float64    // A
	burst         [4]float64    // B
	errors        [3][4]float64 // C
}

const unknown = -1

var (
	noRow  = [4]float64{unknown, unknown, unknown, unknown}
	noRows = [3][4]float64{noRow, noRow, noRow}
)

var openRows = map[string]openRow{
	"ration": {
		[4]float64{3, 1.33, 1.03, 1.003}, [4]float64{unknown, 44, 44, 44},
		[3][4]float64{{0, 0, .02, .01}, {0, .17, .07, .61}, {3.7, 2.1, 22.8, 24.4}},
	},
	"none": {
		[4]float64{3, 3, 3, 3}, [4]float64{unknown, 90, 1022, 9717},
		[3][4]float64{noRow, noRow, {3.7, 2.1, 2.9, 2.6}},
	},
	"aws": {
		[4]float64{1.11, 1, 1, 1}, [4]float64{unknown, 35, 35, 35},
		[3][4]float64{{0, 0, .02, .01}, noRow, {3.7, 10.6, 16.5, 18.2}},
	},
	"aws-legacy": {
		[4]float64{3, 1, 1, 1}, [4]float64{unknown, 90, 100, 100},
		[3][4]float64{{0, 0, .02, .01}, noRow, {3.7, 2.1, 2.9, 2.6}},
	},
	"dotnet": {
		[4]float64{1.73, 1.10, 1.10, 1.10}, [4]float64{unknown, 8, 103, 1012},
		[3][4]float64{{2.2, .08, .02, .01}, {6.1, 3.0, 1.2, 1.0}, {24, 25, 23, 23}},
	},
	"envoy": {
		[4]float64{3, 2.31, 1.19, 1.07}, [4]float64{unknown, 65, 93, 360},
		[3][4]float64{{0, 0, .15, .63}, {0, .17, 1.5, 4.6}, {3.7, 2.9, 19, 25}},
	},
	"failsafe": {
		[4]float64{3, 2.84, 2.23, 2.46}, [4]float64{unknown, 94, 604, 6945}, noRows,
	},
	"finagle in tower": {
		[4]float64{3, 2.76, 1.33, 1.20}, [4]float64{unknown, 90, 226, 1304},
		[3][4]float64{{0, 0, .02, .01}, {0, .17, .07, .08}, {3.7, 2.1, 5.6, 14.9}},
	},
	"grpc": {
		[4]float64{1, 1, 1, 1}, [4]float64{unknown, 4, 4, 4},
		[3][4]float64{{0, 0, .12, .06}, {0, 3.7, 6.8, 7.7}, {28, 31, 30, 30}},
	},
	"linkerd": {
		[4]float64{3, 2.47, 1.15, 1.015}, [4]float64{unknown, 90, 188, 1087}, noRows,
	},
	"octo": {
		[4]float64{3, 1, 1, 1}, [4]float64{unknown, 64, 668, 6608}, noRows,
	},
	"stormbreak": {
		[4]float64{3, 1.98, 1.10, 1.01}, [4]float64{unknown, 90, 149, 149},
		[3][4]float64{{0, 0, .02, 3.9}, {0, .17, .11, 8.9}, {3.7, 2.1, 22, 29}},
	},
}

// TestOpenRows reproduces the rows. A and B, which hardly depend on luck, must
// agree to 5 %. C was one short run of each rule, and one run with few failures
// can say anything: at 30 % and a call a second the old row of no rule at all has
// 3.7, where 2.7 is the exact answer. So C must lie within what runs give here.
func TestOpenRows(t *testing.T) {
	skipUnderRace(t)
	measured := openMeasured()
	for name, want := range openRows {
		t.Run(name, func(t *testing.T) {
			got := measured[name]
			for i, rate := range openRates {
				openNear(t, "attempts per call", rate, got.amplification[i], want.amplification[i], 0.02)
				openNear(t, "first retries", rate, got.burst[i], want.burst[i], 4)
				for j, p := range openChances {
					what := fmt.Sprintf("errors at %g %%", 100*p)
					openWithin(t, what, rate, got.errors[j][i], want.errors[j][i])
				}
			}
		})
	}
}

func openNear(t *testing.T, what string, rate, got, want, slack float64) {
	t.Helper()
	if want != unknown && math.Abs(got-want) > 0.05*want+slack {
		t.Errorf("%s at %g a second: %.3f, want %.3f", what, rate, got, want)
	}
}

func openWithin(t *testing.T, what string, rate float64, runs []float64, want float64) {
	t.Helper()
	low, high := slices.Min(runs), slices.Max(runs)
	if want != unknown && (want < 0.95*low-0.05 || want > 1.05*high+0.05) {
		t.Errorf("%s at %g a second: %.2f to %.2f, want %.2f to be among them",
			what, rate, low, high, want)
	}
}

const rivalsPage = "../docs/rivals.md"

// TestRivalsPage holds the tables of docs/rivals.md to what is measured here, and
// the page to what there is. With -update the tables are written.
func TestRivalsPage(t *testing.T) {
	skipUnderRace(t)
	file, err := os.ReadFile(rivalsPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(file)
	const opening, closing = "<!-- measured -->\n", "<!-- end -->\n"
	before, rest, ok1 := strings.Cut(page, opening)
	_, after, ok2 := strings.Cut(rest, closing)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for its tables", rivalsPage)
	}
	want := before + opening + rivalsTables() + closing + after
	if *update {
		if err := os.WriteFile(rivalsPage, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if page != want {
		t.Errorf("the tables of %s are not what is measured; run the test with -update", rivalsPage)
	}
	for _, r := range Rivals() {
		if !strings.Contains(page, "\n## `"+r.Name+"`\n") {
			t.Errorf("%s does not explain %s", rivalsPage, r.Name)
		}
	}
}

// rivalsTables prints three significant digits at most: what differs between two
// machines in the last bit of a logarithm does not show.
func rivalsTables() string {
	var b strings.Builder
	rules, measured := openRules(), openMeasured()
	table := func(title string, row func(f *openFigures, i int) string) {
		fmt.Fprintf(&b, "\n%s\n\n| rule | 1/s | 10/s | 100/s | 1000/s |\n|---|---|---|---|---|\n", title)
		for _, r := range rules {
			fmt.Fprintf(&b, "| %s |", r.Name)
			for i := range openRates {
				fmt.Fprintf(&b, " %s |", row(measured[r.Name], i))
			}
			b.WriteString("\n")
		}
	}
	table("Attempts per call in a total outage, from its 20th to its 40th second:",
		func(f *openFigures, i int) string { return fmt.Sprintf("%.2f", f.amplification[i]) })
	table("Retries in the first 5 s of a total outage:",
		func(f *openFigures, i int) string { return fmt.Sprintf("%.0f", f.burst[i]) })
	table("Calls that fail, in per cent, when 5 / 10 / 30 % of attempts do:",
		func(f *openFigures, i int) string {
			return fmt.Sprintf("%.1f / %.1f / %.1f",
				openMean(f.errors[0][i]), openMean(f.errors[1][i]), openMean(f.errors[2][i]))
		})
	b.WriteString("\n")
	return b.String()
}

func openMean(runs []float64) (sum float64) {
	for _, x := range runs {
		sum += x
	}
	return sum / float64(len(runs))
}
