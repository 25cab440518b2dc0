package data

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Numbers that differ stay different, in files, in Go's values, and where two tables meet.
func TestIntegersKeepTheirDigits(t *testing.T) {
	const a, b = "12345678901234567890", "12345678901234567891"
	dir := folder(t, map[string]string{
		"a.csv":   "id\n" + a + "\n" + b + "\n",
		"a.jsonl": `{"id":` + a + "}\n" + `{"id":` + b + "}\n",
		"n.jsonl": `{"id":-1}` + "\n" + `{"id":` + b + "}\n",
		"h.jsonl": `{"id":null}` + "\n" + `{"id":1` + b + "}\n" + `{"id":1.5}`,
		"k.jsonl": `{"id":7}` + "\n" + `{"id":1` + b + "}",
	})
	for name, want := range map[string]string{"a.csv": "u64 " + a + " " + b, "a.jsonl": "u64 " + a + " " + b, "n.jsonl": "text -1 " + b, "h.jsonl": "f64  1.1234567890123457e+20 1.5", "k.jsonl": "text 7 1" + b} {
		x, err := ReadTable(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := x.column("id").typed() + " " + strings.Join(x.Texts("id"), " "); got != want || x.Group("id").Len() != x.Len() {
			t.Errorf("%s: got %s in %d groups, want %s", name, got, x.Group("id").Len(), want)
		}
	}
	column := func(v any) *Table { return NewTable().Set("id", v) }
	for _, ending := range []string{".csv", ".jsonl", ".parquet", ".arrow"} {
		path := filepath.Join(dir, "w"+ending)
		if err := column([]uint64{7, math.MaxUint64}).Write(path); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadTable(path); err != nil || got.column("id").typed() != "u64" || got.Texts("id")[1] != "18446744073709551615" {
			t.Errorf("%s: got %v, error %v", ending, got, err)
		}
	}
	large, near := []uint64{1 << 63, 7}, []int{math.MaxInt64, 7}
	for _, c := range []struct {
		left, right any
		want        string
	}{
		{near, large, "u64 9223372036854775807 7 9223372036854775808 7"},
		{large, near, "u64 9223372036854775808 7 9223372036854775807 7"},
		{[]int{-1}, large, "text -1 9223372036854775808 7"},
		{large, []float64{0.5}, "f64 9.223372036854775807e+18 7 0.5"},
		{near, []int{-1}, "i64 9223372036854775807 7 -1"},
	} {
		x := column(c.left).Append(column(c.right))
		got := x.column("id").typed() + " " + strings.Join(x.Texts("id"), " ")
		if want := c.want; got != want && !strings.HasPrefix(want, "f64") {
			t.Errorf("%v and %v: got %s, want %s", c.left, c.right, got, want)
		}
	}
	if got := column(near).Join(column(large), "id"); got.Len() != 1 || got.Row(0).Int("id") != 7 {
		t.Errorf("got %v, want one row, as of pandas", got)
	}
	if got := column(func(r Row) any { return uint8(3) }).Fill("id", 4); got.column("id").typed() != "u64" {
		t.Errorf("got %v", got)
	}
	if err := tensor.Try(func() { column(large).Row(0).Int("id") }); err == nil || err.Error() != `data.Table: row 0: column "id": got 9223372036854775808, want an int: Value has it` {
		t.Errorf("got %v", err)
	}
}

// A time that nanoseconds in 64 bits do not have is refused, with its row; the zero time is missing.
func TestTimesBeyond(t *testing.T) {
	type visit struct{ At time.Time }
	in, zero, late := time.Date(2261, 12, 31, 0, 0, 0, 0, time.UTC), time.Time{}, time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)
	row := NewTable().Set("x", []int{1})
	const beyond = "got the time 2300-01-01T00:00:00Z, want one from 1678 to 2261, as nanoseconds in 64 bits have"
	for want, f := range map[string]func(){
		"data.Table: row 1: column \"at\": " + beyond:                                                      func() { NewTable().Set("at", []time.Time{in, late}) },
		"data.Table: row 1: field At: " + beyond:                                                           func() { TableOf([]visit{{zero}, {late}}) },
		"data.Table: row 0: column \"at\": " + beyond:                                                      func() { row.Set("at", func(Row) time.Time { return late }) },
		"data.Table: column \"at\": " + beyond + "; or a slice of them, a tensor, or a func(data.Row) any": func() { row.Set("at", late) },
		"data.Table: column \"at\": " + beyond:                                                             func() { NewTable().Set("at", []time.Time{zero}).Fill("at", late) },
	} {
		if err := tensor.Try(f); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	for _, x := range []*Table{NewTable().Set("At", []time.Time{zero, in}), TableOf([]visit{{zero}, {in}})} {
		if !x.Row(0).Missing("At") || !x.Times("At")[1].Equal(in) || x.Head(1).column("At").typed() != "time" {
			t.Errorf("got %v", x)
		}
	}
	if got := TableOf([]visit{{zero}}).column("At").typed(); got != "time" {
		t.Errorf("all are missing: got %s, want time", got)
	}
}

// Slices of Go's other types are columns, too, and of an embedded struct that is not there fields are
// missing.
func TestSlicesOfOtherTypes(t *testing.T) {
	type celsius float32
	type Part struct{ Size int }
	type whole struct {
		*Part
		Name string
	}
	for _, c := range []struct {
		values any
		want   string
	}{
		{[]time.Duration{time.Second, -1}, "i64 1000000000 -1"}, {[]celsius{1.5, celsius(math.NaN())}, "f64 1.5 "}, {[]int8{-1, 2}, "i64 -1 2"}, {[]uint16{7, 2}, "u64 7 2"}, {[]any{nil, 1, 2.5}, "f64  1 2.5"},
	} {
		x := NewTable().Set("x", c.values)
		if got := x.column("x").typed() + " " + strings.Join(x.Texts("x"), " "); got != c.want {
			t.Errorf("%T: got %s, want %s", c.values, got, c.want)
		}
	}
	if got := TableOf([]whole{{&Part{3}, "a"}, {nil, "b"}}); got.Row(0).Int("Size") != 3 || !got.Row(1).Missing("Size") {
		t.Errorf("got %v", got)
	}
}

// Lines end in \r, too, and are counted.
func TestLinesOfOldMacs(t *testing.T) {
	x := table(t, CSV{}, "a,b\r1,\"x\ry\"\r\r2,z\r\n3,\r")
	if got := x.Texts("b"); !slices.Equal(got, []string{"x\ry", "z", ""}) || !slices.Equal(x.Column("a").Ints(), []int{1, 2, 3}) || x.origin.line(2) != 6 {
		t.Errorf("got %q, the last one in line %d", got, x.origin.line(2))
	}
	for text, want := range map[string]string{"a,b\r1\r": "houses.csv:2: got 1 values, want 2", "a,b\r\r1,x\"\r": "houses.csv:3:4: a quote stands", "a,b\r1,\"\rx\"y\r": "houses.csv:3:3: 'y' stands behind"} {
		if _, err := readCSV(t, CSV{}, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	dir := folder(t, map[string]string{"x.csv": "prompt,completion\ra,b\rc,d\r"})
	d, err := ReadRecords(filepath.Join(dir, "x.csv"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if _, err := d.Each(t.Context(), func(r Record) error {
		got = append(got, r.Prompt.Text+r.Completion.Text)
		return nil
	}); err != nil || !slices.Equal(got, []string{"ab", "cd"}) {
		t.Errorf("got %q, error %v", got, err)
	}
}
