package display

import (
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
	got, err := kernels().JSON()
	wantJSON := `[{"bytes":4508877,"calls":1,"kernel":"lora_linear_rows","time":0.000012},{"bytes":16384,"calls":1200,"kernel":"\u003ccopy\u003e","time":""}]`
	if err != nil || string(got) != wantJSON {
		t.Errorf("got %s, %v, want %s", got, err, wantJSON)
	}
}
