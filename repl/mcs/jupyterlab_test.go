package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/internal/testing/chromium"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// TestJupyterLab is a visit to JupyterLab in a browser: a notebook is typed, run, interrupted and restarted.
func TestJupyterLab(t *testing.T) {
	long.Only(t, "JupyterLab and a browser start")
	lab, err := exec.LookPath("jupyter-lab")
	if err != nil {
		t.Skip("jupyterlab of PyPI shows the notebook, and is not here")
	}
	c := chromium.Start(t)
	dir := writeFiles(t, map[string]string{"a.ipynb": `{"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": {"name": "mcs", "display_name": "Go (mcs)", "language": "go"}},
"cells": [{"cell_type": "code", "id": "a", "metadata": {}, "execution_count": null, "source": [], "outputs": []}]}`})
	if _, stderr, code := mcs(t, dir, "", "jupyter", "install", "--prefix", "prefix"); code != 0 {
		t.Fatal(stderr)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().(*net.TCPAddr)
	l.Close()
	cmd := exec.CommandContext(t.Context(), lab, "--no-browser", "--allow-root", "--IdentityProvider.token=t", fmt.Sprint("--ServerApp.port=", address.Port), "--ServerApp.root_dir="+dir)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), beCommand+"=1", "HOME="+dir, "JUPYTER_PATH="+filepath.Join(dir, "prefix", "share", "jupyter"))
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // which ends its kernels, too
	cmd.WaitDelay = 20 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if r, err := http.Get(fmt.Sprintf("http://%s/api", address)); err == nil {
			r.Body.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatal("JupyterLab does not answer")
		}
	}
	c.Call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 1500, "height": 1800, "deviceScaleFactor": 1, "mobile": false})
	c.Call("Page.navigate", map[string]any{"url": fmt.Sprintf("http://%s/lab/tree/a.ipynb?token=t", address)})
	const idle = `document.querySelector(".jp-CodeCell .cm-content") !== null && document.body.innerText.includes("Go (mcs) | Idle")`
	c.Until("a notebook whose kernel is ready", idle)
	c.Value(`document.querySelector(".jp-CodeCell .cm-content").focus()`)
	for _, step := range []struct{ cell, what, want string }{
		{"n := 42\nplot.Line([]float64{1, 4, 9})", "a plot", `document.querySelector(".jp-OutputArea .jp-RenderedSVG") !== null`},
		{"[]struct{ Name string }{{\"in a table\"}, {\"too\"}}", "a table", `document.querySelector(".jp-OutputArea table")?.innerText.includes("in a table")`},
		{"for i := 0; ; i++ { progress.Report(ctx, progress.Event{Task: \"work\", Done: int64(i), Total: 1000000}); time.Sleep(time.Millisecond) }", "a live line", `/work [\d,]+\/1,000,000/.test(document.querySelector(".jp-Notebook").innerText)`},
	} {
		c.Type(step.cell)
		c.Press("Enter", chromium.Shift)
		c.Until(step.what, step.want)
		c.Until("the next cell", `document.activeElement.closest(".jp-CodeCell")?.querySelector(".cm-content").innerText.trim() === ""`)
	}
	c.Press("Escape", 0)
	c.Press("i", 0)
	c.Press("i", 0)
	c.Until("an interruption", `document.querySelector(".jp-Notebook").innerText.includes("interrupted") && `+idle)
	c.Press("0", 0)
	c.Press("0", 0)
	c.Until("the question whether to restart", `document.activeElement.closest(".jp-Dialog") !== null`)
	c.Press("Enter", 0)
	c.Until("a restart", `document.querySelector(".jp-Dialog") === null && `+idle)
	c.Press("Enter", 0)
	c.Type("n")
	c.Press("Enter", chromium.Shift)
	c.Until("that names are gone, and cells are counted again", `[...document.querySelectorAll(".jp-CodeCell")].some(c => /^\[1\]:\s*n\s+.*undefined: n/s.test(c.innerText))`)
}
