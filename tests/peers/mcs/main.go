// Command mcs is mcs's own side of tests/peers: a process that does the work that cpu.py asks for and times
// it, as worker.py does it for the other systems.
//
// A request is a line of JSON on standard input, the answer a line of JSON on standard output:
//
//	{"prepare": work}  builds inputs and runs the work once: {"ok": true, "result": samples}, or {"absent": why}
//	{"run": n}         {"seconds": what n runs took, each waiting until its result is there, "memory": bytes}
//	{"profile": n}     {"profile": where the time of a run goes}, over n of them; only this side has it
//
//	{"families": true} {"families": …}: the works of kind "family", with what they compute in
//	{"drop": true}     forgets the work, so that its memory is free
//
// memory is the most that the process, or the device if it has memory of its own, held since the work was
// prepared. Work that is run several times is queued; what waits is the end, and whatever reads a result.
//
//	mcs [-device NAME] THREADS
//	mcs -csv FILE
//
// Reading order: main.go, inputs.go, works.go, families.go, decoder.go, memory.go, profile.go.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
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

	Families bool `json:"families"`
	Drop     bool `json:"drop"`
}

type answer struct {
	OK      bool        `json:"ok,omitempty"`
	Version string      `json:"version,omitempty"`
	Device  string      `json:"device,omitempty"`
	Result  [][]float64 `json:"result,omitempty"`
	Absent  string      `json:"absent,omitempty"`
	Seconds float64     `json:"seconds,omitempty"`
	Memory  int64       `json:"memory,omitempty"`
	Profile *record     `json:"profile,omitempty"`

	Families []described `json:"families,omitempty"`
}

func main() {
	name := flag.String("device", "cpu", "the device to work on")
	csv := flag.String("csv", "", "read this file of tables.py, and nothing else")
	flag.Parse()
	if *csv != "" {
		if err := readCSV(*csv, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	threads, err := strconv.Atoi(flag.Arg(0))
	if err != nil || flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: mcs [-device NAME] THREADS, started by cpu.py or cuda.py")
		os.Exit(2)
	}
	runtime.GOMAXPROCS(threads)
	if err := serve(*name, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve answers requests until there are no more. A device that cannot be had is the answer to the greeting.
func serve(name string, requests io.Reader, answers io.Writer) error {
	out := json.NewEncoder(answers)
	if err := device.Use(name); err != nil {
		return out.Encode(answer{Absent: err.Error()})
	}
	hello := answer{OK: true, Version: strings.TrimPrefix(runtime.Version(), "go"), Device: device.Default().Info().Detail}
	if err := out.Encode(hello); err != nil {
		return err
	}
	in := bufio.NewScanner(requests)
	in.Buffer(nil, 1<<20)
	var run func() []tensor.Tensor
	for in.Scan() {
		var r request
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			return err
		}
		var a answer
		switch {
		case r.Families:
			a = answer{OK: true, Families: describe()}
		case r.Prepare != nil:
			run = nil
			forget()
			a, run = prepare(r.Prepare)
		case r.Drop:
			run = nil
			forget()
			a = answer{OK: true}
		case run == nil:
			a = answer{Absent: "no work was prepared"}
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

// prepare builds the inputs of a work and runs it once.
func prepare(w *work) (answer, func() []tensor.Tensor) {
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
		return answer{Absent: strings.TrimSpace("no " + w.Kind + " " + w.Family)}, nil
	}
	device.Default().FreeCache()
	forgetPeak()
	return a, run
}

// forget gives the memory of what nobody refers to any more back.
func forget() {
	runtime.GC()
	device.Default().FreeCache()
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
