package browser

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/chromedp/chromedp"
)

// Shot keeps a picture of the whole page as name.png, for people to look at.
func (p *Page) Shot(name string) {
	p.t.Helper()
	png := get(p, "take a picture", chromedp.FullScreenshot(100))
	dir := os.Getenv("RATION_SHOTS")
	if dir == "" {
		_, file, _, _ := runtime.Caller(0)
		dir = filepath.Join(filepath.Dir(file), "shots")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	file := filepath.Join(dir, name+".png")
	if err := os.WriteFile(file, png, 0o644); err != nil {
		p.t.Fatal(err)
	}
	p.t.Logf("%d KB in %s", len(png)>>10, file)
}
