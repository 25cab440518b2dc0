package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/stdlib"
)

const version = "0.1"

// versionText names the version, the commit where it is known, the Go release and the platform, and the
// modules that are compiled in.
func versionText() string {
	text := "mcs " + version
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				text += " (" + s.Value[:min(12, len(s.Value))] + ")"
			}
		}
	}
	text = fmt.Sprintf("%s · %s · %s/%s", text, goVersion(), runtime.GOOS, runtime.GOARCH)
	for _, m := range stdlib.Modules() {
		text += strings.TrimRight("\nwith "+m.Path+" "+m.Version, " ")
	}
	return text
}

// goVersion is "go 1.26" for go1.26.8.
func goVersion() string {
	parts := strings.SplitN(strings.TrimPrefix(runtime.Version(), "go"), ".", 3)
	if len(parts) < 2 {
		return runtime.Version()
	}
	return "go " + parts[0] + "." + parts[1]
}

// banner is the notebook's first line.
func banner() string {
	return fmt.Sprintf("mcs %s · %s · %s · %%help · name? · Ctrl-D leaves", version, goVersion(), deviceText())
}

// deviceText names the device that computes, and what it is.
func deviceText() string {
	d := device.Default()
	return fmt.Sprintf("%s: %s", d, d.Info().Detail)
}
