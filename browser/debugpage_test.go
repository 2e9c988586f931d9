package browser

import (
	"bufio"
	"context"
	"errors"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationhttp"
)

// A look that is held to what must hold of every page, and its name.
type look struct {
	name string
	Look
}

var looks = []look{
	{"desk", Look{Width: 1280}},
	{"desk-dark", Look{Width: 1280, Dark: true}},
	{"phone", Look{Width: 360, Height: 740, Touch: true}},
	{"phone-dark", Look{Width: 360, Height: 740, Touch: true, Dark: true}},
}

// check is what holds of the page whatever it shows and however it is looked at.
func check(t *testing.T, p *Page, name string) {
	t.Helper()
	p.Shot(name)
	if n := p.Overflow(); n > 0 {
		t.Errorf("%s: one must scroll %d pixels sideways", name, n)
	}
	for _, f := range p.Faint() {
		t.Errorf("%s: too faint: %s", name, f)
	}
	for _, problem := range p.Problems() {
		t.Errorf("%s: %s", name, problem)
	}
	itself := Eval[string](p, "location.origin + location.pathname")
	for _, r := range p.Requests() {
		if !strings.HasPrefix(r, itself) && r != "data:," {
			t.Errorf("%s: asked for %s", name, r)
		}
	}
}

// drill starts a drill that serves its page, and returns the page's address. Each
// phase lasts 8 s: after one without budgets come two that show a storm which
// budgets absorb.
func drill(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "ration")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = filepath.Join("..", "cmd", "ration")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ctx, cancel := context.WithCancel(context.Background())
	run := exec.CommandContext(ctx, program,
		"drill", "--serve", "127.0.0.1:0", "--rate", "40", "--for", "72s", "--json")
	run.Cancel = func() error { return run.Process.Signal(syscall.SIGINT) }
	stderr, err := run.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		run.Wait()
	})
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if at := regexp.MustCompile(`http://\S+/debug/ration/`).FindString(lines.Text()); at != "" {
			return at
		}
	}
	t.Fatal("the drill does not say where its page is")
	return ""
}

// The page shows the storm of a drill: budgets that are spent, calls refused for
// it, and that retries are nested in retries. It comes again by itself.
func TestDebugPageOfDrill(t *testing.T) {
	b := Start(t)
	address := drill(t)
	p := b.Open(t, address+"?refresh=2", looks[0].Look)
	for _, seen := range []string{
		`[...document.querySelectorAll("[role=meter]")].filter(m => m.getAttribute("aria-valuenow") >= 90).length > 1`,
		`[...document.querySelectorAll(".why.budget")].some(e => e.closest("tr").innerText.includes("503"))`,
		`document.querySelector("#nested-title").parentElement.innerText.includes("/ration.drill.Backend/Query")`,
		`document.querySelector("#nested-title").parentElement.innerText.includes("127.0.0.1")`,
	} {
		p.Await(seen)
	}
	if n := len(p.Requests()); n < 2 {
		t.Errorf("%d requests: the page has not come again", n)
	}
	p.Goto(address + "?refresh=0")
	for _, l := range looks {
		p.Look(l.Look)
		check(t, p, "drill-"+l.name)
	}
}

