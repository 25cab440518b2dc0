package main

import (
	"context"
	"errors"
	"runtime"

	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A record says where the time of a run goes. All of it is for one run.
type record struct {
	Seconds  float64  `json:"seconds"`
	Launches float64  `json:"launches"`
	Objects  float64  `json:"objects"` // that Go allocated, in runs without a record, which has its own
	Kernels  []kernel `json:"kernels"`
}

type kernel struct {
	Name     string  `json:"name"`
	Launches float64 `json:"launches"`
	Seconds  float64 `json:"seconds"`
	Flops    float64 `json:"flops"`
	Bytes    float64 `json:"bytes"`
}

// profiled runs the work n times, and n times more with the time of each kernel.
func profiled(run func() []tensor.Tensor, n int) answer {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := repeat(run, n)
	runtime.ReadMemStats(&after)
	r := profile.RecordTimed(context.Background(), func(context.Context) { err = errors.Join(err, repeat(run, n)) })
	if err != nil {
		return answer{Absent: "failed: " + err.Error()}
	}
	each := 1 / float64(n)
	p := &record{Seconds: r.Wall.Seconds() * each, Launches: float64(r.Launches) * each, Objects: float64(after.Mallocs-before.Mallocs) * each}
	for _, k := range r.Kernels {
		p.Kernels = append(p.Kernels, kernel{k.Name, float64(k.Launches) * each, k.Time.Seconds() * each, float64(k.Flops) * each, float64(k.Bytes) * each})
	}
	return answer{Profile: p}
}
