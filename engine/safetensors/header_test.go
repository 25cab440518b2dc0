package safetensors

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// entries are n tensors without data; begin stands before each.
func entries(n int, begin string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `%s"%x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`, begin, i)
		begin = ","
	}
	return b.String()
}

// TestAHeaderCostsWhatItDescribes: memory is in proportion to the header, and a header of more than 4 MiB
// must have as many bytes of data.
func TestAHeaderCostsWhatItDescribes(t *testing.T) {
	for _, test := range []struct{ name, header string }{
		{"empty tensors", "{" + entries(60_000, "") + "}"},
		{"blanks", "{" + strings.Repeat(" ", 3<<20) + "}"},
		{"a long name", `{"` + strings.Repeat("n", 3<<20) + `":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`},
		{"long metadata", `{"__metadata__":{"k":"` + strings.Repeat("v", 3<<20) + `"}}`},
		{"many keys of metadata", `{"__metadata__":{` + keys(maxMetadata-1) + `,"k":"` + strings.Repeat("v", 1<<20) + `"}}`},
		{"a shape of a million dimensions", `{"a":{"dtype":"U8","shape":[0` + strings.Repeat(",0", 1<<20)},
	} {
		file := build(test.header, 0)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f, err := read(file)
		runtime.ReadMemStats(&after)
		got := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(file))
		t.Logf("%s: %d bytes, %.1f times as much memory, %v", test.name, len(file), got, err != nil)
		if got > 8 {
			t.Errorf("%s: %d bytes take %.1f times as much memory, want at most 8", test.name, len(file), got)
		}
		runtime.KeepAlive(f)
	}
}

func TestALongHeaderOfNothing(t *testing.T) {
	header := "{" + entries(plainHeader/50, "") + "}"
	_, err := read(build(header, 1000))
	if err == nil || !strings.Contains(err.Error(), "describes only 1000 bytes of data, want at most 4194304, or as many as the data") {
		t.Errorf("got %v", err)
	}
	header = `{"a":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}` + strings.Repeat(" ", plainHeader)
	header = fmt.Sprintf(header, plainHeader+1000, plainHeader+1000)
	if _, err := read(build(header, plainHeader+1000)); err != nil {
		t.Errorf("with as much data: %v", err)
	}
}

func TestTooMuchOfAKind(t *testing.T) {
	for _, test := range []struct{ header, want string }{
		{`{"a":{"dtype":"U8","shape":[1` + strings.Repeat(",1", 64) + `],"data_offsets":[0,1]}}`, "shape has more than 64 dimensions"},
		{`{"__metadata__":{` + keys(maxMetadata+1) + `}}`, "__metadata__ has more than 65536 keys"},
	} {
		if _, err := read(build(test.header, 1)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
}

// TestWhatIsWrittenIsRead: what Read would refuse is not written.
func TestWhatIsWrittenIsRead(t *testing.T) {
	many := map[string]string{}
	for i := range maxMetadata + 1 {
		many[fmt.Sprint(i)] = ""
	}
	deep := Entry{Name: "a", DType: "U8", Shape: make([]int, maxRank+1)}
	for _, test := range []struct {
		entries  []Entry
		metadata map[string]string
		want     string
	}{
		{nil, map[string]string{"k": strings.Repeat("v", plainHeader)}, "describes only 0 bytes of data"},
		{nil, many, "got 65537 keys of metadata, want at most 65536"},
		{[]Entry{deep}, nil, `tensor "a": got 65 dimensions, want at most 64`},
	} {
		if err := Write(io.Discard, test.entries, test.metadata); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %.200v, want %q", err, test.want)
		}
	}
}

// TestErrorsAreShort: a file cannot fill the screen.
func TestErrorsAreShort(t *testing.T) {
	name := strings.Repeat("n", 1<<20)
	for _, header := range []string{
		`{"` + name + `":{"dtype":"U8","shape":[1],"data_offsets":[0,2]}}`,
		`{"a":{"` + name + `":1}}`,
		`{"__metadata__":{"` + name + `":1}}`,
	} {
		if _, err := read(build(header, 1)); err == nil || len(err.Error()) > 1000 {
			t.Errorf("got an error of %d bytes", len(fmt.Sprint(err)))
		}
	}
}

func keys(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"%d":""`, i)
	}
	return strings.Join(list, ",")
}
