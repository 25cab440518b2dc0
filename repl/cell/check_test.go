package cell

import "testing"

// A block of Python ends with an empty line, and is indented as Python does. Go that looks like it is none.
func TestForeign(t *testing.T) {
	for _, tt := range []struct {
		src      string
		foreign  bool
		complete bool
		indent   int
	}{
		{"for i in range(3):", true, false, 1},
		{"for i in range(3):\n\tif i > 1:", true, false, 2},
		{"for i in range(3):\n\tprint('i')", true, false, 1},
		{"for i in range(3):\n\tprint('i')\n\t", true, true, 1},
		{"for i in range(3):\n    print('i')\n", true, true, 0},
		{"try:\n\tf()", true, false, 1},
		{"class Net(nn.Module):", true, false, 1},
		{"with torch.no_grad():  # none", true, false, 1},
		{"if x > 0: y = 1", false, true, 0},
		{"for i := range 3 {", false, false, 1},
		{"switch x {\ncase 1:", false, false, 1},
		{"loop:", false, true, 0},
		{"x := m[1:]", false, true, 0},
		{"ls ..", false, true, 0},
		{"cd ../", false, true, 0},
		{"cp a.txt b/", false, true, 0},
		{"x := 1\nls ..", false, true, 0},
		{"x.", false, false, 0},
		{"x /", false, false, 0},
		{"y := f(a, b).", false, false, 0},
		{"var c chan T; c.", false, false, 0},
	} {
		if got := Foreign(tt.src); got != tt.foreign {
			t.Errorf("Foreign(%q) = %v", tt.src, got)
		}
		if got := !Incomplete(tt.src); got != tt.complete {
			t.Errorf("%q: complete: %v, want %v", tt.src, got, tt.complete)
		}
		if got := Indent(tt.src); got != tt.indent {
			t.Errorf("Indent(%q) = %d, want %d", tt.src, got, tt.indent)
		}
	}
}
