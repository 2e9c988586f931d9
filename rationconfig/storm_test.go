package rationconfig

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ration-go/ration"
)

// TestStorm: the file is edited ten times during a storm, once badly. No call is lost,
// and no token made or lost: the retries are what the bucket held, and what the floor
// that was in force added each second.
func TestStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls, rate = 12000, 200 // a minute
		text := func(fraction, floor float64) string {
			return fmt.Sprintf("policies: {p: {attempts: 4, deadline: none, backoff: {transient: 10ms}, "+
				"budget: {fraction: %v, minimumPerSecond: %v}}}", fraction, floor)
		}
		names := write(t, text(0.1, 3))
		var ended, attempts, retries atomic.Int64
		l := quietLoader()
		l.Customize = func(_ string, p *ration.Policy) {
			p.OnEvent = func(ev ration.Event) {
				switch {
				case ev.Terminal():
					ended.Add(1)
				case ev.Kind == ration.EventAttempt:
					attempts.Add(1)
				}
			}
		}
		s, err := l.Load(names...)
		must(t, err)
		e := executor(t, s, "p")

		var wg sync.WaitGroup
		start := time.Now()
		wg.Go(func() {
			for range calls {
				time.Sleep(time.Second / rate)
				wg.Go(func() {
					tries := 0
					err := e.Run(context.Background(), func(context.Context) error {
						if tries++; tries > 1 {
							retries.Add(1)
						}
						if at := time.Since(start); at > 10*time.Second && at < 50*time.Second {
							return ration.Transient(errDown)
						}
						return nil
					})
					if err != nil && !errors.Is(err, errDown) {
						t.Error(err)
					}
				})
			}
		})
		// A retry of this storm has nothing to live on but what a full bucket held and
		// what the floor adds: nothing succeeds. Each edit stands for five seconds.
		allowed, floor := 30.0, 3.0
		for i := range 10 {
			time.Sleep(5 * time.Second)
			if i >= 2 {
				allowed += floor * 5
			}
			if i == 5 {
				rewrite(t, names[0], strings.Replace(text(0.2, 100), "attempts: 4", "attempts: none", 1))
				if s.Reload() == nil {
					t.Error("a bad file is loaded")
				}
				continue
			}
			floor = [2]float64{6, 3}[i%2]
			rewrite(t, names[0], text(0.1, floor))
			must(t, s.Reload())
		}
		wg.Wait()
		if got := float64(retries.Load()); got > allowed || got < allowed-2 {
			t.Errorf("%v retries, allowed are %v", got, allowed)
		}
		if got := attempts.Load(); got != calls+retries.Load() {
			t.Errorf("%d attempts in the events of %d calls and %d retries", got, calls, retries.Load())
		}
		if ended.Load() != calls {
			t.Errorf("%d calls, and %d have ended", calls, ended.Load())
		}
		if st := s.Status(); st.Reloads != 9 || st.Failures != 1 {
			t.Errorf("%+v", st)
		}
	})
}
