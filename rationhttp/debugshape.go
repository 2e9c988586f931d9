package rationhttp

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ration-go/ration"
)

// warmUtilization is where a budget begins to be spent faster than it refills, and
// where sheddable work is no longer retried.
const warmUtilization = 0.5

func newDebugBar(b *debugBudget) *debugBar {
	if b == nil {
		return nil
	}
	bar := &debugBar{
		Percent: strconv.Itoa(int(100 * b.Utilization)),
		Level:   "calm",
		Text:    fmt.Sprintf("%s of %s tokens left", amount(b.Tokens), amount(b.Capacity)),
		Shared:  b.Name,
	}
	switch {
	case b.Utilization >= ration.DegradedUtilization:
		bar.Level = "hot"
	case b.Utilization >= warmUtilization:
		bar.Level = "warm"
	}
	if b.Reserve > 0 && b.Capacity > 0 {
		held := 100 * b.Reserve / b.Capacity
		bar.Held, bar.HeldFor = fmt.Sprintf("%.1f", 100-held), fmt.Sprintf("%.1f", held)
		bar.Text += fmt.Sprintf(", %s held back", amount(b.Reserve))
	}
	return bar
}

// amount returns a number of tokens, of which a tenth matters when there are few.
func amount(x float64) string {
	if x >= 100 {
		return grouped(uint64(x))
	}
	return strings.TrimSuffix(strconv.FormatFloat(float64(int(10*x))/10, 'f', 1, 64), ".0")
}

func newDebugBreaker(b *debugBreaker, now time.Time) debugBreakerView {
	v := debugBreakerView{State: b.State}
	if b.Since != nil {
		v.For = "for " + brief(now.Sub(*b.Since))
	}
	if b.Left > 0 {
		v.Next = "probes in " + brief(time.Duration(b.Left*float64(time.Second)))
	}
	return v
}

// term returns a measured term: its value, or why there is none.
func term(m debugMeasured) string {
	if m.State == ration.EstimateWarm.String() {
		return brief(time.Duration(m.Seconds * float64(time.Second)))
	}
	return m.State
}

const (
	sparkHeight = 28.0
	sparkStep   = 2 // the width of a second
	loudPerCall = 1.1
)

func newDebugTrafficView(t *debugTraffic) debugTrafficView {
	v := debugTrafficView{
		PerCall: "–",
		Idle:    t.Calls == 0,
		Calls:   counted(t.Calls, "call"),
		Failed:  grouped(t.Calls - t.Succeeded),
		Trouble: t.trouble(),
		Text:    "no calls in the last minute",
	}
	if t.Calls == 0 {
		return v
	}
	v.PerCall = fmt.Sprintf("%.2f", t.perCall())
	v.Loud = t.perCall() > loudPerCall
	peak := 0.0
	for i, calls := range t.CallsBySecond {
		if calls > 0 {
			peak = max(peak, float64(t.AttemptsBySecond[i])/float64(calls))
		}
	}
	v.Text = fmt.Sprintf("attempts per call over the last minute: %s, at most %.2f in one second",
		v.PerCall, peak)
	v.draw(t, max(peak, 2))
	return v
}

// trouble says how many calls failed, and how many of those were refused.
func (t *debugTraffic) trouble() string {
	failed := t.Calls - t.Succeeded
	switch {
	case failed == 0:
		return ""
	case t.Refused == 0:
		return grouped(failed) + " failed"
	case t.Refused == failed:
		return grouped(failed) + " failed, all refused"
	}
	return fmt.Sprintf("%s failed, %s refused", grouped(failed), grouped(t.Refused))
}

// draw makes a column for each second with calls: what one attempt per call comes
// to, and above it what retries add.
func (v *debugTrafficView) draw(t *debugTraffic, top float64) {
	y := func(ratio float64) string {
		return strconv.FormatFloat(sparkHeight*(1-ratio/top), 'f', 1, 64)
	}
	v.One = y(1)
	var base, excess strings.Builder
	for i, calls := range t.CallsBySecond {
		if calls == 0 {
			continue
		}
		x, ratio := i*sparkStep, float64(t.AttemptsBySecond[i])/float64(calls)
		fmt.Fprintf(&base, "M%d %gV%sh%dV%gz", x, sparkHeight, y(min(ratio, 1)), sparkStep, sparkHeight)
		if ratio > 1 {
			fmt.Fprintf(&excess, "M%d %sV%sh%dV%sz", x, v.One, y(ratio), sparkStep, v.One)
		}
	}
	v.Base, v.Excess = base.String(), excess.String()
}
