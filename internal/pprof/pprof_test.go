package pprof

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What is written, Go's own tool reads.
func TestRead(t *testing.T) {
	data, err := Encode([]Sample{
		{[]string{"In[1]:2", "tensor.Eval"}, 30 * time.Millisecond},
		{[]string{"In[1]:2", "In[2]:1"}, 60 * time.Millisecond},
		{[]string{"In[1]:3"}, 10 * time.Millisecond},
	}, 100*time.Millisecond, 5*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "p.pb.gz")
	if err := os.WriteFile(file, data, 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "tool", "pprof", "-top", "-cum", "-sample_index=wall", file).CombinedOutput()
	if err != nil {
		if _, missing := exec.LookPath("go"); missing != nil {
			t.Skip("there is no go command")
		}
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"90.00%     90ms 90.00%  In[1]:2", "60.00%     60ms 60.00%  In[2]:1", "30.00%     30ms 30.00%  tensor.Eval"} {
		if !strings.Contains(string(out), want[len("90.00%"):]) {
			t.Errorf("got\n%s\nwithout %q", out, want)
		}
	}
}
