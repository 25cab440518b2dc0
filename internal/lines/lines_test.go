package lines

import "testing"

func TestFit(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"95 % [12.2 ms, 12.4 ms] · min 12.0 ms", 0, "95 % [12.2 ms, 12.4 ms] · min 12.0 ms"}, // no screen
		{"95 % [12.2 ms, 12.4 ms] · min 12.0 ms", 40, "95 % [12.2 ms, 12.4 ms] · min 12.0 ms"},
		{"95 % [12.2 ms, 12.4 ms] · min 12.0 ms", 20, "95 % [12.2 ms, 12.4\n  ms] · min 12.0 ms"},
		{"a\n  b c", 3, "a\n b\n c"},
		{"averylongword x", 6, "averylongword\n  x"},
		{"\tcode that is long", 6, "\tcode that is long"},
		{"größer größer", 9, "größer\n  größer"},
	} {
		if got := Fit(c.text, c.width); got != c.want {
			t.Errorf("%q in %d columns: got %q, want %q", c.text, c.width, got, c.want)
		}
	}
}
