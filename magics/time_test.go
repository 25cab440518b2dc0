package magics

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/repl/session"
)

// A run of %time that would be faster than the machine can be has no time.
func TestTimeIsBelieved(t *testing.T) {
	r := &profile.Recording{Launches: 1, Kernels: []profile.Kernel{{Name: "matmul", Launches: 1, Flops: 1e12, Bytes: 1e6}}, DType: dtype.F32}
	for _, tt := range []struct {
		wall   time.Duration
		prefix string
	}{
		{time.Microsecond, "no time: "},
		{time.Hour, "1 h"},
	} {
		if got := (&oneRun{Recording: r, wall: tt.wall}).line(t.Context()).Text(80); !strings.HasPrefix(got, tt.prefix) {
			t.Errorf("10¹² operations in %v: got %q", tt.wall, got)
		}
	}
	r.Devices = []string{"none"} // whose ceilings nobody can measure
	if got := (&oneRun{Recording: r, wall: time.Hour}).line(t.Context()).Text(0); !strings.Contains(got, "not held against the machine's ceilings, which could not be measured: ") {
		t.Errorf("a device without ceilings: got %q", got)
	}
}

// A tensor that %time has shown lives as long as it is the newest result, like that of an expression.
func TestTimeKeepsNothingElse(t *testing.T) {
	s, err := session.New(session.Options{Commands: Table{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	run := func(cell string) {
		if r := s.Run(t.Context(), cell); r.Err != nil {
			t.Fatalf("%s: %v", cell, r.Err)
		}
	}
	const size = 4 << 20
	run("x := tensor.Ones(1024, 1024).Eval()")
	before := device.InUse()
	for range 4 {
		run("%time x.Add(1)")
	}
	run("%time x.Add(1)\n1")
	for end := time.Now().Add(20 * time.Second); device.InUse() >= before+size; time.Sleep(time.Millisecond) {
		if runtime.GC(); time.Now().After(end) {
			t.Fatalf("%d bytes more in use than before, want less than %d", device.InUse()-before, size)
		}
	}
}

// The line that stands for a statement has the command in front, so it can be pasted.
func TestCommandsStayInFrontOfAdvice(t *testing.T) {
	s, err := session.New(session.Options{Commands: Table{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r := s.Run(t.Context(), "m := nn.NewLinear(2, 2); x := tensor.Ones(1, 2)"); r.Err != nil {
		t.Fatal(r.Err)
	}
	for _, tt := range []struct{ typed, want string }{
		{"%time m(x)", "%time m.Forward(x)"},
		{"%timeit -t 10ms m(x)", "%timeit -t 10ms m.Forward(x)"},
		{"%time y = m(x)", "%time y := m.Forward(x)"},
		{"m(x)", "m.Forward(x)"},
	} {
		var refused *session.CheckError
		if r := s.Run(t.Context(), tt.typed); !errors.As(r.Err, &refused) || refused.Diags[0].Hint != "write "+tt.want {
			t.Errorf("%s: %v, want advice to write %s", tt.typed, r.Err, tt.want)
		}
	}
}
