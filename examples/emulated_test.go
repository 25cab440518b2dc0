package examples

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device/devicetest"
	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/magics"
	"github.com/mcs-notebook/mcs/repl/script"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
	"github.com/mcs-notebook/mcs/repl/session"
)

// TestLoRAOnEmulatedGPU runs lora.mcs with a small model on a GPU that the processor plays. What it learns is
// what it learns on the processor, but for rounding; and what it says about its weights is true there, too.
func TestLoRAOnEmulatedGPU(t *testing.T) {
	long.InCI(t, "trains a model kernel by kernel")
	devicetest.Emulated(t)
	text := shortened(t)
	want := losses(t, learn(t, "cpu", text))
	learn(t, "rehearsal", text)
	out := learn(t, "emulated", text)
	got := losses(t, out)
	if len(want) < 11 || len(got) != len(want) {
		t.Fatalf("got %d and %d losses, want 5 and 2 of the two trainings and 4 of the texts", len(got), len(want))
	}
	for i, w := range want {
		if !(math.Abs(got[i]-w) <= 1e-4*w) {
			t.Errorf("loss %d: got %g, want %g within 0.01 %%", i, got[i], w)
		}
	}
	for _, line := range []string{"base weights unchanged: true", "merged logits agree within 1e-3: true", "unmerged weights are the base's: true", "after loading, logits differ by 0"} {
		if !strings.Contains(out, line) {
			t.Errorf("got no %q in\n%s", line, out)
		}
	}
}

// shortened is the example with less of everything, without its timings, and with its losses at the end.
func shortened(t *testing.T) string {
	data, err := os.ReadFile("lora.mcs")
	if err != nil {
		t.Fatal(err)
	}
	text, _, cut := strings.Cut(string(data), "// ## What it costs")
	if !cut {
		t.Fatal("lora.mcs: got no part about costs, which is left out here")
	}
	text = strings.TrimSuffix(text, "// %% [markdown]\n")
	for _, c := range [][2]string{
		{"steps := 300", "steps := 5"}, {"Layers: 4, Width: 160, Heads: 4, KVHeads: 2, Hidden: 448", "Layers: 2, Width: 32, Heads: 4, KVHeads: 2, Hidden: 64"},
		{", 64, 16)", ", 16, 4)"}, {", 64, 4)", ", 16, 4)"}, {"Tokens: 200", "Tokens: 8"},
	} {
		if !strings.Contains(text, c[0]) {
			t.Fatalf("lora.mcs: got no %q, which is shortened here", c[0])
		}
		text = strings.ReplaceAll(text, c[0], c[1])
	}
	return text + `// %%
for _, l := range append(append(run.Loss, adapt.Loss...), codeBefore, testsBefore, codeAfter, testsAfter) {
	fmt.Println("loss", l)
}
`
}

// learn runs a session on a device and returns what it prints.
func learn(t *testing.T, device, text string) string {
	t.Helper()
	var out bytes.Buffer
	f := mcsfile.Parse("lora.mcs", fmt.Sprintf("// %%%%\ndevice.Use(%q)\n%s", device, text))
	report, err := script.Run(context.Background(), f, script.Options{
		Stdout: &out,
		Open: func(stdout io.Writer) (script.Runner, error) {
			return session.New(session.Options{Stdout: stdout, Stderr: os.Stderr, Commands: magics.Table{}})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if report.Failed != nil {
		t.Fatalf("%s: %s:\n%v", device, script.Where(f, report.Failed.Cell, report.Failed.N), report.Failed.Err)
	}
	return out.String()
}

// losses are those that the last cell prints.
func losses(t *testing.T, out string) (list []float64) {
	for s := bufio.NewScanner(strings.NewReader(out)); s.Scan(); {
		var l float64
		if n, _ := fmt.Sscanf(s.Text(), "loss %g", &l); n == 1 {
			list = append(list, l)
		}
	}
	return list
}
