package rationsim

import (
	"math"
	"time"
)

// counts adds up what happened in the last few slots of time. The present slot
// is one of them, so that a window of n slots sees between n-1 and n of them.
type counts struct {
	slot  time.Duration
	slots []int
	at    int64 // the number of the present slot
	sum   int
}

func newCounts(window time.Duration, slots int) counts {
	return counts{slot: window / time.Duration(slots), slots: make([]int, slots)}
}

// forget drops what is too old at the given time.
func (c *counts) forget(now time.Duration) {
	at := int64(now / c.slot)
	if at-c.at >= int64(len(c.slots)) {
		clear(c.slots)
		c.at, c.sum = at, 0
		return
	}
	for c.at < at {
		c.at++
		i := c.at % int64(len(c.slots))
		c.sum -= c.slots[i]
		c.slots[i] = 0
	}
}

func (c *counts) add(now time.Duration, n int) {
	c.forget(now)
	c.slots[c.at%int64(len(c.slots))] += n
	c.sum += n
}

func (c *counts) total(now time.Duration) int {
	c.forget(now)
	return c.sum
}

// dotnet compares the retries of a window with its requests. The hundredth of a
// window that a slot takes is ours: the documentation gives none.
type dotnet struct {
	unlimited
	ratio             float64
	least             int
	requests, retries counts
}

func newDotnet(ratio float64, minimumThroughput int, window time.Duration) *dotnet {
	return &dotnet{
		ratio: ratio, least: minimumThroughput,
		requests: newCounts(window, 100), retries: newCounts(window, 100),
	}
}

func (d *dotnet) Begin(now time.Duration, _ *Held) { d.requests.add(now, 1) }

func (d *dotnet) Retry(now time.Duration, _ *Held, _ AttemptEnd) bool {
	n := d.requests.total(now)
	allowed := max(int(d.ratio*float64(n)), 1)
	if n >= d.least && d.retries.total(now) >= allowed {
		return false
	}
	d.retries.add(now, 1)
	return true
}

// octo compares rates over a minute. A retry counts when it is asked for, so that
// in an outage the refused ones alone keep the ratio above its bound and nothing
// is retried any more, the minimum included.
type octo struct {
	unlimited
	rate, ratio       float64
	requests, retries counts
}

const octoWindow = time.Minute

func newOcto(rate, ratio float64) *octo {
	return &octo{
		rate: rate, ratio: ratio,
		requests: newCounts(octoWindow, 60), retries: newCounts(octoWindow, 60),
	}
}

func (o *octo) Begin(now time.Duration, _ *Held) { o.requests.add(now, 1) }

func (o *octo) Retry(now time.Duration, _ *Held, _ AttemptEnd) bool {
	o.retries.add(now, 1)
	retries := float64(o.retries.total(now))
	total := retries + float64(o.requests.total(now))
	return total <= o.rate*octoWindow.Seconds() || retries/total <= o.ratio
}

// What Finagle and tower share, and linkerd with tower.
const (
	creditTTL     = 10 * time.Second
	creditSlots   = 10
	creditReserve = 10 * 10 // retries: 10 a second for as long as a credit lives
	creditPrice   = 5       // deposits that fund one retry
)

// finagle keeps credits and debits in a window, so that both are forgotten as
// they grow old. The window is that of Twitter's WindowedAdder: nine slots
// and the present one.
type finagle struct {
	unlimited
	credits counts
}

func newFinagle() *finagle { return &finagle{credits: newCounts(creditTTL, creditSlots)} }

// maxShare is how much of the balance one request may take.
const maxShare = 0.2

// Begin banks the request's credit first and divides then, as RequeueFilter does.
func (f *finagle) Begin(now time.Duration, h *Held) {
	f.credits.add(now, 1)
	balance := (creditReserve*creditPrice + f.credits.total(now)) / creditPrice
	h.Allowed = int(math.Ceil(maxShare * float64(balance)))
}

func (f *finagle) Retry(now time.Duration, h *Held, _ AttemptEnd) bool {
	if h.Retries >= h.Allowed ||
		creditReserve*creditPrice+f.credits.total(now) < creditPrice {
		return false
	}
	f.credits.add(now, -creditPrice)
	h.Retries++
	return true
}

// A towerBudget is Finagle's with a window of its own making. A slot ends when
// somebody looks after its time is over, which is late by a little, and for being
// late the slot that comes next is cleared and skipped too. So with steady
// traffic every other slot is lost: credits and debits live for half of what the
// documentation says, and the reserve lasts half as long.
type towerBudget struct {
	reserve, price int // in deposits
	slot           time.Duration
	slots          [creditSlots]int
	index          int
	present        int
	began          time.Duration // the present slot
}

func newTowerBudget(ttl time.Duration, perSecond int, fraction float64) towerBudget {
	price := int(1 / fraction)
	return towerBudget{
		reserve: perSecond * int(ttl/time.Second) * price, price: price,
		slot: ttl / creditSlots,
	}
}

func defaultTowerBudget() towerBudget { return newTowerBudget(creditTTL, 10, 0.2) }

func (b *towerBudget) expire(now time.Duration) {
	passed := now - b.began
	if passed < b.slot {
		return
	}
	b.slots[b.index] = b.present
	b.present = 0
	b.index = (b.index + 1) % creditSlots
	for ; passed > b.slot; passed -= b.slot {
		b.slots[b.index] = 0
		b.index = (b.index + 1) % creditSlots
	}
	b.began = now
}

func (b *towerBudget) deposit(now time.Duration) {
	b.expire(now)
	b.present++
}

func (b *towerBudget) withdraw(now time.Duration) bool {
	b.expire(now)
	sum := b.reserve + b.present
	for _, n := range b.slots {
		sum += n
	}
	if sum < b.price {
		return false
	}
	b.present -= b.price
	return true
}

// tower is tower's budget under the simplest of policies: a success is banked.
type tower struct {
	unlimited
	budget towerBudget
}

func (t *tower) Done(now time.Duration, _ *Held, end AttemptEnd) {
	if end.ok() {
		t.budget.deposit(now)
	}
}

func (t *tower) Retry(now time.Duration, _ *Held, _ AttemptEnd) bool {
	return t.budget.withdraw(now)
}

// linkerd banks every outcome that it would not retry, so that a permanent
// failure counts like a success.
type linkerd struct{ tower }

func (l *linkerd) Done(now time.Duration, _ *Held, end AttemptEnd) {
	if !end.retryable() {
		l.budget.deposit(now)
	}
}
