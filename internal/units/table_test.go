package units

import "testing"

func TestPlural(t *testing.T) {
	for _, c := range []struct {
		n          int64
		what, want string
	}{
		{1, "launch", "1 launch"}, {1234, "launch", "1,234 launches"}, {0, "copy", "0 copies"}, {2, "run", "2 runs"}, {2, "class", "2 classes"},
	} {
		if got := Plural(c.n, c.what); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestTable(t *testing.T) {
	const want = "      µs\nlong   1\nb"
	if got := Table([][]string{{"", "µs"}, {"long", "1"}, {"b"}}); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
