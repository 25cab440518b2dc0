package pprof

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// spin is a function that a CPU profile of the test has.
//
//go:noinline
func spin(until time.Time) (n int) {
	for time.Now().Before(until) {
		for range 1000 {
			n++
		}
	}
	return n
}

// What is written, Go's own tool reads: CPU time by function first, and wall time by what was added.
func TestRead(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command")
	}
	var cpu bytes.Buffer
	if err := pprof.StartCPUProfile(&cpu); err != nil {
		t.Fatal(err)
	}
	spin(time.Now().Add(200 * time.Millisecond))
	pprof.StopCPUProfile()
	data, err := Add(cpu.Bytes(), []Sample{
		{[]string{"In[1]:2", "tensor.Eval"}, 30 * time.Millisecond},
		{[]string{"In[1]:2", "In[2]:1"}, 60 * time.Millisecond},
		{[]string{"In[1]:3"}, 10 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "p.pb.gz")
	if err := os.WriteFile(file, data, 0o666); err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string][]string{
		"-sample_index=wall": {"90ms 90.00%  In[1]:2", "60ms 60.00%  In[2]:1", "30ms 30.00%  tensor.Eval"},
		"-cum":               {"Type: cpu", "internal/pprof.spin"},
	} {
		out, err := exec.CommandContext(t.Context(), "go", "tool", "pprof", "-top", "-cum", flag, file).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, line := range want {
			if !strings.Contains(string(out), line) {
				t.Errorf("%s: got\n%s\nwithout %q", flag, out, line)
			}
		}
	}
}

// Added functions are numbered after those that are there, without gaps, however many locations there are.
func TestNumbers(t *testing.T) {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}}
	for i := range 4 {
		if i < 2 {
			p.Function = append(p.Function, &profile.Function{ID: uint64(i + 1)})
		}
		p.Location = append(p.Location, &profile.Location{ID: uint64(i + 1), Line: []profile.Line{{Function: p.Function[i%2]}}})
	}
	p.Sample = []*profile.Sample{{Value: []int64{1, 2}, Location: p.Location}}
	add(p, []Sample{{Stack: []string{"In[1]:2", "tensor.Eval", "In[1]:2"}}})
	if err := p.CheckValid(); err != nil || len(p.Location) != 6 || len(p.Function) != 4 {
		t.Errorf("got %d locations, %d functions, error %v, want 6 and 4", len(p.Location), len(p.Function), err)
	}
	for i, l := range p.Location {
		if l.ID != uint64(i+1) {
			t.Errorf("location %d has the number %d", i+1, l.ID)
		}
	}
	for i, f := range p.Function {
		if f.ID != uint64(i+1) {
			t.Errorf("function %d has the number %d", i+1, f.ID)
		}
	}
	if got := p.Sample[0].Value; !slices.Equal(got, []int64{1, 2, 0}) {
		t.Errorf("a sample that was there has the values %v, want 1, 2 and 0", got)
	}
}

// What is no profile is an error.
func TestDamaged(t *testing.T) {
	var cpu bytes.Buffer
	if err := pprof.StartCPUProfile(&cpu); err != nil {
		t.Fatal(err)
	}
	pprof.StopCPUProfile()
	for _, data := range [][]byte{nil, []byte("text"), cpu.Bytes()[:cpu.Len()/2]} {
		if _, err := Add(data, nil); err == nil {
			t.Errorf("%.20q: no error", data)
		}
	}
	for _, data := range []string{"\x80", "\x12", "\x12\x05\x01", "\x15\x01", "\x2a\x01\x80"} {
		if _, err := Add([]byte(data), nil); err == nil {
			t.Errorf("%x: no error", data)
		}
	}
}
