package display

import (
	"strings"
	"testing"
	"time"
)

func kernels() *Table {
	t := NewTable("kernel", ">calls", ">bytes", ">time")
	t.Add("lora_linear_rows", 1, BytesCell(4508877), 12*time.Microsecond)
	t.Add("<copy>", 1200, BytesCell(16<<10), nil)
	t.Foot = "1 launch · 0 copies"
	return t
}

func TestTable(t *testing.T) {
	want := `kernel            calls     bytes     time
lora_linear_rows      1   4.3 MiB  12.0 µs
<copy>            1,200  16.0 KiB
1 launch · 0 copies`
	if got := kernels().Text(80); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	want = `kernel      calls     bytes     time
lora_line…      1   4.3 MiB  12.0 µs
<copy>      1,200  16.0 KiB
1 launch · 0 copies`
	if got := kernels().Text(36); got != want {
		t.Errorf("narrow: got\n%s\nwant\n%s", got, want)
	}
	want = `<table>
<thead><tr><th>kernel</th><th style="text-align:right">calls</th><th style="text-align:right">bytes</th><th style="text-align:right">time</th></tr></thead>
<tbody>
<tr><td>lora_linear_rows</td><td style="text-align:right">1</td><td style="text-align:right">4.3 MiB</td><td style="text-align:right">12.0 µs</td></tr>
<tr><td>&lt;copy&gt;</td><td style="text-align:right">1,200</td><td style="text-align:right">16.0 KiB</td><td style="text-align:right"></td></tr>
</tbody>
</table>
<p>1 launch · 0 copies</p>`
	if got := kernels().HTML(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A table that cannot be narrow enough becomes lines: each row its first cell, and below it what the other
// columns say.
func TestNarrowTable(t *testing.T) {
	prose := NewTable("command", "~does")
	prose.Add("%time", "run once: the value, the time, the launches")
	for _, c := range []struct {
		table *Table
		width int
		want  string
	}{
		{kernels(), 26, `lora_linear_rows
  calls 1
  bytes 4.3 MiB
  time 12.0 µs
<copy>
  calls 1,200
  bytes 16.0 KiB
1 launch · 0 copies`},
		{prose, 60, `command  does
%time    run once: the value, the time, the launches`},
		{prose, 40, `command  does
%time    run once: the value, the time,
         the launches`},
		{prose, 30, `%time
  run once: the value, the
  time, the launches`},
	} {
		if got := c.table.Text(c.width); got != c.want {
			t.Errorf("%d columns: got\n%s\nwant\n%s", c.width, got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text        string
		width, hang int
		want        string
	}{
		{"one two three", 7, 0, "one two\nthree"},
		{"one two three", 8, 2, "one two\n  three"},
		{"  - one two", 8, 2, "  - one\n    two"},
		{"incomprehensibilities are long", 8, 0, "incomprehensibilities\nare long"},
		{"\tcode stays as it is", 8, 0, "\tcode stays as it is"},
		{"größe für übergröße", 9, 0, "größe für\nübergröße"},
		{"a\n\nb", 8, 0, "a\n\nb"},
		{"", 8, 0, ""},
	} {
		if got := strings.Join(Wrap(c.text, c.width, c.hang), "\n"); got != c.want {
			t.Errorf("Wrap(%q, %d, %d) = %q, want %q", c.text, c.width, c.hang, got, c.want)
		}
	}
}
