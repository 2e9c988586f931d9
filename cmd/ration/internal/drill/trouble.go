package drill

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/ration-go/ration"
)

// A Trouble is what is wrong with the database, and how long the backend waits for
// it.
type Trouble struct {
	Name    string
	Failing float64       // share of attempts that are answered 503
	Late    time.Duration // how long an answer takes; 0 = none to speak of
	Timeout time.Duration // of the backend's attempts
}

// usual is the timeout where it is not what fails: long, since an attempt that a
// busy machine delays is none of the trouble.
const usual = ration.DefaultAttemptTimeout

// The troubles. Of four attempts in ten that fail, retries save nearly all while
// nothing bounds them, and budgets do not: that is where both what a budget is for
// and what it costs can be seen. The brownout's timeout is short because each of 64
// attempts takes all of it.
var troubles = []Trouble{
	{Name: "outage", Failing: 1, Timeout: usual},
	{Name: "partial outage", Failing: 0.4, Timeout: usual},
	{Name: "brownout", Late: time.Second, Timeout: 40 * time.Millisecond},
}

// Troubles returns all of them.
func Troubles() []Trouble { return slices.Clone(troubles) }

// A database answers as the trouble has it.
type database struct {
	trouble Trouble
	dice    *dice
}

// serve answers one attempt. A caller that no longer waits is not answered.
func (db *database) serve(w http.ResponseWriter, r *http.Request) {
	if db.trouble.Late > 0 {
		late := time.NewTimer(db.trouble.Late)
		defer late.Stop()
		select {
		case <-late.C:
		case <-r.Context().Done():
			return
		}
	}
	if db.dice.roll() < db.trouble.Failing {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	answer(w)
}

// dice are seeded, so that the same number of attempts in a row fail in each drill,
// whoever makes them. They are safe for concurrent use.
type dice struct {
	mu     sync.Mutex
	source *rand.Rand
}

func newDice() *dice { return &dice{source: rand.New(rand.NewPCG(1, 2))} }

func (d *dice) roll() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.source.Float64()
}
