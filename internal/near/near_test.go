package near

import "testing"

func TestName(t *testing.T) {
	names := []string{"q_proj", "k_proj", "down_proj"}
	for _, c := range []struct{ name, want string }{
		{"q_prj", "q_proj"},
		{"qproj", "q_proj"},
		{"x_proj", "q_proj"}, // as near as k_proj, which stands behind it
		{"dwn_prj", "down_proj"},
		{"query", ""},
		{"", ""},
	} {
		if got := Name(c.name, names); got != c.want {
			t.Errorf("%q: got %q, want %q", c.name, got, c.want)
		}
	}
}
