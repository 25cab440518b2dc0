package data

import (
	stdcsv "encoding/csv"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/internal/regular"
)

// Numbers are those of strconv, bit for bit, but for Go's own syntax.
func TestNumbersAsStrconv(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	digits := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('0' + random.IntN(10))
		}
		return string(b)
	}
	texts := []string{"", "-", "+", ".", "-.", "1.", ".5", "-0", "0", "1e", "1e+", "1e5", "1E-5", "e5", "1_0", "0x1p-2", "inf", "-Infinity", "nan", "1.7976931348623157e308", "1.8e308", "4.9e-324", "2e-324",
		"9223372036854775807", "9223372036854775808", "-9223372036854775808", "9007199254740993", "1..2", "1.2.3", "--1", "+1.5", "1e400", "1e-400", "00000000000000000000001.5", "9007199254740993e1", "1e22", "1e23", "8.5e-64", "5e-64"}
	for range 300_000 {
		switch random.IntN(6) {
		case 0:
			texts = append(texts, strconv.FormatFloat(math.Float64frombits(random.Uint64()), 'g', -1, 64))
		case 1:
			texts = append(texts, strconv.FormatFloat(random.NormFloat64(), 'g', 1+random.IntN(20), 64))
		case 2:
			texts = append(texts, fmt.Sprintf("%s%s.%se%d", []string{"", "-", "+"}[random.IntN(3)], digits(random.IntN(14)), digits(random.IntN(14)), random.IntN(160)-80))
		case 3:
			texts = append(texts, digits(random.IntN(22)))
		case 4: // half way between two floats, as near as 19 digits are
			x := random.Float64()
			texts = append(texts, strconv.FormatFloat((x+math.Nextafter(x, 2))/2, 'f', 19, 64))
		case 5:
			texts = append(texts, strconv.FormatFloat(float64(1<<53+random.Uint64N(1<<10))*float64(uint64(1)<<random.IntN(60)), 'f', -1, 64))
		}
	}
	for _, text := range texts {
		want, err := strconv.ParseFloat(text, 64)
		if strings.ContainsAny(text, "_x") {
			err = strconv.ErrSyntax
		}
		if got, ok := parseFloat([]byte(text)); ok != (err == nil) || ok && math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("%q: got %v, %v, want %v, %v", text, got, ok, want, err)
		}
		whole, err := strconv.ParseInt(text, 10, 64)
		if got, ok := parseInt([]byte(text)); ok != (err == nil && !(whole == 0 && text[0] == '-')) || ok && got != whole {
			t.Fatalf("%q: got %v, %v, want %v, %v", text, got, ok, whole, err)
		}
		word, err := strconv.ParseUint(strings.TrimPrefix(text, "+"), 10, 64)
		if got, ok := parseWord([]byte(text)); ok != (err == nil) || ok && got != word {
			t.Fatalf("%q: got %v, %v, want %v, %v", text, got, ok, word, err)
		}
	}
}

// Times are those of package time.
func TestTimesAsTime(t *testing.T) {
	layouts := []string{time.DateOnly, time.DateTime, "2006-01-02T15:04:05", time.RFC3339, time.RFC3339Nano, "2006-01-02 15:04:05.999", "2006-01-02T15:04:05-0700"}
	random := rand.New(rand.NewPCG(3, 4))
	first, last := time.Date(minYear, 1, 1, 0, 0, 0, 0, time.UTC).Unix(), time.Date(maxYear, 12, 30, 0, 0, 0, 0, time.UTC).Unix()
	for range 20_000 {
		at := time.Unix(first+random.Int64N(last-first), random.Int64N(1e9)).In(time.FixedZone("", 60*(random.IntN(1400)-700)))
		layout := layouts[random.IntN(len(layouts))]
		text := at.Format(layout)
		want, err := time.Parse(layout, text)
		if got, ok := parseTime([]byte(text)); err != nil || !ok || got != want.UnixNano() {
			t.Fatalf("%q: got %v, %v, want %v", text, got, ok, want.UnixNano())
		}
		if again, ok := parseTime([]byte(textOfTime(want.UnixNano()))); !ok || again != want.UnixNano() {
			t.Fatalf("%q is written as %q", text, textOfTime(want.UnixNano()))
		}
	}
	for _, text := range []string{"2023-02-29", "2023-13-01", "2023-00-10", "2023-1-01", "20230101", "2023-01-01 24:00:00", "2023-01-01 10:00", "2023-01-01T10:00:00.", "2023-01-01T10:00:00x", "1600-01-01", "2023-01-01 1a:00:00", "2023-01-01T10:00:00+1:00"} {
		if got, ok := parseTime([]byte(text)); ok {
			t.Errorf("%q: got %v, want no time", text, textOfTime(got))
		}
	}
}

