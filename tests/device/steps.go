package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// A step is one thing to find out.
type step struct {
	name, why string
	needs     string // a step without which it says nothing
	skip      string // why it cannot be run, "" if it can
	limit     time.Duration
	do        func(ctx context.Context, w *worker) error
}

// steps are what is done for a device.
func steps(o options) []step {
	kind, _, _ := strings.Cut(o.device, ":")
	driver, isGPU := drivers[kind]
	suite := []string{"-run", "Conformance", "-v", "-timeout", "110m"}
	if o.quick {
		suite = append(suite, "-short")
	}
	list := []step{
		{name: "machine", why: "what this is", limit: time.Minute, do: describe},
		{name: "build", why: "the command that the next steps use", limit: 20 * time.Minute, do: func(ctx context.Context, w *worker) error {
			return w.command(ctx, "go", "build", "-o", w.mcs, "./repl/mcs")
		}},
		{name: "driver", why: "memory, compilation, dispatches, order, errors, and what a dispatch costs", limit: 10 * time.Minute,
			skip: when(!isGPU, "no GPU"), do: func(ctx context.Context, w *worker) error {
				return w.tests(ctx, driver.tests, "-run", driver.run, "-v", "-bench", driver.run)
			}},
		{name: "devices", why: "what is found, opens, and how fast it is", needs: "build", limit: 10 * time.Minute, do: func(ctx context.Context, w *worker) error {
			return w.cells(ctx, o.device, "%device\n// %%\n%device -ceilings\n")
		}},
		{name: "conformance", needs: "devices", why: "each op in each type, held against the reference", limit: 2 * time.Hour,
			do: func(ctx context.Context, w *worker) error {
				return w.tests(ctx, append([]string{"./engine/internal/backend/" + kind}, suite...)...)
			}},
		{name: "ONNX", needs: "devices", why: "what others expect of the ops", limit: time.Hour, skip: when(o.onnx == "", "no -onnx FILE"),
			do: func(ctx context.Context, w *worker) error {
				return w.tests(ctx, "./tests/conformance", "-run", "ONNX", "-v", "-timeout", "55m", "-args", "-onnx="+o.onnx, "-device="+o.device)
			}},
		{name: "losses", needs: "devices", why: "examples/lora.mcs learns what it learns on the processor", limit: 20 * time.Minute,
			do: func(ctx context.Context, w *worker) error { return w.losses(ctx, o.device) }},
		{name: "examples", needs: "devices", why: "every example runs to its end", limit: 30 * time.Minute, skip: when(o.quick, "-quick"),
			do: func(ctx context.Context, w *worker) error { return w.examples(ctx, o.device) }},
		{name: "speed", needs: "devices", why: "products, norms, attention and a small op", limit: 10 * time.Minute, skip: when(o.quick, "-quick"),
			do: func(ctx context.Context, w *worker) error { return w.cells(ctx, o.device, speed) }},
	}
	if kind == "metal" {
		list = append(list, step{name: "MPS", needs: "devices", why: "products by Metal Performance Shaders, which are off unless MCS_LIBRARIES is on", limit: time.Hour,
			do: func(ctx context.Context, w *worker) error {
				w.env = []string{"MCS_LIBRARIES=always"}
				defer func() { w.env = nil }()
				return errors.Join(w.tests(ctx, "./engine/internal/backend/metal", "-run", "Conformance.*/(matmul|lora|attention|random)", "-v", "-timeout", "50m"),
					w.cells(ctx, o.device, speed))
			}})
	}
	if runtime.GOOS == "darwin" {
		list = append(list, step{name: "Accelerate", why: "products by Apple's library, which no test of ours has seen", limit: 30 * time.Minute,
			do: func(ctx context.Context, w *worker) error {
				w.env = []string{"MCS_ACCELERATE=1"}
				defer func() { w.env = nil }()
				return w.tests(ctx, "./engine/internal/backend/cpu", "-run", "Conformance|MatMul", "-v", "-timeout", "25m")
			}})
	}
	return append(list, step{name: "everything else", why: "all tests, on the processor", limit: 2 * time.Hour, skip: when(o.quick, "-quick"),
		do: func(ctx context.Context, w *worker) error {
			return w.command(ctx, "go", "test", "-timeout", "60m", "./...")
		}})
}

