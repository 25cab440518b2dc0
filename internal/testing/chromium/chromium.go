// Package chromium drives Chromium without a window, for tests of pages.
package chromium

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A Browser does what DevTools' protocol says, over two pipes.
type Browser struct {
	t       testing.TB
	in      *os.File
	out     *bufio.Reader
	n       int
	session string
	Logged  []string // what the page has logged: errors, and what its policy has blocked
}

// patience is how long Until waits.
const patience = 60 * time.Second

type fields = map[string]any

// Start starts the browser for a test, which is skipped where there is none.
func Start(t testing.TB) *Browser {
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
	profile, err := os.MkdirTemp("", "chromium-")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--user-data-dir="+profile, "about:blank")
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	if err := cmd.Start(); err != nil {
		t.Skipf("chromium does not run: %v", err)
	}
	theirIn.Close()
	theirOut.Close()
	c := &Browser{t: t, in: in, out: bufio.NewReader(out)}
	t.Cleanup(func() {
		in.Close() // which ends it
		out.Close()
		_ = cmd.Wait()
		for range 50 { // its children may write for another moment
			if os.RemoveAll(profile) == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	target := c.Call("Target.createTarget", fields{"url": "about:blank"})
	c.session, _ = c.Call("Target.attachToTarget", fields{"targetId": target["targetId"], "flatten": true})["sessionId"].(string)
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		c.Call(domain+".enable", fields{})
	}
	return c
}

// Call calls a method of the protocol.
func (c *Browser) Call(method string, params fields) fields {
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
			c.Logged = append(c.Logged, string(text))
		case reply.ID == c.n && reply.Error != nil:
			c.t.Fatalf("%s: %v", method, reply.Error)
		case reply.ID == c.n:
			return reply.Result
		}
	}
}

// Value is that of an expression on the page.
func (c *Browser) Value(expression string) any {
	c.t.Helper()
	r := c.Call("Runtime.evaluate", fields{"expression": "(() => { return " + expression + " })()", "returnByValue": true})
	result, _ := r["result"].(fields)
	return result["value"]
}

// Until waits for what the page is to show.
func (c *Browser) Until(what, expression string) {
	c.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if c.Value(expression) == true {
			return
		}
	}
	c.t.Fatalf("%s: the page shows\n%v", what, c.Value("document.body.innerText"))
}

// The modifiers of keys.
const (
	Ctrl  = 2
	Shift = 8
)

// keyCodes are those of keys that are no letters.
var keyCodes = map[string]int{"Enter": 13, "Escape": 27, "Tab": 9, "ArrowRight": 39, "ArrowLeft": 37, "Home": 36, "End": 35}

// Press presses a key.
func (c *Browser) Press(key string, modifiers int) {
	c.t.Helper()
	event := fields{"type": "rawKeyDown", "key": key, "code": key, "modifiers": modifiers, "windowsVirtualKeyCode": keyCodes[key]}
	if len(key) == 1 {
		event["code"], event["windowsVirtualKeyCode"] = "Key"+strings.ToUpper(key), int(strings.ToUpper(key)[0])
	}
	if text := map[bool]string{true: key, false: "\r"}[len(key) == 1]; (len(key) == 1 || key == "Enter") && modifiers&Ctrl == 0 {
		event["type"], event["text"] = "keyDown", text
	}
	c.Call("Input.dispatchKeyEvent", event)
	event["type"] = "keyUp"
	delete(event, "text")
	c.Call("Input.dispatchKeyEvent", event)
}

// Type types a text at the cursor.
func (c *Browser) Type(text string) {
	c.t.Helper()
	c.Call("Input.insertText", fields{"text": text})
}
