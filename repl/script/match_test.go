package script

import (
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		want, output string
		ok           bool
	}{
		// Plain text: equal but for blanks at line ends and empty lines at the end.
		{"", "", true},
		{"", "\n\n", true},
		{"", "x\n", false},
		{"a\nb", "a  \nb\n\n", true},
		{"a  b", "a b", false},
		{"a\n\nb", "a\n\nb", true},
		{"a\nb", "a\n\nb", false},

		// [..] is anything within a line, ... any number of lines.
		{"1 launch · [..]", "1 launch · 0 copies · plan cached", true},
		{"1 launch · [..]", "2 launches · 0 copies", false},
		{"a [..] c [..]", "a b c ", true},
		{"[..]", "", false},
		{"...", "", true},
		{"...\nend", "1\n2\nend", true},
		{"...\nend", "end\nmore", false},
		{"start\n...\nend", "start\nend", true},
		{"start\n...\nmiddle\n...\nend", "start\nmiddle\nx\nmiddle\ny\nend", true},
		{"a...", "a...", true},
		{"a...", "ab", false},

		// [time] is a duration with a unit.
		{"took [time]", "took 1.23 ms", true},
		{"took [time]", "took 12,345 ns", true},
		{"took [time]", "took 1m2.5s", true},
		{"took [time]", "took 1 min 02 s", true},
		{"took [time]", "took 49 h 05 min", true},
		{"took [time] · 2", "took 2 d 03 h · 2", true},
		{"[time] per step", "87µs per step", true},
		{"took [time]", "took 12", false},
		{"took [time]", "took 12 GB/s", false},

		// [number] is any number.
		{"[number] GFLOP/s", "93.4 GFLOP/s", true},
		{"[number] GFLOP/s", "1,234 GFLOP/s", true},
		{"x=[number]", "x=-1.5e-07", true},
		{"x=[number]", "x=NaN", true},
		{"x=[number]", "x=fast", false},

		// A tolerance is relative; around 0 it is absolute.
		{"loss 2.500[~1e-2]", "loss 2.520", true},
		{"loss 2.500[~1e-2]", "loss 2.530", false},
		{"0[~1e-6]", "0.0000005", true},
		{"0[~1e-6]", "0.000002", false},
		{"-1e3[~0.1]", "-1050", true},
		{"-1e3[~0.1]", "1000", false},
		{"NaN[~0.1]", "NaN", true},
		{"1[~0.1]", "NaN", false},

		// A count is compared with its bound; the name may follow, in the singular too.
		{"[launches<=2]", "1 launch", true},
		{"[launches<=2]", "2 launches", true},
		{"[launches<=2] · 0 copies", "3 launches · 0 copies", false},
		{"fused  [time]  [launches<=2]", "fused   8.1 µs   1", true},
		{"[launches=5]", "5 launches", true},
		{"[steps>10]", "300 steps", true},
		{"[bytes>=1000]", "1,024 bytes", true},
		{"[bytes<1000]", "1,024 bytes", false},

		// Blanks move with the width of numbers, so they do not count in a line with a matcher.
		{"plain   [time]     5", "plain 12.5 µs 5", true},
		{"  plain [time]", "plain 12 s", true},

		// What looks like a matcher but is none stands for itself, and a matcher's own text matches.
		{"[time", "[time", true},
		{"[~x]", "[~x]", true},
		{"1[~x]", "1[~x]", true},
		{"[time]", "[time]", true},
		{"[1 2 3]", "[1 2 3]", true},
		{"[a<=b]", "[a<=b]", true},
		{"a+b [time]", "a+b 1s", true},
	} {
		if ok := Match(lines(tt.want), tt.output); ok != tt.ok {
			t.Errorf("Match(%q, %q) = %v, want %v", tt.want, tt.output, ok, tt.ok)
		}
	}
}

func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

func TestDiff(t *testing.T) {
	for _, tt := range []struct{ name, want, output, diff string }{
		{"no difference", "a\n[..]", "a\nb", ""},
		{"changed line", "a\nb\nc", "a\nx\nc", "  a\n- b\n+ x\n  c"},
		{"changed lines stand together", "b\nc", "x\ny", "- b\n- c\n+ x\n+ y"},
		{"missing line", "a\nb", "a", "  a\n- b"},
		{"unexpected line", "", "b", "+ b"},
		{"matched lines show the output", "[time]\nb", "3 s\nx", "  3 s\n- b\n+ x"},
		{"far lines are left out", "1\n2\n3\n4\n5\nb", "1\n2\n3\n4\n5\nx", "  …\n  3\n  4\n  5\n- b\n+ x"},
		{"a claim is not swallowed by ...", "...\n1 launch", "a\nb\n2 launches", "  a\n  b\n- 1 launch\n+ 2 launches"},
	} {
		if diff := Diff(lines(tt.want), tt.output); diff != tt.diff {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, diff, tt.diff)
		}
	}
}

func TestUpdate(t *testing.T) {
	for _, tt := range []struct{ name, want, output, updated string }{
		{"matching lines stay", "took [time]\n...", "took 3 s\nx\ny", "took [time]\n..."},
		{"first recording", "", "a\nb\n", "a\nb"},
		{"a changed line", "a\nb\nc", "a\nx\nc", "a\nx\nc"},
		{"other lines keep their matchers", "took [time]\nb", "took 3 s\nx", "took [time]\nx"},
		{"a changed line keeps its matchers", "step 1 [time] loss 2.5[~1e-2]", "step 2 3 ms loss 2.4", "step 2 [time] loss 2.4[~1e-2]"},
		{"[..] is kept", "1 launch · [..]", "2 launches · 0 copies", "2 launches · [..]"},
		{"a broken bound is written out", "[launches<=2] · [time]", "3 launches · 5 ms", "3 launches · [time]"},
		{"a line of another shape is written out", "took [time]", "nothing was timed", "nothing was timed"},
		{"... keeps covering", "a\n...\nz", "b\n1\n2\nz", "b\n...\nz"},
		{"... does not swallow a claim", "...\n1 launch", "k1\nk2\n2 launches", "...\n2 launches"},
		{"less output", "a\nb\nc", "a\nc", "a\nc"},
		{"no output", "a\nb", "", ""},
	} {
		updated := Update(lines(tt.want), tt.output)
		if got := strings.Join(updated, "\n"); got != tt.updated {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.updated)
		}
		if !Match(updated, tt.output) {
			t.Errorf("%s: %q does not match the output %q", tt.name, updated, tt.output)
		}
	}
}

// What Update writes always matches the output that it was made from.
func FuzzUpdate(f *testing.F) {
	f.Add("a\n...\n[time] x", "b\n1\n2 ms y")
	f.Add("1[~1e-3] [launches<=2]\n[..]", "2 3 launches")
	f.Add("[number]", "...\n[time]")
	f.Fuzz(func(t *testing.T, want, output string) {
		if len(want) > 500 || len(output) > 500 {
			t.Skip("long lines are slow and show nothing new")
		}
		updated := Update(lines(want), output)
		if !Match(updated, output) {
			t.Fatalf("Update(%q, %q) = %q, which does not match", want, output, updated)
		}
		if diff := Diff(updated, output); diff != "" {
			t.Fatalf("Diff after Update: %s", diff)
		}
	})
}
