package rationhttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationhttp"
)

// The page goes beside net/http/pprof, on a port that the public cannot reach. As
// data it serves a command line or a script.
func ExampleDebugHandler() {
	page := rationhttp.DebugHandler()
	defer page.Close()
	internal := http.NewServeMux()
	internal.Handle("/debug/ration/", page)

	inventory := ration.MustNew(ration.Policy{Name: "inventory"})
	_ = inventory.Run(context.Background(), func(context.Context) error { return nil })

	w := httptest.NewRecorder()
	internal.ServeHTTP(w, httptest.NewRequest("GET", "/debug/ration/?format=json&q=inventory", nil))
	var state struct {
		Items []struct {
			Name, State string
			Budget      struct{ Tokens, Capacity float64 }
			LastMinute  struct{ Calls, Attempts int } `json:"last_minute"`
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &state); err != nil {
		fmt.Println(err)
	}
	for _, it := range state.Items {
		fmt.Printf("%s is %s, with %g of %g tokens; %d calls made %d attempts\n", it.Name, it.State,
			it.Budget.Tokens, it.Budget.Capacity, it.LastMinute.Calls, it.LastMinute.Attempts)
	}
	// Output: inventory is ok, with 30 of 30 tokens; 1 calls made 1 attempts
}
