// Package browser looks at pages as people do: in a real browser, at the width of
// a telephone and of a desk, in the light and in the dark. It is for tests, and
// drives Debian's chromium without a display.
//
// Two variables of the environment matter. RATION_BROWSER=required makes a test
// fail where there is no browser, which otherwise skips it. RATION_SHOTS is the
// directory that screenshots go to; without it that is shots, beside this file.
package browser

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// patience is how long any one thing that is asked of the browser may take.
const patience = 30 * time.Second

// A Browser is a running browser with a profile of its own. It is safe for
// concurrent use.
type Browser struct{ ctx context.Context }

// Start starts a browser that ends with the test, and skips the test if there is
// none, or fails it if one is required. Under the race detector, which sees nothing
// of a browser, tests are skipped unless it is.
func Start(t testing.TB) *Browser {
	t.Helper()
	required := os.Getenv("RATION_BROWSER") == "required"
	path, err := exec.LookPath("chromium")
	switch {
	case err != nil && required:
		t.Fatalf("no browser: %v; on Debian: apt-get install chromium", err)
	case err != nil:
		t.Skipf("no browser: %v; on Debian: apt-get install chromium", err)
	case raceEnabled && !required:
		t.Skip("the race detector sees nothing of a browser; " +
			"RATION_BROWSER=required runs this all the same")
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(
		chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.UserDataDir(t.TempDir()),
		chromedp.NoSandbox, // which a container without privileges cannot set up
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
	)...)
	t.Cleanup(cancel)
	b := &Browser{}
	b.ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	// The browser lives as long as the context of the first command, which must
	// therefore be the one without a timeout.
	if err := chromedp.Do(b.ctx); err != nil {
		t.Fatalf("cannot start %s: %v", path, err)
	}
	return b
}

// A Look is how a page is looked at. The zero Look is a desk in the light.
type Look struct {
	Width  int // in CSS pixels; 0 = 1280
	Height int // 0 = 900
	Dark   bool
	Touch  bool
}

func (l Look) action() chromedp.Action[chromedp.Void] {
	width, height, scheme := int64(1280), int64(900), "light"
	if l.Width > 0 {
		width = int64(l.Width)
	}
	if l.Height > 0 {
		height = int64(l.Height)
	}
	if l.Dark {
		scheme = "dark"
	}
	var opts []chromedp.EmulateViewportOption
	if l.Touch {
		opts = append(opts, chromedp.EmulateMobile, chromedp.EmulateTouch)
	}
	return chromedp.Steps(
		chromedp.EmulateViewport(width, height, opts...),
		chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
			})
			return err
		}),
	)
}
