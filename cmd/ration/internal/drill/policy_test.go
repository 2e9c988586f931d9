package drill

import (
	"testing"
	"time"

	"github.com/ration-go/ration"
)

// TestShipped: each hop has the policy that is given, but for what ends a phase and for
// a breaker that only a client of its own would add.
func TestShipped(t *testing.T) {
	budget, err := ration.PrivateBudget(0.2, 5)
	if err != nil {
		t.Fatal(err)
	}
	given := ration.Policy{Name: "orders", Attempts: 5, Deadline: ration.NoLimit, AttemptTimeout: time.Second,
		Ceiling: &ration.Ceiling{Multiple: 2}, Backoff: ration.Backoff{Transient: time.Second}, Budget: budget}
	d := &Drill{Rate: 1, Each: time.Second, Attempts: 5, Shipped: &given}
	for h := range hopIndex(hops) {
		p := d.policy(Phase{troubles[2], On}, h)
		if p.Name != hopNames[h] || p.Attempts != 5 || p.Deadline != Deadline || p.AttemptTimeout != time.Second ||
			p.Ceiling != given.Ceiling || p.Backoff.Transient != time.Second || p.Budget != budget || p.Breaker != ration.NoBreaker {
			t.Errorf("%+v", p)
		}
		if p := d.policy(Phase{troubles[0], Off}, h); p.Budget != ration.NoBudget {
			t.Errorf("%+v", p)
		}
	}
	if a := d.Allowance(); a != (Allowance{0.2, 5}) || a.Tokens() != 50 {
		t.Errorf("%+v", a)
	}
}
