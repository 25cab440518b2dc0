// Package pprof adds samples of wall time to the profiles that package runtime/pprof writes, which
// `go tool pprof` reads.
package pprof

import (
	"bytes"
	"time"

	"github.com/google/pprof/profile"
)

// A Sample is a stack and how long it was the one.
type Sample struct {
	Stack []string // names of functions, the outermost first
	Time  time.Duration
}

// Add returns a CPU profile of package runtime/pprof with samples of wall time: values of another type,
// "wall", beside "samples" and "cpu". The CPU time is what go tool pprof shows first.
func Add(data []byte, samples []Sample) ([]byte, error) {
	p, err := profile.ParseData(data)
	if err != nil {
		return nil, err
	}
	add(p, samples)
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func add(p *profile.Profile, samples []Sample) {
	for _, s := range p.Sample {
		s.Value = append(s.Value, 0)
	}
	others := len(p.SampleType)
	p.SampleType = append(p.SampleType, &profile.ValueType{Type: "wall", Unit: "nanoseconds"})
	p.DefaultSampleType = "cpu"
	locations := map[string]*profile.Location{} // of added functions, by name
	for _, s := range samples {
		sample := &profile.Sample{Value: append(make([]int64, others), int64(s.Time))}
		for i := len(s.Stack) - 1; i >= 0; i-- { // the leaf is first
			name := s.Stack[i]
			if locations[name] == nil {
				locations[name] = location(p, name)
			}
			sample.Location = append(sample.Location, locations[name])
		}
		p.Sample = append(p.Sample, sample)
	}
}

// location adds a function and its location to a profile. Both are numbered apart and without gaps: go tool
// pprof gives a function that it finds by itself the number after their count.
func location(p *profile.Profile, name string) *profile.Location {
	f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name, SystemName: name}
	l := &profile.Location{ID: uint64(len(p.Location) + 1), Line: []profile.Line{{Function: f}}}
	p.Function, p.Location = append(p.Function, f), append(p.Location, l)
	return l
}
