package data

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/data/internal/columns"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// peers are two tables, and what pandas makes of them (tests/peers/table_cases.py).
type peers struct {
	Left, Right string
	Cases       map[string]struct {
		Names []string
		Rows  [][]any
	}
}

func readPeers(t *testing.T) (p peers, left, right *Table) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "tables.json"))
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p, table(t, CSV{}, p.Left), table(t, CSV{}, p.Right)
}

// Verbs do what those of pandas do.
func TestVerbsArePandas(t *testing.T) {
	p, left, right := readPeers(t)
	for name, f := range map[string]func() *Table{
		"group": func() *Table {
			return left.Group("class", "sex").Agg(Count(), Mean("fare"), Std("fare"), Sum("age"), Median("age"), Min("age"), Max("day"), First("age"), Last("age"), Distinct("day"), Sum("seat"), Quantile("fare", 0.9),
				Reduce("fare", "range", func(v []float64) float64 { return slices.Max(v) - slices.Min(v) }))
		},
		"all":          func() *Table { return left.Agg(Mean("fare"), Std("age"), Sum("seat")) },
		"sort":         func() *Table { return left.Sort("class", "-age") },
		"sort by text": func() *Table { return left.Sort("sex", "fare") },
		"unique":       func() *Table { return left.Unique("class", "day") },
		"filter":       func() *Table { return left.Filter(func(r Row) bool { return r.Float("age") > 30 }) },
		"where": func() *Table {
			return left.Where(left.Column("fare").Gt(20).And(left.Column("class").Eq(3)))
		},
		"drop missing": func() *Table { return left.DropMissing("age", "sex") },
		"fill":         func() *Table { return left.Fill("age", 0.5) },
		"append":       func() *Table { return left.Select("seat", "fare").Append(right) },
		"describe": func() *Table {
			return left.Select("age", "fare", "seat").Describe().Drop("type", "missing", "distinct").Rename("column", "index").Rename("median", "50%")
		},
		"join":         func() *Table { return left.Join(right, "seat") },
		"left join":    func() *Table { return left.LeftJoin(right, "seat") },
		"outer join":   func() *Table { return left.OuterJoin(right, "seat") },
		"pivot":        func() *Table { return left.DropMissing("sex").Pivot("class", "sex", Mean("fare")) },
		"pivot counts": func() *Table { return left.Pivot("day", "class", Count()) },
	} {
		got, want := f(), p.Cases[name]
		if !slices.Equal(got.Names(), want.Names) || got.Len() != len(want.Rows) {
			t.Errorf("%s: got %d rows of %q, want %d of %q", name, got.Len(), got.Names(), len(want.Rows), want.Names)
			continue
		}
		for i, row := range want.Rows {
			for k, w := range row {
				if g := got.Row(i).Value(want.Names[k]); !sameValue(g, w) {
					t.Errorf("%s: row %d, %s: got %v, want %v", name, i, want.Names[k], g, w)
				}
			}
		}
		delete(p.Cases, name)
	}
	for name := range p.Cases {
		t.Errorf("%s is not tested", name)
	}
}

func sameValue(got, want any) bool {
	if at, ok := got.(time.Time); ok {
		got = at.Format(time.DateOnly)
	}
	if x, ok := want.(float64); ok {
		y := math.NaN()
		switch v := got.(type) {
		case int64:
			y = float64(v)
		case float64:
			y = v
		}
		return math.Abs(x-y) <= 1e-12*math.Abs(x)
	}
	return got == want
}

