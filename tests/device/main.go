// Command device checks everything about a device on the machine that has it, and writes a report to send:
//
//	go run ./tests/device metal
//
// It takes the name of a device, as mcs -device does, and needs Go and this repository, nothing else. A step
// that fails does not stop the next ones; the report is written as they go, so that what an interrupted run
// has found is in it. The exit status is 1 if a step failed.
//
//	-onnx FILE  run ONNX's node tests, too: a zip of them (see tests/conformance)
//	-o FILE     write the report there; else to device-report.txt
//	-quick      take minutes instead of an hour: parts of the suites, and no benchmarks
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	onnx := flag.String("onnx", "", "a zip of ONNX's node tests")
	out := flag.String("o", "device-report.txt", "the `FILE` to write")
	quick := flag.Bool("quick", false, "run parts of the suites, and no benchmarks")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: go run ./tests/device [-onnx FILE] [-o FILE] [-quick] DEVICE, as metal or cuda:0")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx, options{device: flag.Arg(0), onnx: *onnx, quick: *quick}, *out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "device:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// options are what a person asked for.
type options struct {
	device string
	onnx   string // relative to where the command was started
	quick  bool
}

// run runs all steps, and reports whether none failed.
func run(ctx context.Context, o options, out string) (ok bool, err error) {
	if o.onnx != "" {
		if o.onnx, err = filepath.Abs(o.onnx); err != nil {
			return false, err
		}
	}
	scratch, err := os.MkdirTemp("", "mcs-device")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(scratch)
	r := &report{path: out, title: "mcs on " + o.device + ", " + time.Now().Format("2006-01-02 15:04")}
	w := &worker{mcs: filepath.Join(scratch, "mcs"), cpu: "cpu"}
	if strings.HasSuffix(os.Args[0], ".exe") {
		w.mcs += ".exe"
	}
	for _, s := range steps(o) {
		if s.skip == "" && r.lacks(s.needs) {
			s.skip = "no " + s.needs
		}
		fmt.Fprintf(os.Stderr, "%-24s ", s.name)
		result := w.do(ctx, s)
		fmt.Fprintf(os.Stderr, "%s, %v\n", result.verdict(), result.took.Round(time.Second))
		if err := r.add(result); err != nil {
			return false, err
		}
		if ctx.Err() != nil {
			break
		}
	}
	fmt.Fprintln(os.Stderr, "the report is in", out)
	return !r.failed(), nil
}
