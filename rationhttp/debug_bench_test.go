package rationhttp_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationhttp"
)

// What a page costs a call that succeeds: the difference between the two.
func BenchmarkDebugObserved(b *testing.B) {
	e := ration.MustNew(ration.Policy{AttemptTimeout: ration.NoLimit})
	call := func(context.Context) error { return nil }
	run := func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = e.Run(context.Background(), call)
		}
	}
	b.Run("without", run)
	b.Run("with", func(b *testing.B) {
		page := rationhttp.DebugHandler()
		defer page.Close()
		run(b)
	})
}

// What it takes to make a page of a thousand keys.
func BenchmarkDebugPage(b *testing.B) {
	page := rationhttp.DebugHandler()
	defer page.Close()
	e := ration.MustNew(ration.Policy{Name: "bench", Breaker: &ration.BreakerSettings{}})
	for i := range 1000 {
		_ = e.For(fmt.Sprint(i)).Run(b.Context(), func(context.Context) error { return nil })
	}
	for _, format := range []string{"html", "json"} {
		b.Run(format, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				page.ServeHTTP(w, httptest.NewRequest("GET", "/?q=bench&format="+format, nil))
			}
		})
	}
	runtime.KeepAlive(e)
}