// What a table is written as is read as the same table.
func TestWrittenAndRead(t *testing.T) {
	const n = 300
	at := time.Date(2020, 2, 29, 0, 0, 0, 0, time.UTC)
	all := NewTable().
		Set("whole", func(r Row) any { return nil }).Drop("whole").
		Set("number", make([]int, n)).Set("number", func(r Row) int { return r.Number() * (1 - r.Number()) }).
		Set("float", func(r Row) float64 { return math.Sqrt(float64(r.Number())) - 3 }).
		Set("single", func(r Row) float64 { return float64(float32(r.Number()) / 3) }).
		Set("gaps", func(r Row) any { return []any{nil, 1.5, -1e300}[r.Number()%3] }).
		Set("yes", func(r Row) bool { return r.Number()%3 == 1 }).
		Set("maybe", func(r Row) any { return []any{true, nil, nil, false}[r.Number()%4] }).
		Set("text", func(r Row) any {
			return []any{"a", `"q", x`, "two\nlines", nil, " blanks ", "größer 日本", "x\ry"}[r.Number()%7]
		}).
		Set("day", func(r Row) time.Time { return at.AddDate(0, 0, r.Number()) }).
		Set("time", func(r Row) any { return []any{at.Add(time.Duration(r.Number()) * 1234567891), nil}[r.Number()%2] })
	dir := t.TempDir()
	for _, ending := range []string{".csv", ".tsv", ".csv.gz", ".jsonl", ".ndjson.gz", ".json", ".parquet", ".arrow", ".feather"} {
		path := filepath.Join(dir, "x"+ending)
		for _, x := range []*Table{all, all.Head(0), all.Head(1), all.Select("text"), all.Select("maybe").Head(2)} {
			if err := x.Write(path); err != nil {
				t.Errorf("%s: %v", ending, err)
				continue
			}
			got, err := ReadTable(path)
			if err == nil {
				err = sameTable(got, x, strings.HasPrefix(ending, ".json") || strings.HasPrefix(ending, ".ndjson"))
			}
			if err != nil {
				t.Errorf("%s, %d rows: %v", ending, x.Len(), err)
			}
		}
	}
	for _, name := range []string{"x.txt", "x.parquet.gz", "x"} {
		if err := all.Write(filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), "ends in none of .csv, ") {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := ReadTable(filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), "ends in none of .csv, ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// sameTable compares names and values. Files of objects have no columns without values.
func sameTable(got, want *Table, objects bool) error {
	for i := range want.columns {
		c := &want.columns[i]
		if objects && c.lacking() == want.rows {
			continue
		}
		k := got.at(c.name)
		if k < 0 {
			return fmt.Errorf("got columns %q, want %q", got.Names(), want.Names())
		}
		for row := range want.rows {
			if g, w := got.columns[k].value(row), c.value(row); g != w && fmt.Sprint(g) != fmt.Sprint(w) {
				return fmt.Errorf("%s, row %d: got %v, want %v", c.name, row, g, w)
			}
		}
		if kind := got.columns[k].typed(); c.lacking() < want.rows && kind != c.typed() {
			return fmt.Errorf("%s: got %s, want %s", c.name, kind, c.typed())
		}
	}
	if got.Len() != want.Len() {
		return fmt.Errorf("got %d rows, want %d", got.Len(), want.Len())
	}
	return nil
}

// Objects have the order and the names of their keys, those of null, too, and what Parquet nests is one line
// of JSON. A time beyond the years that are read is written, too.
func TestObjects(t *testing.T) {
	dir := folder(t, map[string]string{"a.jsonl": `{"a":1}` + "\n" + `{"b":null,"a":1}` + "\n" + `{"c":1,"b":2}`})
	x, err := ReadTable(filepath.Join(dir, "a.jsonl"))
	if err != nil || !slices.Equal(x.Names(), []string{"a", "b", "c"}) || x.Len() != 3 {
		t.Errorf("got %v, error %v, want the columns a, b and c", x, err)
	}
	var b bytes.Buffer
	nested := columns.Object{{Name: "a", Value: []any{"x<y", columns.Time(0)}}}
	if err := writeValue(&b, nested); err != nil || b.String() != `{"a":["x<y","1970-01-01T00:00:00Z"]}` {
		t.Errorf("got %q, error %v", b.String(), err)
	}
	b.Reset()
	late := &Table{rows: 1, columns: []column{{name: "t", values: vector[int64]{[]int64{math.MaxInt64}, times}}}}
	if err := late.jsonTo(&b); err != nil || b.String() != `{"t":"2262-04-11T23:47:16.854775807Z"}`+"\n" {
		t.Errorf("got %q, error %v", b.String(), err)
	}
}

// Aggregates of infinite numbers are those of pandas' median, of integers without a sign i64, and of a table
// without rows one row. A caller's function runs where the caller is.
func TestAggregates(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		v    []float64
		q    float64
		want float64
	}{
		{[]float64{1, 2, inf}, 0.5, 2}, {[]float64{-inf, 1, 2}, 0.5, 1}, {[]float64{-inf, 1, 2}, 0, -inf}, {[]float64{inf, inf}, 0.5, inf}, {[]float64{1, inf}, 0.5, inf}, {[]float64{-inf, 1}, 0.5, -inf}, {[]float64{-1.5e308, 1.5e308}, 0.5, 0}, {[]float64{1, 2}, 0.25, 1.25}, {[]float64{3}, 1, 3},
	} {
		if got := NewTable().Set("x", c.v).Agg(Quantile("x", c.q)).Floats("x_quantile")[0]; got != c.want {
			t.Errorf("quantile %v of %v: got %v, want %v", c.q, c.v, got, c.want)
		}
	}
	for _, dt := range []dtype.Type{dtype.U8, dtype.U16, dtype.U32, dtype.U64, dtype.I8} {
		x := NewTable().Set("x", tensor.From([]int{100, 27}).Cast(dt))
		if got := x.Agg(Sum("x")).Row(0).Value("x_sum"); got != int64(127) || x.column("x").dtype != dt || (x.column("x").values.kind() == "u64") == dt.Signed() {
			t.Errorf("%v: got %T %v, want the int64 127, and values of %v", dt, got, got, dt)
		}
	}
	if got := NewTable().Set("x", []uint64{1 << 63, 1 << 63}).Agg(Sum("x")).Floats("x_sum")[0]; got != 1<<64 {
		t.Errorf("got %v, want 2^64", got)
	}
	none := NewTable().Set("x", []int{}).Agg(Count(), Sum("x"), Mean("x"), Max("x"), Distinct("x"))
	if got, want := fmt.Sprint(none.Row(0)), "count: 0, x_sum: 0, x_mean: –, x_max: –, x_distinct: 0"; none.Len() != 1 || got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	x := NewTable().Set("x", []int{1, 2})
	own := &tensor.Error{Op: "own"}
	if got := tensor.Try(func() { x.Agg(Mean("x"), Reduce("x", "own", func([]float64) float64 { panic(own) })) }); got != own {
		t.Errorf("got the panic %v, want %v", got, own)
	}
	defer func() {
		if f, ok := recover().(*pool.Fault); !ok || f.Value != "a worker" {
			t.Errorf("got the panic %v, want a worker's", f)
		}
	}()
	spread(3, func(int) { panic("a worker") })
}

// Columns are set from what people have, and read as what they need.
func TestSetAndRead(t *testing.T) {
	type house struct {
		Rooms  int8
		Street string
		Price  float32
		hidden int
		Built  time.Time
	}
	built := time.Date(1990, 1, 2, 3, 4, 5, 0, time.UTC)
	h := TableOf([]house{{3, "Elm", 1.5, 0, built}, {4, "Oak", float32(math.NaN()), 0, time.Time{}}})
	if want := []string{"Rooms", "Street", "Price", "Built"}; !slices.Equal(h.Names(), want) || !h.Row(1).Missing("Price") || !h.Times("Built")[0].Equal(built) || !h.Row(1).Missing("Built") {
		t.Errorf("got %v", h)
	}
	if got := TableOf([]house{{Rooms: 3, Street: "Elm"}}, "Street", "Rooms", "Price", "Built"); got.Row(0).Int("Street") != 3 || got.Row(0).Text("Rooms") != "Elm" {
		t.Errorf("fields with each other's names: got %v", got)
	}
	if got := TableOf([]house{{}, {}}).Set("any", func(r Row) any { return []any{true, built}[r.Number()] }).Texts("any"); !slices.Equal(got, []string{"true", "1990-01-02 03:04:05"}) {
		t.Errorf("a bool and a time: got %q, want texts", got)
	}
	calls := 0
	if err := tensor.Try(func() { h.Set("c", func(Row) any { calls++; return house{} }) }); err == nil || calls != 1 {
		t.Errorf("got %d calls and error %v, want one of each", calls, err)
	}
	x := tensor.From([]float32{1, 2, 3, 4}, 2, 2)
	m := TableOf(x, "a", "b").Set("half", tensor.From([]int{5, 6}).Cast(dtype.F16)).Set("flag", tensor.From([]bool{true, false})).Set("same", "x").Set("big", tensor.From([]uint64{1 << 63, 1}))
	if got := m.Tensor("b", "half").Floats(); !slices.Equal(got, []float32{2, 5, 4, 6}) || m.Texts("same")[1] != "x" || m.Row(0).Text("big") != "9223372036854775808" || !m.Row(0).Bool("flag") {
		t.Errorf("got %v of %v", got, m)
	}
	if got := NewTable().Set("x", []float64{0.1, math.NaN()}).Floats("x"); got[0] != 0.1 || !math.IsNaN(got[1]) {
		t.Errorf("got %v, want 0.1 NaN", got)
	}
	if got := m.TensorAs(dtype.F64, "a").DType(); got != dtype.F64 {
		t.Errorf("got %v, want f64", got)
	}
	for want, f := range map[string]func(){
		"data.Table: column \"c\": got 3 values, want one for each of 2 rows":                                                                                                func() { m.Set("c", []int{1, 2, 3}) },
		"data.Table: column \"c\": got a value of type data.house, want a bool, a number, a text, a time.Time or nil; or a slice of them, a tensor, or a func(data.Row) any": func() { m.Set("c", house{}) },
		"data.Table: row 0: column \"c\": got a value of type data.house, want a bool, a number, a text, a time.Time or nil":                                                 func() { m.Set("c", func(Row) any { return house{} }) },
		"data.Table: got the name \"b\", which another column has":                                                                                                           func() { m.Rename("a", "b") },
		"data.Table: got no column to drop: t.DropMissing() drops the rows that lack a value":                                                                                func() { m.Drop() },
		"data.Table: column \"same\" is text, want numbers for same_mean":                                                                                                    func() { m.Agg(Mean("same")) },
		"data.Table: two columns have the name \"a_mean\": data.Mean(…).As(name) gives another one":                                                                          func() { m.Agg(Mean("a"), Mean("a")) },
		"data.Table: row 1: column \"Price\" has no value, as 1 of 2 rows: t.DropMissing(\"Price\") leaves them out, t.Fill(\"Price\", 0) fills them":                        func() { h.Column("Price") },
		"data.Table: row 1: column \"Price\": got –, want an integer":                                                                                                        func() { h.Row(1).Int("Price") },
		"data.Table: got row 2 of 2":                                                        func() { h.Row(2) },
		"data.Table: column \"a\" is f32 and text, want one type to join on":                func() { m.Join(m.Rename("a", "c").Rename("same", "a"), "a") },
		"data.Table: column \"Built\" has times, want numbers: t.Times(\"Built\") are they": func() { h.Column("Built") },
		"data.Table: got the name \"a\" twice":                                              func() { TableOf(x, "a", "a") },
		"data.Quantile: got a share of NaN, want 0 to 1":                                    func() { Quantile("a", math.NaN()) },
		"data.Table: got column \"a\" twice":                                                func() { m.Select("a", "a") },
	} {
		if err := tensor.Try(f); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	if at := m.Head(5).Append(m.Tail(1)).Append(TableOf([]house{{Rooms: 1}})); at.Len() != 4 || !at.Row(3).Missing("a") || !at.Row(0).Missing("Rooms") || at.Row(2).Float("a") != 3 {
		t.Errorf("got %v", at)
	}
}

// Rows are in the order of a stable sort by values, for each type, up and down.
func TestSortIsStable(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	gap := func(x any) any {
		if random.IntN(5) == 0 {
			return nil
		}
		return x
	}
	numbers := []float64{math.Inf(-1), -1e300, -2, -1.5, -5e-324, math.Copysign(0, -1), 0, 5e-324, 1, 2, math.MaxFloat64, math.Inf(1)}
	words := []string{"", "a", "abcdefgh", "abcdefghi", "abcdefgi", "abcdefg", "ü", "z\x00"}
	x := NewTable().Set("row", make([]int, 500)).Set("row", func(r Row) int { return r.Number() }).
		Set("float", func(Row) any { return gap(numbers[random.IntN(len(numbers))]) }).
		Set("int", func(Row) any { return gap([]int{math.MinInt64, -1, 0, 1, math.MaxInt64}[random.IntN(5)]) }).
		Set("word", make([]uint64, 500)).
		Set("text", func(Row) any { return gap(words[random.IntN(len(words))]) }).
		Set("bool", func(Row) any { return gap(random.IntN(2) == 0) }).
		Set("time", func(Row) any { return gap(time.Unix(random.Int64N(5)-2, 0)) })
	for _, name := range x.Names()[1:] {
		for _, sign := range []int{1, -1} {
			c, want := x.column(name), x.all()
			slices.SortStableFunc(want, func(i, j int) int {
				if c.lacks(i) || c.lacks(j) {
					return compareBools(c.lacks(i), c.lacks(j))
				}
				return sign * c.values.compare(i, j)
			})
			sorted := x.Sort(map[int]string{1: name, -1: "-" + name}[sign])
			for i, row := range want {
				if got := sorted.Row(i).Int("row"); got != row {
					t.Fatalf("%s, sign %d: row %d is %d, want %d", name, sign, i, got, row)
				}
			}
		}
	}
}

// A page has what the screen has, escaped.
func TestTableHTML(t *testing.T) {
	got := table(t, CSV{}, "a<b,c\n1,<i>\n,x\n").HTML()
	want := `<table>
<thead><tr><th style="text-align:right"></th><th style="text-align:right">a&lt;b</th><th style="text-align:right">c</th></tr>
<tr><th style="text-align:right"></th><th style="text-align:right">i64</th><th style="text-align:right">text</th></tr>
</thead>
<tbody><tr><td style="text-align:right">0</td><td style="text-align:right">1</td><td style="text-align:right">&lt;i&gt;</td></tr>
<tr><td style="text-align:right">1</td><td style="text-align:right">–</td><td style="text-align:right">x</td></tr>
</tbody>
</table>
<p>2 rows of 2 columns · houses.csv<br>a&lt;b: 1 value missing, first in line 3</p>`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
