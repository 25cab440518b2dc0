package magics

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/internal/pprof"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/repl/display/diagram"
)

// file is the profile in the form that a file's name asks for. Cpu is Go's CPU profile, for a file that has
// it.
func (p *profiled) file(name string, cpu []byte) ([]byte, error) {
	switch filepath.Ext(name) {
	case ".svg":
		return []byte(p.flame()), nil
	case ".json":
		return p.chrome()
	}
	samples := make([]pprof.Sample, len(p.spans))
	for i, s := range p.spans {
		samples[i] = pprof.Sample{Stack: s.stack(), Time: s.took}
	}
	return pprof.Add(cpu, samples)
}

// stack is the lines of a span, and below them what was done there.
func (s *span) stack() []string {
	stack := append(slices.Clone(s.lines), s.in)
	if s.what != "" {
		stack = append(stack, s.what)
	}
	return stack
}

func (p *profiled) flame() string {
	var stacks []diagram.Stack
	var kernels []string
	for i := range p.record.Kernels {
		kernels = append(kernels, p.record.Kernels[i].Name)
	}
	for _, s := range p.spans {
		stacks = append(stacks, diagram.Stack{Names: s.stack(), Weight: s.took.Seconds()})
	}
	return diagram.Flame(units.Plural(int64(p.runs), "run"), stacks, units.Seconds, func(name string) diagram.Tone {
		switch {
		case slices.Contains([]string{"engine", "Go"}, name):
			return diagram.Back
		case name == "kernels" || slices.Contains(kernels, name):
			return diagram.Change
		}
		return diagram.Plain
	})
}

// A traceEvent is one of the Trace Event Format, which chrome://tracing and Perfetto read.
type traceEvent struct {
	Name  string         `json:"name"`
	Phase string         `json:"ph"`
	Time  float64        `json:"ts"` // µs
	Took  float64        `json:"dur,omitempty"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	Args  map[string]any `json:"args,omitempty"`
}

// The tracks of a trace.
const (
	trackLines = iota + 1
	trackRuns
	trackEvals
	trackDevice
	trackCopies
)

var trackNames = map[int]string{trackLines: "lines of cells", trackRuns: "runs", trackEvals: "evaluations", trackDevice: "device", trackCopies: "copies"}

// chrome joins the lines of cells, the runs, the evaluations, the launches, the copies and the memory in one
// trace.
func (p *profiled) chrome() ([]byte, error) {
	var events []traceEvent
	micro := func(d time.Duration) float64 { return float64(d) / 1e3 }
	add := func(track int, name string, at, took time.Duration, args map[string]any) {
		events = append(events, traceEvent{Name: name, Phase: "X", Time: micro(at), Took: micro(took), PID: 1, TID: track, Args: args})
	}
	for track := trackLines; track <= trackCopies; track++ {
		events = append(events, traceEvent{Name: "thread_name", Phase: "M", PID: 1, TID: track, Args: map[string]any{"name": trackNames[track]}})
	}
	for i := 0; i < len(p.samples); {
		j := i + 1 // samples of one line in turn are one span
		for j < len(p.samples) && slices.Equal(p.samples[j].Lines, p.samples[i].Lines) {
			j++
		}
		first, last := p.samples[i].At, p.samples[j-1].At
		for _, line := range p.samples[i].Lines {
			add(trackLines, line, first, last-first, nil)
		}
		i = j
	}
	for _, s := range p.samples {
		events = append(events, traceEvent{Name: "memory of tensors", Phase: "C", Time: micro(s.At), PID: 1, Args: map[string]any{"bytes": s.Memory}})
	}
	for i, each := range p.parts {
		add(trackRuns, fmt.Sprintf("run %d", min(i+1, p.runs)), each.start, each.took, nil)
	}
	t := p.record.Trace
	for i, e := range t.Evals {
		add(trackEvals, fmt.Sprintf("evaluation %d", i+1), e.Start, e.End-e.Start, map[string]any{"launches": e.Launches, "plan": map[bool]string{true: "cached", false: "made"}[e.Reused]})
		if !e.Reused {
			add(trackEvals, "plan and compile", e.Start, e.Planned-e.Start, nil)
		}
	}
	for i := range t.Launches {
		l := &t.Launches[i]
		add(trackDevice, l.Kernel, l.Start, l.Time, map[string]any{"bytes": l.Bytes, "flops": l.Flops, "from": profile.Origins(l), "ops": opsOf(l)})
	}
	for _, c := range t.Copies {
		add(trackCopies, "copy", c.Start, c.Time, map[string]any{"bytes": c.Bytes})
	}
	return json.Marshal(map[string]any{"traceEvents": events, "displayTimeUnit": "ms", "otherData": map[string]string{"machine": p.machine.String()}})
}