// serve serves the page of this process.
func serve(t *testing.T) (address string) {
	page := rationhttp.DebugHandler()
	t.Cleanup(func() { page.Close() })
	server := httptest.NewServer(page)
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// Names of whoever can make this process call, a thousand keys, every state that
// the page has a word for.
func TestDebugPageLooks(t *testing.T) {
	b := Start(t)
	address := serve(t)
	executors := storm()
	for _, l := range looks {
		t.Run(l.name, func(t *testing.T) {
			p := b.Open(t, address+"?refresh=0", l.Look)
			check(t, p, "storm-"+l.name)
			if title := Eval[string](p, "document.title"); strings.Contains(title, "run") {
				t.Errorf("a name ran as a script: title %q", title)
			}
			if n := Eval[int](p, "document.scripts.length + document.images.length"); n > 0 {
				t.Errorf("%d scripts and images, want none", n)
			}
			p.Goto(Eval[string](p, `document.querySelector(".items tbody a").href`))
			check(t, p, "one-"+l.name)
			if !Eval[bool](p, `document.querySelector("details").open`) {
				t.Error("the policy is not explained")
			}
		})
	}
	runtime.KeepAlive(executors)
}

// storm makes executors in every state that the page has a word for.
func storm() []*ration.Executor {
	ctx := context.Background()
	down := func(context.Context) error { return ration.Transient(errors.New("connection refused")) }
	evil := ration.MustNew(ration.Policy{
		Name:    "<script>document.title='run'</script>\"'\u202egpj.exe\xff\x00" + strings.Repeat("x", 1<<20),
		Backoff: ration.NoBackoff,
		Breaker: &ration.BreakerSettings{ConsecutiveFailures: 3},
	})
	for range 5 {
		_ = evil.For(`"><img src=x onerror=document.title='run'>`).Once().Run(ctx, down)
	}
	spent := ration.MustNew(ration.Policy{Name: "payments", Backoff: ration.NoBackoff})
	for spent.Budget().Withdraw(time.Now(), ration.Sheddable) {
	}
	for spent.Budget().Withdraw(time.Now(), ration.Critical) {
	}
	_ = spent.Run(ration.WithNestedRetry(ctx), down)
	many := ration.MustNew(ration.Policy{Name: "tenants"})
	for i := range 1000 {
		_ = many.For("tenant-"+strconv.Itoa(i)+".example.internal:8443").Run(ctx,
			func(context.Context) error { return nil })
	}
	return []*ration.Executor{evil, spent, many}
}

// What a screen reader is told: landmarks, tables with headers, what a bar means
// and how far it is, what the lines of a sparkline say.
func TestDebugPageAloud(t *testing.T) {
	b := Start(t)
	address := serve(t)
	executors := storm()
	for _, l := range looks {
		t.Run(l.name, func(t *testing.T) {
			nodes := b.Open(t, address+"?refresh=0&q=payments", l.Look).Nodes()
			has := func(role, name string) bool {
				return slices.ContainsFunc(nodes, func(n Node) bool {
					return n.Role == role && strings.Contains(n.Name, name)
				})
			}
			for _, want := range []Node{
				{Role: "banner"}, {Role: "main"}, {Role: "search", Name: "Executors"},
				{Role: "heading", Name: "Ration"}, {Role: "heading", Name: "Last refusals"},
				{Role: "table"}, {Role: "columnheader", Name: "Retry budget"},
				{Role: "rowheader", Name: "payments"}, {Role: "cell", Name: "connection refused"},
				{Role: "meter", Name: "Retry budget spent"}, {Role: "link", Name: "payments"},
				{Role: "image", Name: "attempts per call over the last minute: 1.00"},
				{Role: "searchbox", Name: "Search"}, {Role: "combobox", Name: "Refresh"},
				{Role: "checkbox", Name: "Degraded only"}, {Role: "button", Name: "Show"},
			} {
				if !has(want.Role, want.Name) {
					t.Errorf("nothing says %s %q", want.Role, want.Name)
				}
			}
			for _, n := range nodes {
				if n.Name == "" && slices.Contains([]string{"link", "image", "meter", "button"}, n.Role) {
					t.Errorf("a %s has no name", n.Role)
				}
			}
		})
	}
	runtime.KeepAlive(executors)
}

// All of the page can be used from the keyboard, without a script.
func TestDebugPageByKeyboard(t *testing.T) {
	b := Start(t)
	address := serve(t)
	executors := storm()
	p := b.Open(t, address+"?refresh=0", looks[0].Look)
	p.Press(kb.Tab)
	if got := Eval[string](p, "document.activeElement.className"); got != "skip" {
		t.Errorf("the first stop is %q, not the link that skips", got)
	}
	for !Eval[bool](p, `document.activeElement.name === "q"`) {
		p.Press(kb.Tab)
	}
	p.Press("TENANT-99")
	p.Press(kb.Enter)
	p.Await(`location.search.includes("q=TENANT-99")`)
	rows := Eval[int](p, `document.querySelectorAll(".items tbody tr").length`)
	if rows != 11 { // 99, 990 to 999
		t.Errorf("%d rows, want 11", rows)
	}
	check(t, p, "search")
	runtime.KeepAlive(executors)
}
