package web

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A chromium is a browser without a window, which does what DevTools' protocol says, over two pipes.
type chromium struct {
	t       *testing.T
	in      *os.File
	out     *bufio.Reader
	n       int
	session string
	logged  []string // what the page has logged: errors, and what its policy has blocked
}

func startChromium(t *testing.T) *chromium {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium shows the page, and is not here")
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	if err := cmd.Start(); err != nil {
		t.Skipf("chromium does not run: %v", err)
	}
	theirIn.Close()
	theirOut.Close()
	c := &chromium{t: t, in: in, out: bufio.NewReader(out)}
	t.Cleanup(func() {
		in.Close() // which ends it
		out.Close()
		_ = cmd.Wait()
	})
	target := c.call("Target.createTarget", fields{"url": "about:blank"})
	c.session, _ = c.call("Target.attachToTarget", fields{"targetId": target["targetId"], "flatten": true})["sessionId"].(string)
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		c.call(domain+".enable", fields{})
	}
	return c
}

// call calls a method of the protocol.
func (c *chromium) call(method string, params fields) fields {
	c.t.Helper()
	c.n++
	request := fields{"id": c.n, "method": method, "params": params}
	if c.session != "" {
		request["sessionId"] = c.session
	}
	text, err := json.Marshal(request)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.in.Write(append(text, 0)); err != nil {
		c.t.Fatal(err)
	}
	for {
		text, err := c.out.ReadBytes(0)
		if err != nil {
			c.t.Fatalf("%s: %v", method, err)
		}
		var reply struct {
			ID             int
			Method         string
			Params, Result fields
			Error          any
		}
		if err := json.Unmarshal(text[:len(text)-1], &reply); err != nil {
			c.t.Fatal(err)
		}
		switch {
		case reply.Method == "Runtime.exceptionThrown" || reply.Method == "Log.entryAdded":
			c.logged = append(c.logged, string(text))
		case reply.ID == c.n && reply.Error != nil:
			c.t.Fatalf("%s: %v", method, reply.Error)
		case reply.ID == c.n:
			return reply.Result
		}
	}
}

// value is that of an expression on the page; cell(i) is the i-th cell.
func (c *chromium) value(expression string) any {
	c.t.Helper()
	const cell = "const cell = i => document.querySelectorAll('.cell')[i], told = document.getElementById('told'); "
	r := c.call("Runtime.evaluate", fields{"expression": "(() => { " + cell + "return " + expression + " })()", "returnByValue": true})
	result, _ := r["result"].(fields)
	return result["value"]
}

// until waits for what the page is to show.
func (c *chromium) until(what, expression string) {
	c.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if c.value(expression) == true {
			return
		}
	}
	c.t.Fatalf("%s: the page shows\n%v", what, c.value("document.body.innerText"))
}

// The modifiers of keys.
const (
	ctrl  = 2
	shift = 8
)

// keyCodes are those of keys that are no letters.
var keyCodes = map[string]int{"Enter": 13, "Escape": 27, "Tab": 9, "ArrowRight": 39, "ArrowLeft": 37, "Home": 36, "End": 35}

// press presses a key.
func (c *chromium) press(key string, modifiers int) {
	c.t.Helper()
	event := fields{"type": "rawKeyDown", "key": key, "code": key, "modifiers": modifiers, "windowsVirtualKeyCode": keyCodes[key]}
	if len(key) == 1 {
		event["code"], event["windowsVirtualKeyCode"] = "Key"+strings.ToUpper(key), int(strings.ToUpper(key)[0])
	}
	if text := map[bool]string{true: key, false: "\r"}[len(key) == 1]; (len(key) == 1 || key == "Enter") && modifiers&ctrl == 0 {
		event["type"], event["text"] = "keyDown", text
	}
	c.call("Input.dispatchKeyEvent", event)
	event["type"] = "keyUp"
	delete(event, "text")
	c.call("Input.dispatchKeyEvent", event)
}

// write makes a cell below the selected one, and types into it.
func (c *chromium) write(text string) {
	c.t.Helper()
	c.press("b", 0)
	c.press("Enter", 0)
	c.call("Input.insertText", fields{"text": text})
}

