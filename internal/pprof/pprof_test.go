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
	var m message
	for field, numbers := range map[int][]uint64{profileLocation: {1, 2, 3, 4}, profileFunction: {1, 2}} {
		for _, n := range numbers {
			var one message
			one.uint(locationID, n)
			m.bytes(field, one)
		}
	}
	p := &adding{locations: map[string]uint64{}}
	if err := p.copy(m); err != nil {
		t.Fatal(err)
	}
	p.sample(Sample{Stack: []string{"In[1]:2", "tensor.Eval", "In[1]:2"}})
	got := map[int][]uint64{}
	err := p.out.fields(func(field int, _ uint64, body message) error {
		if field != profileLocation && field != profileFunction {
			return nil
		}
		return body.fields(func(inner int, n uint64, _ message) error {
			if inner == locationID {
				got[field] = append(got[field], n)
			}
			return nil
		})
	})
	for field, count := range map[int]int{profileLocation: 6, profileFunction: 4} {
		slices.Sort(got[field])
		for i, n := range got[field] {
			if n != uint64(i)+1 || len(got[field]) != count {
				t.Errorf("field %d has the numbers %v, want 1 to %d (%v)", field, got[field], count, err)
				break
			}
		}
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
	for _, m := range []message{{0x80}, {2<<3 | 2}, {2<<3 | 2, 5, 1}, {2<<3 | 5, 1}, {5<<3 | 2, 1, 0x80}} {
		if err := new(adding).copy(m); err == nil {
			t.Errorf("%x: no error", []byte(m))
		}
	}
}
