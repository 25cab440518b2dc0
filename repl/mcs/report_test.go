package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/repl/script"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
)

// TestReportIsCut: what a cell prints is cut once, also if it writes to both streams in turn; the next cell
// has all its room.
func TestReportIsCut(t *testing.T) {
	for _, c := range []struct{ writes, bytes, cut int }{
		{1, maxReported, 0}, {1, maxReported + 1, 1}, {6, maxReported / 4, 1}, {4, maxReported / 4, 0}, {3, 2 * maxReported, 1},
	} {
		r := &report{name: "r.html"}
		streams := []reported{{r, "stdout"}, {r, "stderr"}}
		for cell := range 2 {
			for i := range c.writes {
				streams[i%2].Write(bytes.Repeat([]byte{'x'}, c.bytes))
			}
			r.endText()
			text := fmt.Sprint(r.outputs)
			kept, cut := strings.Count(text, "x")-strings.Count(text, "text"), strings.Count(text, "the rest is left out")
			if want := min(c.writes*c.bytes, maxReported); kept != want || cut != c.cut {
				t.Errorf("cell %d, %d writes of %d bytes: got %d, cut %d times, want %d, cut %d times", cell, c.writes, c.bytes, kept, cut, want, c.cut)
			}
			r.done(script.Outcome{Cell: new(mcsfile.Cell)})
		}
	}
}
