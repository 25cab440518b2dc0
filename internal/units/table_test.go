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
	for _, c := range []struct {
		rows [][]string
		want string
	}{
		{[][]string{{"", "µs"}, {"long", "1"}, {"b"}}, "      µs\nlong   1\nb"},
		{[][]string{{"日本", "語"}, {"a", "1"}}, "日本  語\na      1"}, // two columns of the screen each
	} {
		if got := Table(c.rows, 0); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// A table that is too wide for the screen has several lines for each row.
func TestTableOnANarrowScreen(t *testing.T) {
	rows := [][]string{{"kernel", "calls", "flops"}, {"matmul_silu", "12", "4.2 M"}, {"add", "", "1"}}
	for width, want := range map[int]string{
		26: "kernel       calls  flops\nmatmul_silu     12  4.2 M\nadd                     1",
		20: "matmul_silu\n  calls 12\n  flops 4.2 M\nadd\n  flops 1",
	} {
		if got := Table(rows, width); got != want {
			t.Errorf("%d columns: got\n%s\nwant\n%s", width, got, want)
		}
	}
}