// TestPage is a visit to the page in a browser: it runs under its own policy, keys are those of Jupyter, what
// cells do is shown, and it is as wide as a phone or a projector.
func TestPage(t *testing.T) {
	c := startChromium(t)
	path := filepath.Join(t.TempDir(), "a.ipynb")
	err := os.WriteFile(path, []byte(`{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
{"cell_type": "markdown", "id": "m", "metadata": {}, "source": "# Title\n<img src=x onerror=a>"},
{"cell_type": "code", "id": "one", "metadata": {}, "execution_count": 7, "source": "1 + 1", "outputs": [{"output_type": "display_data", "metadata": {}, "data": {
 "text/html": "<table onclick=a><tr><td>in a table<script>document.title = 'bad'</script><iframe src='/'></iframe><a href='javascript:a'>link</a></td></tr></table>", "text/plain": "kept"}}]}]}`), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	b := serve(t, path, t.TempDir())
	c.call("Page.navigate", fields{"url": b.s.guard.address("")})
	c.until("the notebook", `cell(1)?.innerText.includes("in a table") && cell(1).innerText.includes("In [7]") && cell(0).querySelector("h1")?.innerText === "Title"`)
	c.until("nothing that acts", `!document.querySelector("#cells iframe, #cells script, #cells [onclick], #cells [href], .prose img") && document.title === "a.ipynb" && location.search === ""`)
	c.logged = nil // of what the notebook brings, and the policy blocks
	c.press("j", 0)
	c.write("y := tensor.Ones(3, 3)\ny.Resh")
	c.until("completion", `document.querySelector(".cm-tooltip-autocomplete li")?.innerText.includes("Reshape")`)
	time.Sleep(100 * time.Millisecond) // the menu takes no key before, so that nobody accepts what he has not seen
	c.press("Tab", 0)
	c.call("Input.insertText", fields{"text": "(9)"})
	c.press("Enter", shift)
	c.until("a run, and a new cell", `cell(2).querySelector("table")?.innerText.includes("1.") && cell(3)?.contains(document.activeElement)`)
	c.press("Escape", 0)
	c.press("w", 0)
	c.until("variables", `told.innerText.includes("tensor.Tensor")`)
	c.press("d", 0)
	c.press("d", 0)
	c.until("d d", `!cell(3)`)
	c.press("m", 0)
	c.until("m", `cell(2).classList.contains("markdown")`)
	c.press("Escape", 0)
	c.press("y", 0)
	c.until("y", `cell(2).classList.contains("code")`)
	c.write("for i := 0; ; i++ { progress.Report(ctx, progress.Event{Task: \"work\", Done: int64(i), Total: 1000000}); time.Sleep(time.Millisecond) }")
	c.press("Enter", ctrl)
	c.until("a live line", `cell(3).innerText.includes("work") && cell(3).classList.contains("running")`)
	c.press("i", 0)
	c.press("i", 0)
	c.until("i i", `cell(3).innerText.includes("interrupted") && !cell(3).classList.contains("running")`)
	c.write("var name string\nfmt.Scanln(&name)\nplot.Line([]float64{1, 4, 9}).Titled(name)")
	c.press("Enter", ctrl)
	c.until("a question", `!!document.activeElement?.closest("form.ask")`)
	c.call("Input.insertText", fields{"text": "squares"})
	c.press("Enter", 0)
	c.until("a plot", `cell(4).querySelector("img")?.naturalWidth > 0`)
	c.value("cell(4).focus()")
	c.press("s", ctrl)
	c.until("a save", `document.getElementById("saved").innerText === "saved"`)
	b.s.mu.Lock()
	b.s.send(event{Kind: "notice", Text: "kept in /" + strings.Repeat("folder", 20)})
	b.s.mu.Unlock()
	c.until("a notice, below the buttons", `document.getElementById("notice").getBoundingClientRect().top >= document.getElementById("save").getBoundingClientRect().bottom`)
	for _, width := range []int{390, 1920} {
		for _, look := range []string{"light", "dark"} {
			c.call("Emulation.setDeviceMetricsOverride", fields{"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": width < 500})
			c.call("Emulation.setEmulatedMedia", fields{"features": []fields{{"name": "prefers-color-scheme", "value": look}}})
			c.until(fmt.Sprint(width, look), fmt.Sprintf(`document.documentElement.scrollWidth <= %d && (getComputedStyle(document.body).backgroundColor === "rgb(255, 255, 255)") === %v`, width, look == "light"))
		}
	}
	if len(c.logged) > 0 {
		t.Errorf("the page has logged %s", c.logged)
	}
}
