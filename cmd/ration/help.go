package main

import (
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/ration-go/ration/rationconfig/strict"
)

//go:embed help/*.txt
var pages embed.FS

// page returns a page of help. Asking for one that is not there is a mistake in the
// program.
func page(topic string) string {
	text, err := fs.ReadFile(pages, "help/"+topic+".txt")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// topics returns the names of all pages, that of the program itself left out.
func topics() (names []string) {
	entries, _ := fs.ReadDir(pages, "help")
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".txt"); name != "ration" {
			names = append(names, name)
		}
	}
	return names
}

func help(_ context.Context, args []string, std streams) error {
	topic := "ration"
	switch {
	case len(args) > 1:
		return usage("takes one topic, not %d", len(args))
	case len(args) == 1 && args[0] != "-h":
		topic = args[0]
		if _, err := fs.Stat(pages, "help/"+topic+".txt"); err != nil || topic == "" {
			return usage("there is no topic %q; %s", topic, strict.Meant(topic, topics()))
		}
	}
	_, err := io.WriteString(std.out, page(topic))
	return err
}

func version(_ context.Context, args []string, std streams) error {
	if len(args) > 0 {
		return usage("takes no argument, and got %q", args[0])
	}
	_, err := fmt.Fprintln(std.out, versionText())
	return err
}

// versionText names the program and what built it.
func versionText() string {
	module := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		module = info.Main.Version
	}
	return fmt.Sprintf("ration %s %s %s/%s", module, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
