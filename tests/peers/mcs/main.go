// Command mcs is mcs's own side of tests/peers: a process that does the work that cpu.py asks for and times
// it, as worker.py does it for the other systems.
//
// A request is a line of JSON on standard input, the answer a line of JSON on standard output:
//
//	{"prepare": work}  builds inputs and runs the work once: {"ok": true, "result": samples}, or {"absent": why}
//	{"run": n}         {"seconds": what n runs took, each waiting until its result is there, "memory": bytes}
//	{"profile": n}     {"profile": where the time of a run goes}, over n of them; only this side has it
//
// memory is the most that the process held since the work was prepared.
// Reading order: main.go, inputs.go, works.go, decoder.go, memory.go, profile.go.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

type request struct {
	Prepare *work `json:"prepare"`
	Run     int   `json:"run"`
	Profile int   `json:"profile"`
}

type answer struct {
	OK      bool        `json:"ok,omitempty"`
	Version string      `json:"version,omitempty"`
	Result  [][]float64 `json:"result,omitempty"`
	Absent  string      `json:"absent,omitempty"`
	Seconds float64     `json:"seconds,omitempty"`
	Memory  int64       `json:"memory,omitempty"`
	Profile *record     `json:"profile,omitempty"`
}

func main() {
	threads, err := strconv.Atoi(os.Args[len(os.Args)-1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "usage: mcs THREADS, started by cpu.py")
		os.Exit(2)
	}
	runtime.GOMAXPROCS(threads)
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve() error {
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(answer{OK: true, Version: strings.TrimPrefix(runtime.Version(), "go")}); err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	var run func() []tensor.Tensor
	for in.Scan() {
		var r request
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			return err
		}
		var a answer
		switch {
		case r.Prepare != nil:
			run = nil
			a, run = prepare(r.Prepare)
		case r.Profile > 0:
			a = profiled(run, r.Profile)
		default:
			a = measure(run, r.Run)
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
	return in.Err()
}

// prepare frees the memory of the former work, builds the inputs of the next one and runs it once.
func prepare(w *work) (answer, func() []tensor.Tensor) {
	runtime.GC()
	device.Default().FreeCache()
	var a answer
	var run func() []tensor.Tensor
	if err := tensor.Try(func() {
		if run = w.build(); run != nil {
			a = answer{OK: true, Result: samples(run())}
		}
	}); err != nil {
		return answer{Absent: "failed: " + err.Error()}, nil
	}
	if run == nil {
		return answer{Absent: "no " + w.Kind}, nil
	}
	device.Default().FreeCache()
	forgetPeak()
	return a, run
}

// release gives the results' memory back, as the other runtimes do when a result's last reference goes.
func release(made []tensor.Tensor) {
	for _, t := range made {
		if !t.IsParam() {
			t.Free()
		}
	}
}

// repeat runs the work n times.
func repeat(run func() []tensor.Tensor, n int) error {
	return tensor.Try(func() {
		for range n {
			made := run()
			tensor.Eval(made...)
			release(made)
		}
	})
}

func measure(run func() []tensor.Tensor, n int) answer {
	start := time.Now()
	err := repeat(run, n)
	if err == nil {
		err = device.Default().Sync()
	}
	if err != nil {
		return answer{Absent: "failed: " + err.Error()}
	}
	return answer{Seconds: time.Since(start).Seconds(), Memory: peakMemory()}
}