// drivers are the tests of the GPUs' drivers, and how those are called that want a device.
var drivers = map[string]struct{ tests, run string }{
	"metal": {"./engine/internal/backend/metal/driver", "OnMac"},
	"cuda":  {"./engine/internal/backend/cuda/driver", "OnGPU"},
}

// speed is a session whose timings go into the report.
const speed = `x, w := tensor.Randn(2048, 2048), tensor.Randn(2048, 2048)
fmt.Println("f32 product of 2048")
%timeit x.MatMul(w)
// %%
h, v := x.Cast(dtype.F16), w.Cast(dtype.F16)
fmt.Println("f16 product of 2048")
%timeit h.MatMul(v)
// %%
fmt.Println("softmax of 2048 rows")
%timeit x.Softmax(-1)
// %%
fmt.Println("sum")
%timeit x.Add(w)
// %%
q := tensor.Randn(1, 16, 1024, 64)
fmt.Println("causal attention, 16 heads of 64, 1024 tokens")
%timeit tensor.Attention(q, q, q, tensor.AttentionOptions{Causal: true})
// %%
s := tensor.Ones(1)
fmt.Println("a small op")
%timeit s.Add(s)
`

func when(condition bool, reason string) string {
	if condition {
		return reason
	}
	return ""
}

// describe says what the machine is, as far as the system tells.
func describe(ctx context.Context, w *worker) error {
	for _, c := range [][]string{
		{"go", "version"}, {"git", "log", "-1", "--format=%H %ad"}, {"git", "status", "--short"},
		{"uname", "-a"}, {"sw_vers"}, {"system_profiler", "SPHardwareDataType", "SPDisplaysDataType"}, {"nvidia-smi"},
	} {
		if _, err := exec.LookPath(c[0]); err != nil {
			continue
		}
		if err := w.command(ctx, c[0], c[1:]...); err != nil && c[0] == "go" {
			return err
		}
	}
	return nil
}

// A worker runs commands, and gathers what they print.
type worker struct {
	mcs string // the command, once it is built
	cpu string // the device whose losses are the right ones
	env []string
	out strings.Builder
}

// do runs a step.
func (w *worker) do(ctx context.Context, s step) result {
	if s.skip != "" {
		return result{step: s}
	}
	w.out.Reset()
	start := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, s.limit, fmt.Errorf("it took longer than %v", s.limit))
	defer cancel()
	err := s.do(ctx, w)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return result{step: s, err: err, out: w.out.String(), took: time.Since(start)}
}

// command runs a command in the module's root. What it prints goes to the report.
func (w *worker) command(ctx context.Context, name string, args ...string) error {
	return w.with(ctx, "", name, args...)
}

func (w *worker) with(ctx context.Context, stdin, name string, args ...string) error {
	shown := name
	if name == w.mcs {
		shown = "mcs"
	}
	fmt.Fprintf(&w.out, "$ %s\n", strings.Join(append([]string{shown}, args...), " "))
	c := exec.CommandContext(ctx, name, args...)
	c.Env = append(append(os.Environ(), "CI=1"), w.env...) // tests that take seconds, too
	c.Stdin = strings.NewReader(stdin)
	c.Stdout, c.Stderr = &w.out, &w.out
	c.WaitDelay = 10 * time.Second // go test leaves its child behind
	err := c.Run()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return fmt.Errorf("%s: %v", shown, err)
	}
	return err
}

// examples runs each example. What it prints is not held against what its file says, which is the
// processor's: its name, its launches.
func (w *worker) examples(ctx context.Context, device string) error {
	files, err := filepath.Glob("examples/*.mcs")
	if err == nil && len(files) == 0 {
		err = errors.New("got no examples/*.mcs, want some")
	}
	for _, file := range files {
		err = errors.Join(err, w.command(ctx, w.mcs, "run", "-device", device, file))
	}
	return err
}

// tests runs go test with -v. Tests that all skip show nothing, and that is an error here.
func (w *worker) tests(ctx context.Context, args ...string) error {
	before := w.out.Len()
	if err := w.command(ctx, "go", append([]string{"test"}, args...)...); err != nil {
		return err
	}
	if !strings.Contains(w.out.String()[before:], "--- PASS: ") {
		return errors.New("no test ran: the reason stands below")
	}
	return nil
}

// cells runs a session on the device.
func (w *worker) cells(ctx context.Context, device, text string) error {
	return w.with(ctx, text, w.mcs, "run", "-device", device, "-")
}
