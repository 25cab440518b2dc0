package bench

import (
	"runtime"

	"github.com/mcs-notebook/mcs/engine/profile"
)

// inspect runs a work once and says what that did.
func (r *rounds) inspect(s *subject) (Tally, error) {
	if s.Inspect != nil {
		t, err := s.Inspect()
		if err == nil {
			err = r.Clock.Sync()
		}
		return t, err
	}
	var before, after runtime.MemStats
	rec := profile.Start()
	defer rec.Stop()
	runtime.ReadMemStats(&before)
	_, err := s.samples.time(1)
	runtime.ReadMemStats(&after)
	rec.Stop()
	return Tally{Launches: rec.Launches, Flops: rec.Flops(), Bytes: rec.Bytes(),
		Allocs: float64(after.Mallocs - before.Mallocs), Heap: float64(after.TotalAlloc - before.TotalAlloc)}, err
}
