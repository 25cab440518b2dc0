package web

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/internal/testing/chromium"
)

// browse starts a browser in whose pages cell(i) is the i-th cell.
func browse(t *testing.T) *chromium.Browser {
	t.Helper()
	c := chromium.Start(t)
	c.Call("Page.addScriptToEvaluateOnNewDocument", fields{"source": "window.cell = i => document.querySelectorAll('.cell')[i]"})
	return c
}

// write makes a cell below the selected one, and types into it.
func write(c *chromium.Browser, text string) {
	c.Press("b", 0)
	c.Press("Enter", 0)
	c.Type(text)
}

// TestPage is a visit to the page in a browser: it runs under its own policy, keys are those of Jupyter, what
// cells do is shown, and it is as wide as a phone or a projector.
func TestPage(t *testing.T) {
	t.Parallel() // most of the time it waits for the browser
	c := browse(t)
	path := filepath.Join(t.TempDir(), "a.ipynb")
	err := os.WriteFile(path, []byte(`{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
{"cell_type": "markdown", "id": "m", "metadata": {}, "source": "# Title\n<img src=x onerror=a>"},
{"cell_type": "code", "id": "one", "metadata": {}, "execution_count": 7, "source": "1 + 1", "outputs": [{"output_type": "display_data", "metadata": {}, "data": {
 "text/html": "<table onclick=a><tr><td>in a table<script>document.title = 'bad'</script><iframe src='/'></iframe><a href='javascript:a'>link</a></td></tr></table>", "text/plain": "kept"}}]}]}`), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	b := serve(t, path, t.TempDir())
	c.Call("Page.navigate", fields{"url": b.s.guard.address("")})
	c.Until("the notebook", `cell(1)?.innerText.includes("in a table") && cell(1).innerText.includes("In [7]") && cell(0).querySelector("h1")?.innerText === "Title"`)
	c.Until("nothing that acts", `!document.querySelector("#cells iframe, #cells script, #cells [onclick], #cells [href], .prose img") && document.title === "a.ipynb" && location.search === ""`)
	c.Logged = nil // of what the notebook brings, and the policy blocks
	c.Press("j", 0)
	write(c, "y := tensor.Ones(3, 3)\ny.Resh")
	c.Until("completion", `document.querySelector(".cm-tooltip-autocomplete li")?.innerText.includes("Reshape")`)
	time.Sleep(100 * time.Millisecond) // the menu takes no key before, so that nobody accepts what he has not seen
	c.Press("Tab", 0)
	c.Type("(9)")
	c.Press("Enter", chromium.Shift)
	c.Until("a run, and a new cell", `cell(2).querySelector("table")?.innerText.includes("1.") && cell(3)?.contains(document.activeElement)`)
	c.Press("Escape", 0)
	c.Press("w", 0)
	c.Until("variables", `told.innerText.includes("tensor.Tensor")`)
	c.Press("d", 0)
	c.Press("d", 0)
	c.Until("d d", `!cell(3)`)
	c.Press("m", 0)
	c.Until("m", `cell(2).classList.contains("markdown")`)
	c.Press("Escape", 0)
	c.Press("y", 0)
	c.Until("y", `cell(2).classList.contains("code")`)
	write(c, "for i := 0; ; i++ { progress.Report(ctx, progress.Event{Task: \"work\", Done: int64(i), Total: 1000000}); time.Sleep(time.Millisecond) }")
	c.Press("Enter", chromium.Ctrl)
	c.Until("a live line", `cell(3).innerText.includes("work") && cell(3).classList.contains("running")`)
	c.Press("i", 0)
	c.Press("i", 0)
	c.Until("i i", `cell(3).innerText.includes("interrupted") && !cell(3).classList.contains("running")`)
	write(c, "var name string\nfmt.Scanln(&name)\nplot.Line([]float64{1, 4, 9}).Titled(name)")
	c.Press("Enter", chromium.Ctrl)
	c.Until("a question", `!!document.activeElement?.closest("form.ask")`)
	c.Type("squares")
	c.Press("Enter", 0)
	c.Until("a plot", `cell(4).querySelector("img")?.naturalWidth > 0`)
	c.Value("cell(4).focus()")
	c.Press("s", chromium.Ctrl)
	c.Until("a save", `document.getElementById("saved").innerText === "saved"`)
	b.s.mu.Lock()
	b.s.send(event{Kind: "notice", Text: "kept in /" + strings.Repeat("folder", 20)})
	b.s.mu.Unlock()
	c.Until("a notice, below the buttons", `document.getElementById("notice").getBoundingClientRect().top >= document.getElementById("save").getBoundingClientRect().bottom`)
	for _, width := range []int{390, 1920} {
		for _, look := range []string{"light", "dark"} {
			c.Call("Emulation.setDeviceMetricsOverride", fields{"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": width < 500})
			c.Call("Emulation.setEmulatedMedia", fields{"features": []fields{{"name": "prefers-color-scheme", "value": look}}})
			c.Until(fmt.Sprint(width, look), fmt.Sprintf(`document.documentElement.scrollWidth <= %d && (getComputedStyle(document.body).backgroundColor === "rgb(255, 255, 255)") === %v`, width, look == "light"))
		}
	}
	if len(c.Logged) > 0 {
		t.Errorf("the page has logged %s", c.Logged)
	}
}
