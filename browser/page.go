package browser

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// A Page is a tab. It belongs to one test and is not for concurrent use.
type Page struct {
	t   testing.TB
	ctx context.Context

	mu       sync.Mutex
	requests []string
	problems []string
}

// Open opens an address in a tab of its own, which is closed when the test ends,
// and returns once it has loaded.
func (b *Browser) Open(t testing.TB, address string, look Look) *Page {
	t.Helper()
	p := &Page{t: t}
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithListener(p.hear))
	t.Cleanup(cancel)
	p.ctx = ctx
	if err := chromedp.Do(p.ctx); err != nil {
		t.Fatalf("cannot open a tab: %v", err)
	}
	p.do("open "+address,
		chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			if _, err := cdp.Call(ctx, t, network.Enable, network.EnableParams{}); err != nil {
				return err
			}
			_, err := cdp.Call(ctx, t, log.Enable, cdp.Empty{})
			return err
		}),
		look.action(),
		chromedp.Navigate(address),
	)
	return p
}

// OpenFile opens a file.
func (b *Browser) OpenFile(t testing.TB, path string, look Look) *Page {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return b.Open(t, "file://"+filepath.ToSlash(path), look)
}

// hear notes what the page asks the network for, and what it complains of.
func (p *Page) hear(ev any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, ev.Request.URL)
	case *log.EventEntryAdded:
		p.problems = append(p.problems, string(ev.Entry.Level)+": "+ev.Entry.Text)
	case *runtime.EventExceptionThrown:
		p.problems = append(p.problems, "exception: "+ev.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		var text []string
		for _, a := range ev.Args {
			text = append(text, string(a.Value))
		}
		p.problems = append(p.problems, "console: "+strings.Join(text, " "))
	}
}

// Requests returns the addresses that were asked for so far.
func (p *Page) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.requests...)
}

// Problems returns what the console shows: errors, exceptions, refused loads.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.problems...)
}

// Look changes how the page is looked at.
func (p *Page) Look(look Look) {
	p.t.Helper()
	p.do("change the look", look.action())
}

// Goto opens another address in the same tab.
func (p *Page) Goto(address string) {
	p.t.Helper()
	p.do("open "+address, chromedp.Navigate(address))
}

// do takes some steps, and fails the test if one cannot be taken.
func (p *Page) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatalf("cannot %s: %v", what, err)
	}
}

// get asks something of a page, and fails the test if there is no answer.
func get[T any](p *Page, what string, a chromedp.Action[T]) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		p.t.Fatalf("cannot %s: %v", what, err)
	}
	return v
}

// Await asks for a value of JavaScript again and again, until it is true. A page
// that is on its way elsewhere has no answer yet.
func (p *Page) Await(condition string) {
	p.t.Helper()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		ok, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](condition))
		if ok && err == nil {
			return
		}
		select {
		case <-again.C:
		case <-late.C:
			p.t.Fatalf("still not, %v: %s", err, condition)
		}
	}
}

// Press presses a key, such as kb.Tab, or types a text.
func (p *Page) Press(keys string) {
	p.t.Helper()
	p.do("press keys", chromedp.KeyEvent(keys))
}

// Eval returns the value of an expression in JavaScript.
func Eval[T any](p *Page, expression string) T {
	p.t.Helper()
	return get(p, "evaluate "+expression, chromedp.Evaluate[T](expression))
}

// Text returns the visible text of the page.
func (p *Page) Text() string {
	p.t.Helper()
	return Eval[string](p, "document.body.innerText")
}
