package display

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"
)

// randomValue makes a value of a random type: nested, with nils, and with cycles through any.
func randomValue(r *rand.Rand, depth int) reflect.Value {
	v := reflect.New(randomType(r, depth)).Elem()
	fill(r, v, depth)
	return v
}

var leafTypes = []any{
	false, 0, int8(0), uint16(0), 0.0, float32(0), complex(0, 0), "", []byte(nil), temperature(0), code(0), broken{}, named{}, &named{},
	loud{}, formatted1{}, (func(int) string)(nil), (chan int)(nil), (*big.Int)(nil), errors.New(""), (*tree)(nil), selfMap(nil), selfSlice(nil),
}

func randomType(r *rand.Rand, depth int) reflect.Type {
	if depth == 0 {
		return reflect.TypeOf(leafTypes[r.IntN(len(leafTypes))])
	}
	switch r.IntN(7) {
	case 0:
		return reflect.SliceOf(randomType(r, depth-1))
	case 1:
		return reflect.ArrayOf(r.IntN(4), randomType(r, depth-1))
	case 2:
		key := randomType(r, 0)
		if !key.Comparable() {
			key = reflect.TypeFor[string]()
		}
		return reflect.MapOf(key, randomType(r, depth-1))
	case 3:
		return reflect.PointerTo(randomType(r, depth-1))
	case 4:
		return reflect.TypeFor[any]()
	case 5:
		var fields []reflect.StructField
		for i := range r.IntN(5) {
			fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: randomType(r, depth-1)})
		}
		return reflect.StructOf(fields)
	}
	return randomType(r, 0)
}

func fill(r *rand.Rand, v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int8:
		v.SetInt(int64(r.IntN(200) - 100))
	case reflect.Uint16:
		v.SetUint(uint64(r.IntN(1000)))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(r.NormFloat64())
	case reflect.String:
		v.SetString([]string{"", "a", "日本\x1b[2J", "x\ny", strings.Repeat("long ", 100), "\xff"}[r.IntN(6)])
	case reflect.Slice:
		if r.IntN(5) > 0 && depth > -4 {
			v.Set(reflect.MakeSlice(v.Type(), r.IntN(4), 8))
			for i := range v.Len() {
				fill(r, v.Index(i), depth-1)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i), depth-1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for i := 0; depth > -4 && i < r.IntN(4); i++ {
			key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(r, key, depth-1)
			fill(r, elem, depth-1)
			if key.Type().Comparable() && key.Comparable() {
				v.SetMapIndex(key, elem)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(r, v.Field(i), depth-1)
			}
		}
	case reflect.Pointer:
		if r.IntN(4) > 0 && depth > -4 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), depth-1)
		}
	case reflect.Interface:
		if v.NumMethod() == 0 && depth > -4 {
			if r.IntN(6) == 0 {
				v.Set(v.Addr()) // a cycle
			} else {
				v.Set(randomValue(r, max(depth-1, 0)))
			}
		}
	}
}

// Whatever the value is: it is shown, twice alike, in any width, as text and HTML; nothing in the text moves
// the cursor.
func FuzzFormat(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed, 4)
	}
	f.Fuzz(func(t *testing.T, seed uint64, depth int) {
		if depth < 0 || depth > 6 {
			return
		}
		v := randomValue(rand.New(rand.NewPCG(seed, 1)), depth)
		shown := new(Formatter).Format(v, nil)
		for _, width := range []int{0, 1, 20, 40, 80, 300} {
			text := shown.Text(width)
			if again := shown.Text(width); again != text {
				t.Fatalf("%v: differs from time to time\n%s\n%s", v.Type(), text, again)
			}
			if strings.ContainsAny(text, "\x1b\r\x00") || len(text) > 1<<20 {
				t.Fatalf("%v: %d bytes, %q", v.Type(), len(text), text[:min(len(text), 300)])
			}
		}
		if fragment, _ := HTML(shown); strings.Contains(fragment, "\x1b") {
			t.Fatalf("%v: HTML %q", v.Type(), fragment)
		}
	})
}

