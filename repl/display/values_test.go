package display

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/big"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"
)

type named struct {
	Name  string
	Count int
	Ratio float64
}

type wide struct {
	A, B, C, D, E string
	N             int
}

type temperature float64

func (t temperature) String() string { return fmt.Sprintf("%.1f °C", float64(t)) }

type formatted1 struct{ a, b int }

func (f formatted1) Format(s fmt.State, verb rune) { fmt.Fprintf(s, "%d⊕%d", f.a, f.b) }

type code int

func (c code) Error() string { return fmt.Sprintf("code %d", int(c)) }

type loud struct{ text string }

func (l loud) String() string { return l.text }

type pointerSpeaker struct{ n int }

func (p *pointerSpeaker) String() string { return fmt.Sprintf("speaker %d", p.n) }

type outer struct {
	named
	Inner *named
	Any   any
}

type tree struct {
	Left, Right *tree
	Value       int
}

type selfMap map[string]selfMap

type selfSlice []selfSlice

func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func people(n int) []named {
	list := make([]named, n)
	for i := range list {
		list[i] = named{fmt.Sprintf("person %d", i), i * 100, float64(i) / 4}
	}
	return list
}

// valueCases are values with exactly what is shown of them, in 80 columns if nothing else is said.
func valueCases() []valueCase {
	ring := &tree{Value: 1}
	ring.Left, ring.Right = ring, &tree{Value: 2, Left: ring}
	mapCycle := selfMap{"a": {}}
	mapCycle["self"] = mapCycle
	sliceCycle := make(selfSlice, 1)
	sliceCycle[0] = sliceCycle
	var anyCycle any
	anyCycle = []any{1, &anyCycle}
	deep := any(1)
	for range 12 {
		deep = []any{deep}
	}
	three := 3
	pp := &three
	_, openErr := io.ReadAll(noConfig{})
	when := time.Date(2026, 11, 21, 7, 30, 0, 500, time.UTC)
	bigMap := map[int]int{}
	for i := range 500 {
		bigMap[i] = i * i
	}
	return []valueCase{
		{"nil", nil, 0, `nil`},
		{"int", 42, 0, `42`},
		{"negative", -7, 0, `-7`},
		{"bool", true, 0, `true`},
		{"int8", int8(-128), 0, `-128 int8`},
		{"uint64", uint64(math.MaxUint64), 0, `18446744073709551615 uint64`},
		{"uintptr", uintptr(16), 0, `16 uintptr`},
		{"rune", 'ü', 0, `252 int32`},
		{"float", 2.5, 0, `2.5 float64`},
		{"whole float", 3.0, 0, `3 float64`},
		{"float32", float32(0.1), 0, `0.1 float32`},
		{"tiny", 1e-300, 0, `1e-300 float64`},
		{"large", 1e300, 0, `1e+300 float64`},
		{"NaN", math.NaN(), 0, `NaN float64`},
		{"Inf", math.Inf(-1), 0, `-Inf float64`},
		{"minus zero", math.Copysign(0, -1), 0, `-0 float64`},
		{"complex", complex(1, -2), 0, `(1-2i) complex128`},
		{"complex NaN", complex(math.NaN(), 0), 0, `(NaN+0i) complex128`},
		{"string", "hello", 0, `"hello"`},
		{"empty string", "", 0, `""`},
		{"control characters", "a\x00b\x1b[31mred\r", 0, `"a\x00b\x1b[31mred\r"`},
		{"invalid UTF-8", "a\xffb", 0, `"a\xffb"`},
		{"wide characters", "日本語 e\u0301 😀", 0, `"日本語 é 😀"`},
		{"lines", "one\ntwo\n", 0, "`one\ntwo\n`"},
		{"lines with a back quote", "one`\ntwo", 0, "\"one`\\ntwo\""},
		{"one line with its end", "one\n", 0, `"one\n"`},
		{"bytes of text", []byte("hello"), 0, `[]byte("hello")`},
		{"bytes", []byte{0, 1, 254, 255}, 0, `[]byte(hex 00 01 fe ff)`},
		{"no bytes", []byte{}, 0, `[] []byte`},
		{"nil bytes", []byte(nil), 0, `nil []byte`},
		{"many bytes", []byte(strings.Repeat("\x00\xff", 20)), 0, `[]byte, 40 bytes
00000000  00 ff 00 ff 00 ff 00 ff 00 ff 00 ff 00 ff 00 ff  ................
00000010  00 ff 00 ff 00 ff 00 ff 00 ff 00 ff 00 ff 00 ff  ................
00000020  00 ff 00 ff 00 ff 00 ff                          ........`},
		{"very many bytes", make([]byte, 1000), 0, `[]byte, 1,000 bytes
00000000  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  ................
00000010  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  ................
00000020  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  ................
00000030  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  ................
00000040  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  ................
00000050  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  ................
00000060  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  ................
00000070  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  ................
… 848 more bytes …
000003d0  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  ................
000003e0  00 00 00 00 00 00 00 00                          ........
%show shows all`},
		{"byte array", [4]byte{1, 2, 3, 4}, 0, `[1 2 3 4] [4]uint8`},
		{"bytes in a struct", struct{ Data []byte }{make([]byte, 100)}, 0, `struct{
  Data: []byte(hex 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 … 84 more),
} 100 bytes, %show shows all`},
		{"ints", []int{1, 2, 3}, 0, `[1 2 3]`},
		{"empty", []int{}, 0, `[] []int`},
		{"nil slice", []int(nil), 0, `nil []int`},
		{"strings", []string{"a", "b c", ""}, 0, `["a" "b c" ""]`},
		{"floats", []float64{1, 2.5, math.NaN()}, 0, `[1 2.5 NaN] []float64`},
		{"array", [3]int{1, 2, 3}, 0, `[1 2 3] [3]int`},
		{"empty array", [0]int{}, 0, `[] [0]int`},
		{"nested", [][]int{{1, 2}, {3}, nil, {}}, 0, `[[1 2] [3] nil []] [][]int`},
		{"bools", [2]bool{true, false}, 0, `[true false] [2]bool`},
		{"runes", []rune("né"), 0, `[110 233] []int32`},
		{"hundred", numbers(100), 0, `[0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28
 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54
 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80
 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99]`},
		{"long slice", numbers(10000), 0, `[0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 … 9,960 more … 9980 9981
 9982 9983 9984 9985 9986 9987 9988 9989 9990 9991 9992 9993 9994 9995 9996
 9997 9998 9999] 10,000 elements, %show shows all`},
		{"long slice, narrow", numbers(1000), 40, `[0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
 16 17 18 19 … 960 more … 980 981 982
 983 984 985 986 987 988 989 990 991
 992 993 994 995 996 997 998 999]
1,000 elements, %show shows all`},
		{"anys", []any{1, "a", nil, 2.5, []int{1}, map[string]int{"a": 1}, named{"x", 1, 2}}, 0, `[
  1
  "a"
  nil
  2.5
  [1]
  map[string]int{"a": 1}
  display.named{Name: "x", Count: 1, Ratio: 2}
] []any`},
		{"map", map[string]int{"b": 1, "a": 2}, 0, `map[string]int{"a": 2, "b": 1}`},
		{"int keys", map[int]string{10: "ten", 9: "nine", -1: ""}, 0, `map[int]string{-1: "", 9: "nine", 10: "ten"}`},
		{"float keys", map[float64]bool{math.NaN(): true, 1.5: false, math.Inf(-1): true}, 0, `map[float64]bool{NaN: true, -Inf: true, 1.5: false}`},
		{"bool keys", map[bool]int{true: 1, false: 0}, 0, `map[bool]int{false: 0, true: 1}`},
		{"array keys", map[[2]int]string{{2, 1}: "b", {1, 2}: "a"}, 0, `map[[2]int]string{[1 2]: "a", [2 1]: "b"}`},
		{"mixed keys", map[any]int{"b": 1, 2: 2, "a": 3, 1: 4, true: 5, nil: 6}, 0, `map[any]int{nil: 6, true: 5, 1: 4, 2: 2, "a": 3, "b": 1}`},
		{"empty map", map[string]int{}, 0, `map[string]int{}`},
		{"nil map", map[string]int(nil), 0, `nil map[string]int`},
		{"map of slices", map[string][]int{"a": {1}, "b": nil}, 0, `map[string][]int{"a": [1], "b": nil}`},
		{"long map", bigMap, 0, `map[int]int{
  0: 0, 1: 1, 2: 4, 3: 9, 4: 16, 5: 25, 6: 36, 7: 49, 8: 64, 9: 81, 10: 100,
  11: 121, 12: 144, 13: 169, 14: 196, 15: 225, 16: 256, 17: 289, 18: 324,
  19: 361, 20: 400, 21: 441, 22: 484, 23: 529, 24: 576, 25: 625, 26: 676,
  27: 729, 28: 784, 29: 841, 30: 900, 31: 961, 32: 1024, 33: 1089, 34: 1156,
  35: 1225, 36: 1296, 37: 1369, 38: 1444, 39: 1521, … 460 more
} 500 entries, %show shows all`},
		{"set", map[string]struct{}{"x": {}}, 0, `map[string]struct {}{"x": {}}`},
		{"struct", named{"ann", 3, 0.5}, 0, `display.named{Name: "ann", Count: 3, Ratio: 0.5}`},
		{"empty struct", struct{}{}, 0, `struct{}`},
		{"unnamed struct", struct{ A, b int }{1, 2}, 0, `struct{A: 1, b: 2}`},
		{"embedded", outer{named{"a", 1, 2}, &named{"b", 3, 4}, 5}, 0, `display.outer{
  named: display.named{Name: "a", Count: 1, Ratio: 2},
  Inner: &display.named{Name: "b", Count: 3, Ratio: 4},
  Any: 5,
}`},
		{"embedded, narrow", outer{named{"a", 1, 2}, &named{"b", 3, 4}, []int{1, 2, 3}}, 40, `display.outer{
  named: display.named{
    Name: "a",
    Count: 1,
    Ratio: 2,
  },
  Inner: &display.named{
    Name: "b",
    Count: 3,
    Ratio: 4,
  },
  Any: [1 2 3],
}`},
		{"nil inside", outer{}, 0, `display.outer{
  named: display.named{Name: "", Count: 0, Ratio: 0},
  Inner: nil,
  Any: nil,
}`},
		{"pointer", &named{"ann", 3, 0.5}, 0, `&display.named{Name: "ann", Count: 3, Ratio: 0.5}`},
		{"nil pointer", (*named)(nil), 0, `nil *display.named`},
		{"pointer to int", &three, 0, `&3 *int`},
		{"pointer to pointer", &pp, 0, `&&3 **int`},
		{"pointer to slice", &[]int{1, 2}, 0, `&[1 2] *[]int`},
		{"pointer to map", &map[string]int{"a": 1}, 0, `&map[string]int{"a": 1}`},
		{"pointers in a slice", []*int{&three, nil}, 0, `[&3 nil] []*int`},
		{"ring", ring, 0, `&display.tree{
  Left: (cycle),
  Right: &display.tree{Left: (cycle), Right: nil, Value: 2},
  Value: 1,
}`},
		{"map cycle", mapCycle, 0, `display.selfMap{"a": {}, "self": (cycle)}`},
		{"slice cycle", sliceCycle, 0, `[(cycle)] display.selfSlice`},
		{"cycle through any", anyCycle, 0, `[1 &(cycle)] []any`},
		{"deep", deep, 0, `[[[[[[[…]]]]]]] []any %show shows all`},
		{"error", errors.New("bad luck"), 0, `bad luck`},
		{"wrapped error", fmt.Errorf("load: %w", io.EOF), 0, `load: EOF`},
		{"error chain", openErr, 0, `read config: open x.toml: file does not exist *fs.PathError`},
		{"joined errors", errors.Join(errors.New("one"), errors.New("two")), 0, `one
two`},
		{"error type", code(7), 0, `code 7 display.code`},
		{"errors", []error{io.EOF, nil, code(3)}, 0, `[EOF nil code 3] []error`},
		{"nil error", error(nil), 0, `nil`},
		{"time", when, 0, `2026-11-21 07:30:00.0000005 +0000 UTC time.Time`},
		{"zero time", time.Time{}, 0, `0001-01-01 00:00:00 +0000 UTC time.Time`},
		{"duration", 1500 * time.Millisecond, 0, `1.5s time.Duration`},
		{"durations", []time.Duration{time.Second, 0}, 0, `[1s 0s] []time.Duration`},
		{"month", time.March, 0, `March time.Month`},
		{"times in a struct", struct {
			At  time.Time
			For time.Duration
		}{when, time.Minute}, 0, `struct{At: 2026-11-21 07:30:00.0000005 +0000 UTC, For: 1m0s}`},
		{"location", time.UTC, 0, `UTC *time.Location`},
		{"func", strings.ToUpper, 0, `func(string) string strings.ToUpper`},
		{"nil func", (func(int) error)(nil), 0, `nil func(int) error`},
		{"variadic func", fmt.Println, 0, `func(...any) (int, error) fmt.Println`},
		{"funcs", []func(){nil, func() {}}, 0, `[nil func()] []func()`},
		{"channel", make(chan int, 3), 0, `chan int (0 of 3)`},
		{"receiving channel", (<-chan int)(make(chan int)), 0, `<-chan int (0 of 0)`},
		{"nil channel", (chan int)(nil), 0, `nil chan int`},
		{"big int", new(big.Int).Exp(big.NewInt(7), big.NewInt(80), nil), 0, `40536215597144386832065866109016673800875222251012083746192454448001 *big.Int`},
		{"big rat", big.NewRat(22, 7), 0, `22/7 *big.Rat`},
		{"big float", big.NewFloat(1.5), 0, `1.5 *big.Float`},
		{"Stringer", temperature(36.6), 0, `36.6 °C display.temperature`},
		{"Stringers", []temperature{1, 2}, 0, `[1.0 °C 2.0 °C] []display.temperature`},
		{"Stringer keys", map[temperature]int{2: 1, 1: 2}, 0, `map[display.temperature]int{1.0 °C: 2, 2.0 °C: 1}`},
		{"Stringer of the pointer", &pointerSpeaker{3}, 0, `speaker 3 *display.pointerSpeaker`},
		{"its value", pointerSpeaker{3}, 0, `display.pointerSpeaker{n: 3}`},
		{"Formatter", formatted1{1, 2}, 0, `1⊕2 display.formatted1`},
		{"loud", loud{"a\x1b[2Jb\nc"}, 0, `a\x1b[2Jb
c display.loud`},
		{"loud inside", []loud{{"a\x1b[2Jb\nc"}}, 0, `[a\x1b[2Jb⏎c] []display.loud`},
		{"panicking", broken{}, 0, `<String panics: not today> display.broken`},
		{"panicking inside", struct{ B broken }{}, 0, `struct{B: <String panics: not today>}`},
		{"type", reflect.TypeOf(3), 0, `int *reflect.rtype`},
		{"reflect.Value", reflect.ValueOf(3), 0, `3 reflect.Value`},
		{"unsafe pointer", unsafe.Pointer(nil), 0, `nil unsafe.Pointer`},
		{"IP", netip.MustParseAddr("10.0.0.1"), 0, `10.0.0.1 netip.Addr`},
		{"URL", &url.URL{Scheme: "https", Host: "go.dev", Path: "/x"}, 0, `https://go.dev/x *url.URL`},
		{"table", people(3), 0, `   Name      Count  Ratio
0  person 0      0      0
1  person 1    100   0.25
2  person 2    200    0.5
3 rows · []display.named`},
		{"table of pointers", []*named{{"ann", 3, 0.5}, nil}, 0, `   Name  Count  Ratio
0  ann       3    0.5
1  nil
2 rows · []*display.named`},
		{"table of a map", map[string]named{"b": {"bob", 1, 2}, "a": {"ann", 3, 0.5}}, 0, `   Name  Count  Ratio
a  ann       3    0.5
b  bob       1      2
2 rows · map[string]display.named`},
		{"table of an array", [2]named{{"ann", 3, 0.5}, {"日本", 1000, 2}}, 0, `   Name  Count  Ratio
0  ann       3    0.5
1  日本   1000      2
2 rows · [2]display.named`},
		{"table by numbers", map[int]*named{10: {"x", 1, 2}, 9: {"y", 3, 4}}, 0, `    Name  Count  Ratio
 9  y         3      4
10  x         1      2
2 rows · map[int]*display.named`},
		{"long table", people(1000), 0, `     Name        Count   Ratio
  0  person 0        0       0
  1  person 1      100    0.25
  2  person 2      200     0.5
  3  person 3      300    0.75
  4  person 4      400       1
  5  person 5      500    1.25
  6  person 6      600     1.5
  7  person 7      700    1.75
  8  person 8      800       2
  9  person 9      900    2.25
 10  person 10    1000     2.5
 11  person 11    1100    2.75
 12  person 12    1200       3
 13  person 13    1300    3.25
 14  person 14    1400     3.5
 15  person 15    1500    3.75
 16  person 16    1600       4
 17  person 17    1700    4.25
 18  person 18    1800     4.5
 19  person 19    1900    4.75
  …  …               …       …
995  person 995  99500  248.75
996  person 996  99600     249
997  person 997  99700  249.25
998  person 998  99800   249.5
999  person 999  99900  249.75
1,000 rows · []display.named · %show shows all`},
		{"wide table", []wide{{"aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc", "dddddddddddd", "eeeeeeeeeeee", 1}, {"a", "", " c", "x\ny", "nil", -22}}, 0, `   A             B             C             D             E               N
0  aaaaaaaaaaaa  bbbbbbbbbbbb  cccccccccccc  dddddddddddd  eeeeeeeeeeee    1
1  a             ""            " c"          "x\ny"        "nil"         -22
2 rows · []display.wide`},
		{"wide table, narrow", []wide{{"aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc", "dddddddddddd", "eeeeeeeeeeee", 1}, {"a", "", "c", "d", "e", -22}}, 40, `   A             B
0  aaaaaaaaaaaa  bbbbbbbbbbbb
1  a             ""
2 rows · []display.wide
4 more columns: C, D, E, N
%show shows all`},
		{"table with values inside", []outer{{named{"a", 1, 2}, &named{"b", 3, 4}, 5}, {}}, 0, `   named                            Inner                             Any
0  {Name: "a", Count: 1, Ratio: 2}  &{Name: "b", Count: 3, Ratio: 4}  5
1  {Name: "", Count: 0, Ratio: 0}   nil                               nil
2 rows · []display.outer`},
		{"one row", people(1), 0, `[{Name: "person 0", Count: 0, Ratio: 0}] []display.named`},
		{"unnamed rows", []struct {
			K string
			V float64
		}{{"a", 1.5}, {"b", math.NaN()}}, 0, `   K    V
0  a  1.5
1  b  NaN
2 rows · []struct { K string; V float64 }`},
		{"rows of Stringers", []spoken{{1}, {2}}, 0, `[<1> <2>] []display.spoken`},
		{"table inside", struct{ P []named }{people(2)}, 0, `struct{
  P: [
    {Name: "person 0", Count: 0, Ratio: 0}
    {Name: "person 1", Count: 100, Ratio: 0.25}
  ],
}`},
	}
}

type valueCase struct {
	name  string
	value any
	width int
	want  string
}

type noConfig struct{}

func (noConfig) Read([]byte) (int, error) {
	return 0, fmt.Errorf("read config: %w", &fs.PathError{Op: "open", Path: "x.toml", Err: fs.ErrNotExist})
}

func TestValues(t *testing.T) {
	for _, c := range valueCases() {
		width := c.width
		if width == 0 {
			width = 80
		}
		v := Format(c.value)
		if got := v.Text(width); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}
