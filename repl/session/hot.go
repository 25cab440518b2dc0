package session

import (
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
)

// A program that has run for hotAfter is looked at hotLooks times, hotEvery apart.
const (
	hotAfter = time.Second
	hotLooks = 30
	hotEvery = 5 * time.Millisecond
)

// hot names the module whose interpreted packages take most of a cell's time, once a session, and says how
// to compile them. It starts to look when the program that runs now has taken a second: code is followed for
// a moment then, and costs nothing otherwise. The caller calls the result at the program's end, which ends
// the looks.
func (s *Session) hot() (end func()) {
	if s.told["hot"] || !s.packages.FromModules() {
		return func() {}
	}
	found, over, done := "", make(chan struct{}), make(chan struct{})
	timer := time.AfterFunc(hotAfter, func() {
		defer close(done)
		found = s.hotFile(over)
	})
	return func() {
		if timer.Stop() {
			return
		}
		close(over)
		<-done
		if pkg, module := s.packages.ModuleOf(found); pkg != "" && s.once("hot") {
			s.Tell("%s runs interpreted; mcs build --with %s -o mymcs compiles it in", pkg, module)
		}
	}
}

// hotFile is the file in which code was found in most of hotLooks looks, or "". There are fewer looks if the
// program is over before.
func (s *Session) hotFile(over <-chan struct{}) string {
	if s.interp.Here() != nil {
		return "" // a command follows the code already
	}
	s.places.follow(true)
	defer s.places.follow(false)
	var looks [][]yaegi.Step
	next := time.NewTicker(hotEvery)
	defer next.Stop()
looking:
	for range hotLooks {
		select {
		case <-over:
			break looking
		case <-next.C:
		}
		for _, t := range s.interp.Threads() {
			if t.Runs() {
				looks = append(looks, t.Steps(nil))
				break
			}
		}
	}
	packages, best := map[string]int{}, ""
	f := &s.places.followed
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, steps := range looks {
		lines := s.places.linesOf(steps)
		if len(lines) == 0 {
			continue
		}
		file, _, _ := strings.Cut(lines[len(lines)-1], ".go:")
		pkg, _ := s.packages.ModuleOf(file + ".go")
		if packages[pkg]++; pkg != "" && packages[pkg] >= hotLooks/2 {
			best = file + ".go"
		}
	}
	return best
}
