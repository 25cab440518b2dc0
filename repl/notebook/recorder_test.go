package notebook

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/repl/session"
)

// TestRecorderCuts: what a cell prints is cut once, also if it writes to both streams in turn; the next cell
// has all its room.
func TestRecorderCuts(t *testing.T) {
	for _, c := range []struct{ writes, bytes, cut int }{
		{1, MaxRecorded, 0}, {1, MaxRecorded + 1, 1}, {6, MaxRecorded / 4, 1}, {4, MaxRecorded / 4, 0}, {3, 2 * MaxRecorded, 1},
	} {
		r := new(Recorder)
		streams := []tap{{r, "stdout"}, {r, "stderr"}}
		for cell := range 2 {
			for i := range c.writes {
				streams[i%2].Write(bytes.Repeat([]byte{'x'}, c.bytes))
			}
			text := fmt.Sprint(r.Ended(session.Result{}).Outputs)
			kept, cut := strings.Count(text, "x")-strings.Count(text, "text"), strings.Count(text, "the rest is left out")
			if want := min(c.writes*c.bytes, MaxRecorded); kept != want || cut != c.cut {
				t.Errorf("cell %d, %d writes of %d bytes: got %d, cut %d times, want %d, cut %d times", cell, c.writes, c.bytes, kept, cut, want, c.cut)
			}
		}
	}
}
