package check

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/units"
)

// Launches fails if f needs more launches than most. What f makes and leaves uncomputed counts; what it is
// given does not: f runs twice, and the second run is counted.
func Launches(t *T, f func(), most int) {
	t.try(func() {
		launched(f)
		r := launched(f)
		if r.Launches <= most {
			return
		}
		var names []string
		for _, k := range r.Kernels {
			name := k.Name
			if k.Launches > 1 {
				name = fmt.Sprintf("%d × %s", k.Launches, name)
			}
			names = append(names, name)
		}
		t.fail("got %s, want at most %d: %s", units.Plural(int64(r.Launches), "launch"), most, strings.Join(names, ", "))
	})
}

// launched records a run of f with the evaluation of what it makes.
func launched(f func()) *profile.Recording {
	return profile.Record(scope.Context(), func(ctx context.Context) {
		l := tensor.NewLedger(ctx)
		defer l.Close()
		tensor.Within(l.Context(), f)
		if err := l.Eval(); err != nil {
			panic(err)
		}
	})
}

// timed is how long Faster measures each of the two.
const timed = 500 * time.Millisecond

// Faster fails if f takes more than ratio times as long as the teacher's function. Both are timed side by
// side, with the evaluation of what they make. A ratio that is known only to an interval with the limit in it
// passes, and so does what could not be timed: [T.Notes] says so.
func Faster(t *T, f, teachers func(), ratio float64) {
	c, err := bench.Compare(scope.Context(), []bench.Case{{Name: "the teacher's", Run: runs(teachers)}, {Name: "this", Run: runs(f)}},
		bench.Options{Time: timed, Unchecked: true})
	if err != nil {
		t.fail("%v", err)
		return
	}
	l := c.Lines[1]
	got := bench.Ratio{Ratio: l.Ratio, Low: l.Low, High: l.High}
	switch {
	case l.Result.Refused != "" || c.Lines[0].Result.Refused != "" || got.Low == 0 && got.High == 0:
		t.note("the time could not be compared with the teacher's, so it was let pass")
	case got.Low > ratio:
		t.fail("takes %v the teacher's time, want at most %.3g×", got, ratio)
	case got.High > ratio:
		t.note("takes %v the teacher's time, where at most %.3g× is wanted: in doubt, so it was let pass", got, ratio)
	}
}

func runs(f func()) func(n int) error {
	return func(n int) error {
		return tensor.Try(func() {
			for range n {
				f()
			}
		})
	}
}

func (t *T) note(format string, args ...any) { t.notes = append(t.notes, t.labelled(format, args...)) }