// textCSV chooses text for all columns, so that values are what a reader of texts gives.
func textCSV(text string, block int) ([][]string, error) {
	c := CSV{Missing: []string{"\x01"}}
	d, _ := c.dialect()
	r := &csvReader{CSV: c, d: d, f: strings.NewReader(text), size: int64(len(text)), file: "x.csv", block: block, most: 1000}
	if err := r.header(); err != nil {
		return nil, err
	}
	for i := range r.levels {
		r.levels[i] = textLevel
	}
	t, err := r.table()
	if err != nil {
		return nil, err
	}
	rows := [][]string{r.names}
	for i := range t.rows {
		var row []string
		for _, name := range r.names {
			row = append(row, t.column(name).text(i))
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// feeds is a text in which lines that end in \r alone end in \n.
func feeds(text string) string {
	b, quoted := []byte(text), false
	for i, c := range b {
		if c == '"' {
			quoted = !quoted
		}
		if c == '\r' && !quoted && !strings.HasPrefix(text[i:], "\r\n") {
			b[i] = '\n'
		}
	}
	return string(b)
}

// asStandard holds the reader against encoding/csv, for several sizes of blocks. Of lines that end in \r, and
// of blanks before a value, that package has another idea.
func asStandard(t *testing.T, text string) {
	if regular.NotText([]byte(text)) >= 0 || strings.HasPrefix(text, "\ufeff") || strings.Contains(text, "\x01") {
		return
	}
	r := stdcsv.NewReader(strings.NewReader(feeds(text)))
	r.TrimLeadingSpace = true
	want, wantErr := r.ReadAll()
	if wantErr == nil && len(want) == 0 {
		wantErr = io.EOF
	}
	for i := range want {
		if i == 0 {
			for k, name := range want[0] {
				if want[0][k] = strings.TrimSpace(name); want[0][k] == "" {
					want[0][k] = strconv.Itoa(k)
				}
				if slices.Contains(want[0][:k], want[0][k]) {
					return
				}
			}
		}
	}
	for _, block := range []int{1, 7, 64, 4096} {
		got, err := textCSV(text, block)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q in blocks of %d: got %v, want %v", text, block, err, wantErr)
		}
		left := func(a, b string) bool {
			return strings.TrimLeftFunc(a, unicode.IsSpace) == strings.TrimLeftFunc(b, unicode.IsSpace)
		}
		if err == nil && !slices.EqualFunc(got, want, func(a, b []string) bool { return slices.EqualFunc(a, b, left) }) {
			t.Fatalf("%q in blocks of %d:\ngot  %q\nwant %q", text, block, got, want)
		}
	}
}

func FuzzCSVAsStandard(f *testing.F) {
	for _, text := range []string{houses, "a,b\r\n1,\"x\r\ny\"\r\n\r\n2,\"\"\"q\"\"\"\r\n", "a\n\"\"\n1", "a,b\n1,2,3\n", "a\n1\r", "a, \"b\" ,c\n", "a\n\"x\ny", "a\n\"x\"y\n", "\n\n a\n", "a,b\n,\n,"} {
		f.Add(text)
	}
	f.Fuzz(asStandard)
}

// Texts made of the signs that count are read as encoding/csv reads them.
func TestCSVAsStandard(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	signs := []string{",", "\n", "\r\n", "\"", "\"\"", " ", "a", "bc", "\r", "1", "\t", "\u00a0", ",\"", "\",", "\"\n"}
	for range 5_000 {
		var b strings.Builder
		for range random.IntN(30) {
			b.WriteString(signs[random.IntN(len(signs))])
		}
		asStandard(t, b.String())
	}
}

// A column's type is that of all its values, in whatever block they stand.
func TestTypesOfWholeFile(t *testing.T) {
	many := func(value string, last ...string) string {
		return "a,b\n" + strings.Repeat(value+",x\n", 50) + strings.Join(last, ",x\n") + ",x\n"
	}
	for _, c := range []struct {
		text, kind, first, last string
	}{
		{many("1", "1.5"), "f64", "1", "1.5"},
		{many("007", "x"), "text", "007", "x"},
		{many("007", "8"), "i64", "7", "8"},
		{many("1.50", "x"), "text", "1.50", "x"},
		{many("1e2", "7", "2020-01-02"), "text", "1e2", "2020-01-02"},
		{many("TRUE", "false"), "bool", "true", "false"},
		{many("TRUE", "1"), "text", "TRUE", "1"},
		{many("2020-01-02", "2020-01-02T03:04:05Z"), "time", "2020-01-02", "2020-01-02 03:04:05"},
		{many("2020-01-02", "soon"), "text", "2020-01-02", "soon"},
		{many("true", "2020-01-02"), "text", "true", "2020-01-02"},
		{many("2020-01-02", "1.5"), "text", "2020-01-02", "1.5"},
		{many("", "5"), "i64", "", "5"},
		{many("NA", "x"), "text", "", "x"},
		{many("None", "x"), "text", "", "x"},
		{many("#N/A", "1"), "i64", "", "1"},
		{many("none", "null"), "text", "none", ""},
		{many("-1.#IND", "1.5"), "f64", "", "1.5"},
		{many("1_000", "1"), "text", "1_000", "1"},
		{many("0x1p-2", "1"), "text", "0x1p-2", "1"},
		{many(" x", "x "), "text", " x", "x "},
		{many(" 1", "2 "), "i64", "1", "2"},
		{many(" 1", "x"), "text", " 1", "x"},
		{many("1", "9999-12-31"), "text", "1", "9999-12-31"},
		{many("2020-01-02", "9999-12-31"), "text", "2020-01-02", "9999-12-31"},
		{many("1", "NaN"), "i64", "1", ""},
		{many("1.5", "NaN"), "f64", "1.5", ""},
		{many("9223372036854775807", "9223372036854775808"), "u64", "9223372036854775807", "9223372036854775808"},
		{many("12345678901234567890", "7"), "u64", "12345678901234567890", "7"},
		{many("12345678901234567890", "NA", "+7"), "u64", "12345678901234567890", "7"},
		{many("12345678901234567890", "-7"), "text", "12345678901234567890", "-7"},
		{many("-7", "007", "12345678901234567890"), "text", "-7", "12345678901234567890"},
		{many("-7", "12345678901234567890", "1.5"), "f64", "-7", "1.5"},
		{many("12345678901234567890", "-0"), "f64", "12345678901234567890", "-0"},
		{many("-9223372036854775809", "7"), "text", "-9223372036854775809", "7"},
		{many("18446744073709551616", "7"), "text", "18446744073709551616", "7"},
		{many("18446744073709551616", "NA", "1e3"), "f64", "18446744073709551616", "1e3"},
		{many("18446744073709551616", "1e3", "x"), "text", "18446744073709551616", "x"},
		{many("18446744073709551616", "x"), "text", "18446744073709551616", "x"},
		{many("7", "18446744073709551616", "true"), "text", "7", "true"},
		{many("-0", "1"), "f64", "-0", "1"},
		{many("NA"), "f64", "", ""},
	} {
		for _, block := range []int{8, 50, blockSize} {
			x := CSV{}
			d, _ := x.dialect()
			got, err := (&csvReader{CSV: x, d: d, f: strings.NewReader(c.text), size: int64(len(c.text)), file: "x.csv", block: block, most: 1000}).read()
			if err != nil {
				t.Fatal(err)
			}
			a := got.column("a")
			first, last := a.text(0), a.text(a.len()-1)
			if a.typed() == "f64" && c.first != "" {
				if want, _ := strconv.ParseFloat(c.first, 64); want == a.float(0) {
					first = c.first
				}
			}
			if a.typed() == "f64" && c.last != "" {
				if want, _ := strconv.ParseFloat(c.last, 64); want == a.float(a.len()-1) {
					last = c.last
				}
			}
			if a.typed() != c.kind || first != c.first || last != c.last || got.rows != strings.Count(c.text, "\n")-1 {
				t.Errorf("blocks of %d: got %s %q … %q in %d rows, want %s %q … %q", block, a.typed(), first, last, got.rows, c.kind, c.first, c.last)
			}
		}
	}
}

// The level of two is that of both. Integers are of the type that has them all, or text; beside floats they
// are floats, as for pandas.
func TestLevels(t *testing.T) {
	names := []string{unknown: "-", boolLevel: "bool", naturalLevel: "n", intLevel: "i64", wordLevel: "u64", digitsLevel: "digits", floatLevel: "f64", timeLevel: "time", textLevel: "text"}
	for l, line := range []string{
		unknown:      "-      bool n      i64    u64    digits f64  time text",
		boolLevel:    "bool   bool text   text   text   text   text text text",
		naturalLevel: "n      text n      i64    u64    digits f64  text text",
		intLevel:     "i64    text i64    i64    digits digits f64  text text",
		wordLevel:    "u64    text u64    digits u64    digits f64  text text",
		digitsLevel:  "digits text digits digits digits digits f64  text text",
		floatLevel:   "f64    text f64    f64    f64    f64    f64  text text",
		timeLevel:    "time   text text   text   text   text   text time text",
		textLevel:    "text   text text   text   text   text   text text text",
	} {
		for m, want := range strings.Fields(line) {
			if got := names[level(l).or(level(m))]; got != want {
				t.Errorf("levels %s and %s: got %s, want %s", names[l], names[m], got, want)
			}
		}
	}
}

// An error names the first bad line of the file, whatever block it stands in, and lines are those of the
// file.
func TestLinesOfBlocks(t *testing.T) {
	good := "a,b\n" + strings.Repeat("1,\"x\ny\"\n\n", 40)
	for _, block := range []int{8, 50, blockSize} {
		read := func(text string) (*Table, error) {
			x := CSV{Types: map[string]dtype.Type{"a": dtype.I8}}
			d, _ := x.dialect()
			return (&csvReader{CSV: x, d: d, f: strings.NewReader(text), size: int64(len(text)), file: "x.csv", block: block, most: 1000}).read()
		}
		for text, want := range map[string]string{
			good + "1,2,3\n" + good:     "x.csv:122: got 3 values, want 2 as in the first line",
			good + "128,2\n" + good:     `x.csv:122: column "a": got "128", want i8`,
			good + "1,2\"2\n1\n" + good: "x.csv:122:4: a quote stands in a value without quotes",
			good + "1,\"2\"2\n" + good:  `x.csv:122:6: '2' stands behind the quote that ends a value`,
			good + "1,\"2":              "x.csv:122:3: a quote is opened here and never closed",
		} {
			if _, err := read(text); err == nil || err.Error() != want {
				t.Errorf("blocks of %d: got  %v\nwant %s", block, err, want)
			}
		}
		long := good + "1," + strings.Repeat("x", 5000) + "\n2,"
		if _, err := read(long + strings.Repeat("y", 5000)); block < 1000 && (err == nil || err.Error() != "x.csv:122: the row has more than 1000 B") {
			t.Errorf("blocks of %d: got %v, want a row that is too long", block, err)
		}
		x, err := read(good + "1,\n")
		if err != nil {
			t.Fatal(err)
		}
		for row, want := range map[int]int{0: 2, 1: 5, 39: 119, 40: 122} {
			if got := x.origin.line(row); got != want {
				t.Errorf("blocks of %d: row %d is in line %d, want %d", block, row, got, want)
			}
		}
	}
}
