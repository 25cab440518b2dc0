package data

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/mutate"
)

const houses = `area,rooms,"street, number",price,sold
120.5,4,"Elm St, 1",250000,true
80, 3 ,"Oak ""Ring"" 2",,false
60,NA,"Elm St, 3",99000.5,TRUE

99,2,"two
lines",120000,false
`

func readCSV(t *testing.T, c CSV, text string) (*Table, error) {
	t.Helper()
	return c.Read(filepath.Join(folder(t, map[string]string{"houses.csv": text}), "houses.csv"))
}

func table(t *testing.T, c CSV, text string) *Table {
	t.Helper()
	got, err := readCSV(t, c, text)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Columns are tensors by their names. What has no value is named by its line, and dropped or filled.
func TestTable(t *testing.T) {
	h := table(t, CSV{}, houses)
	if want := []string{"area", "rooms", "street, number", "price", "sold"}; h.Len() != 4 || !slices.Equal(h.Names(), want) {
		t.Errorf("got %d rows, columns %q, want 4 of %q", h.Len(), h.Names(), want)
	}
	for _, c := range []struct {
		name string
		got  tensor.Tensor
		want string
	}{
		{"a column", h.Column("area"), "f32[4] [120.5 80 60 99]"},
		{"columns", h.Tensor("area", "sold"), "f32[4 2] [120.5 1 80 0 60 1 99 0]"},
		{"one column as a matrix", h.Tensor("sold"), "bool[4 1] [1 0 1 0]"},
		{"without missing values", h.DropMissing("rooms").Tensor("rooms", "area"), "f32[3 2] [4 120.5 3 80 2 99]"},
		{"whole numbers", h.DropMissing().Column("rooms"), "i64[2] [4 2]"},
		{"filled", h.Fill("rooms", 1).Fill("price", 0.5).Tensor("rooms", "price"), "f32[4 2] [4 250000 3 0.5 1 99000.5 2 120000]"},
		{"all", table(t, CSV{}, "a,b\n1,2\n3,4\n").Tensor(), "i64[2 2] [1 2 3 4]"},
		{"other signs", table(t, CSV{Comma: ';', Comment: '#', NoHeader: true, Missing: []string{"?"}}, "# x\n1;2\n?;4\n").DropMissing().Tensor(), "i64[1 2] [1 2]"},
		{"chosen types", table(t, CSV{Types: map[string]dtype.Type{"a": dtype.F64, "b": dtype.U8}}, "a,b\n1,255\n").TensorAs(dtype.F64), "f64[1 2] [1 255]"},
		{"large numbers", table(t, CSV{Types: map[string]dtype.Type{"b": dtype.U64}}, "b\n18446744073709551615\n").Column("b").Eq(tensor.From([]uint64{1<<64 - 1})), "bool[1] [1]"},
		{"blanks around numbers", table(t, CSV{}, " a , b\n 1 ,\" 2 \"\n NA , true \n").DropMissing().Tensor("a"), "i64[1 1] [1]"},
		{"a mark of UTF-8, a row index without a name", table(t, CSV{}, "\ufeff,a\n0,1.5\n").Tensor("0", "a"), "f32[1 2] [0 1.5]"},
	} {
		if got := c.got.DType().String() + shapeAndValues(c.got); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	codes, classes := h.Classes("street, number")
	if want := []string{"Elm St, 1", "Elm St, 3", `Oak "Ring" 2`, "two\nlines"}; !slices.Equal(classes, want) || !slices.Equal(codes.Ints(), []int{0, 2, 1, 3}) {
		t.Errorf("got %v of %q, want 0 2 1 3 of %q", codes.Ints(), classes, want)
	}
	quoted := "a,b\n\"  x  \", y \n"
	if _, classes := table(t, CSV{}, quoted).Classes("a"); classes[0] != "  x  " {
		t.Errorf("blanks within quotes: got %q, want them kept", classes)
	}
	if _, classes := table(t, CSV{}, quoted).Classes("b"); classes[0] != " y " {
		t.Errorf("blanks around a text: got %q, want them kept", classes)
	}
	for want, f := range map[string]func(){
		`data.Table: houses.csv: got column "Area", want one of ["area" "rooms" "street, number" "price" "sold"]`:                                      func() { h.Column("Area") },
		`data.Table: houses.csv:4: column "rooms" has no value, as 1 of 4 rows: t.DropMissing("rooms") leaves them out, t.Fill("rooms", 0) fills them`: func() { h.Tensor("area", "rooms") },
		`data.Table: houses.csv:2: column "street, number" has the text "Elm St, 1", want numbers: t.Classes("street, number") numbers its texts`:      func() { h.Tensor("street, number") },
		`data.Table: houses.csv: column "rooms" is i64: got 0.5 to fill it with`:                                                                       func() { h.Fill("rooms", 0.5) },
		`data.Table: houses.csv: column "street, number" is text: got 0 to fill it with`:                                                               func() { h.Fill("street, number", 0) },
	} {
		if err := tensor.Try(f); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func shapeAndValues(x tensor.Tensor) string {
	return fmt.Sprintf("%v %v", x.Shape(), x.Cast(dtype.F32).Floats())
}

func TestCSVRefused(t *testing.T) {
	for _, c := range []struct {
		c          CSV
		text, want string
	}{
		{CSV{}, "", "data: read csv: houses.csv: the file is empty"},
		{CSV{}, "a;b\n1,5;2\n", "data: read csv: houses.csv:2: got 2 values, want 1 as in the first line; data.CSV{Comma: ';'} reads values with ';' between them"},
		{CSV{}, "a,b\n1,2\n3\n", "data: read csv: houses.csv:3: got 1 values, want 2 as in the first line"},
		{CSV{}, "a,b\n1,\"2\n", `data: read csv: houses.csv:2:3: a quote is opened here and never closed`},
		{CSV{}, "a,b\n1,x\"y\n", `data: read csv: houses.csv:2:4: a quote stands in a value without quotes`},
		{CSV{}, "a,b, a\n", `data: read csv: houses.csv:1: two columns have the name "a"`},
		{CSV{}, "a\n\xff\n", "houses.csv: the file is no text: got byte 0xff at offset 2, want UTF-8"},
		{CSV{}, "\xffa\n1\n", "houses.csv: the file is no text: got byte 0xff at offset 0, want UTF-8"},
		{CSV{}, "a,b\x00\n1,2\n", "houses.csv: the file is no text: got byte 0x00 at offset 3, want UTF-8"},
		{CSV{Comma: '\n'}, "a\n", `houses.csv: got '\n' between or before values`},
		{CSV{Types: map[string]dtype.Type{"b": dtype.F32}}, "a\n1\n", `houses.csv: got a type for column "b", want one of ["a"]`},
		{CSV{Types: map[string]dtype.Type{"a": dtype.U8}}, "a\n1\n\n256\n", `houses.csv:4: column "a": got "256", want u8`},
		{CSV{Types: map[string]dtype.Type{"a": 99}}, "a\n1\n", `houses.csv: column "a": got type `},
	} {
		if _, err := readCSV(t, c.c, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
	if _, err := ReadCSV(t.TempDir()); err == nil || !strings.Contains(err.Error(), "want a regular file") {
		t.Errorf("a folder: got %v", err)
	}
}

func TestTableText(t *testing.T) {
	long := "n,name,\x1b[2Jevil,w,x\n" + strings.Repeat("1,a name that is longer than a cell,\x1b[31m,2.5,\n", 12)
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{houses, 80, `4 rows of 5 columns · houses.csv
    area  rooms  street, number    price   sold
     f64    i64            text      f64   bool
0  120.5      4       Elm St, 1   250000   true
1     80      3    Oak "Ring" 2        –  false
2     60      –       Elm St, 3  99000.5   true
3     99      2      two\nlines   120000  false
rooms: 1 value missing, first in line 4
price: 1 value missing, first in line 3`},
		{long, 40, `12 rows of 5 columns, 1 not shown · hou…
      n        name  …    w    x
    i64        text  …  f64  f64
0     1  a name th…  …  2.5    –
1     1  a name th…  …  2.5    –
2     1  a name th…  …  2.5    –
3     1  a name th…  …  2.5    –
4     1  a name th…  …  2.5    –
…     …           …  …    …    …
7     1  a name th…  …  2.5    –
8     1  a name th…  …  2.5    –
9     1  a name th…  …  2.5    –
10    1  a name th…  …  2.5    –
11    1  a name th…  …  2.5    –
x: 12 values missing, first in line 2`},
		{"a,b\n", 80, "0 rows of 2 columns · houses.csv\n    a    b\n  f64  f64"},
	} {
		if got := table(t, CSV{}, c.text).Text(c.width); got != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
	}
}

// A damaged file is refused, or its columns can be read as what they are.
func TestCSVMutants(t *testing.T) {
	mutate.Each(1, 5000, []byte(houses), func(i int, mutant []byte) { useCSV(t, string(mutant)) })
}

func useCSV(t *testing.T, text string) {
	c, err := CSV{}.read(strings.NewReader(text), int64(len(text)), "x.csv")
	if err != nil {
		return
	}
	c.Text(40)
	whole := c.DropMissing()
	for _, name := range whole.Names() {
		if whole.column(name).dtype == dtype.Invalid {
			whole.Classes(name)
		} else if got := whole.Column(name).Len(0); got != whole.Len() {
			t.Errorf("%q: column %q has %d numbers, want %d", text, name, got, whole.Len())
		}
	}
}

func FuzzCSV(f *testing.F) {
	f.Add(houses)
	f.Add("a,b\n1,2\n\n3,\"4\"\n")
	f.Fuzz(useCSV)
}