// endless has a text for its depth: a tree that is as wide as it is deep.
type endless struct{ Children []*endless }

func grow(width, depth int) *endless {
	e := &endless{}
	if depth > 0 {
		for range width {
			e.Children = append(e.Children, grow(width, depth-1))
		}
	}
	return e
}

// Large values cost little, and say how much there is.
func TestLargeValues(t *testing.T) {
	huge := make(map[int]int, maxKeys+1)
	for i := range maxKeys + 1 {
		huge[i] = i
	}
	shared := &endless{}
	for range 40 { // 2^40 paths, if each is walked
		shared = &endless{[]*endless{shared, shared}}
	}
	for _, c := range []struct {
		name  string
		value any
		most  int // bytes
		want  string
	}{
		{"a tree", grow(20, 4), 400_000, seeAll},
		{"shared branches", shared, 400_000, seeAll},
		{"a huge slice", make([]float64, 50_000_000), 2000, "50,000,000 elements"},
		{"a huge map", huge, 200, "1,048,577 more"},
		{"a huge string", strings.Repeat("x", 50_000_000), 3000, "50,000,000 bytes"},
		{"a huge number", new(big.Int).Lsh(big.NewInt(1), 100_000), 3000, "more bytes"},
		{"a huge table", make([]named, 1_000_000), 2000, "1,000,000 rows"},
		{"huge bytes", make([]byte, 50_000_000), 2000, "50,000,000 bytes"},
		{"a long error", fmt.Errorf("%s", strings.Repeat("e", 1_000_000)), 3000, "more bytes"},
	} {
		text := Format(c.value).Text(80)
		if len(text) > c.most || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d bytes, want at most %d with %q: %s", c.name, len(text), c.most, c.want, text[:min(len(text), 400)])
		}
	}
}

// Whole shows everything.
func TestWhole(t *testing.T) {
	f := &Formatter{Whole: true}
	for _, c := range []struct {
		value any
		want  string // at the end of the text
		lines int
	}{
		{numbers(3000), "2999]", 185},
		{people(300), "300 rows · []display.named", 302},
		{strings.Repeat("word ", 1000), `word "`, 1},
	} {
		text := f.Format(reflect.ValueOf(c.value), nil).Text(80)
		if !strings.HasSuffix(text, c.want) || strings.Contains(text, elision) || strings.Count(text, "\n")+1 != c.lines {
			t.Errorf("got %d lines that end in %q, want %d and %q", strings.Count(text, "\n")+1, text[len(text)-40:], c.lines, c.want)
		}
	}
}

// Values made of short parts fit the width they are given.
func TestWidths(t *testing.T) {
	for _, c := range valueCases() {
		switch c.name {
		case "long table", "table", "long slice", "hundred", "ints", "long map", "embedded", "ring", "anys", "table by numbers":
		default:
			continue
		}
		for _, width := range []int{30, 40, 60, 120} {
			for _, line := range strings.Split(Format(c.value).Text(width), "\n") {
				if runewidth.StringWidth(line) > max(width, 44) && !strings.Contains(line, "display.named{Name") || width >= 60 && runewidth.StringWidth(line) > width {
					t.Errorf("%s in %d columns: %q", c.name, width, line)
				}
			}
		}
	}
}

// A table of structs is a table in HTML, also beside a text.
func TestRenderings(t *testing.T) {
	v := Format(people(2))
	if got, ok := HTML(v); !ok || !strings.HasPrefix(got, "<table>") || !strings.Contains(got, "<td>person 1</td>") {
		t.Errorf("HTML: %s", got)
	}
	if got, ok := HTML(Tuple([]Value{Format("<b>"), v})); !ok || !strings.HasPrefix(got, "<div><pre>&#34;&lt;b&gt;&#34;</pre><table>") {
		t.Errorf("HTML of a string and a table: %s", got)
	}
}
