package a64

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// assembler is the GNU assembler for arm64, which may be missing.
const assembler = "aarch64-linux-gnu-as"

// assemble returns the words of instructions according to the GNU assembler.
func assemble(t *testing.T, lines []string) []uint32 {
	t.Helper()
	if _, err := exec.LookPath(assembler); err != nil {
		t.Skipf("%s is not installed: %v", assembler, err)
	}
	dir := t.TempDir()
	source, object, binaryFile := filepath.Join(dir, "a.s"), filepath.Join(dir, "a.o"), filepath.Join(dir, "a.bin")
	if err := os.WriteFile(source, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range [][]string{
		{assembler, "-march=armv8.6-a+bf16+dotprod", "-o", object, source},
		{"aarch64-linux-gnu-objcopy", "-O", "binary", "-j", ".text", object, binaryFile},
	} {
		if out, err := exec.Command(cmd[0], cmd[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", cmd[0], err, out)
		}
	}
	code, err := os.ReadFile(binaryFile)
	if err != nil {
		t.Fatal(err)
	}
	if len(code) != 4*len(lines) {
		t.Fatalf("%d bytes for %d instructions", len(code), len(lines))
	}
	words := make([]uint32, len(lines))
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(code[4*i:])
	}
	return words
}

// examples returns instructions of every form of the table, with the least, the largest and another value
// of each field.
func examples() []string {
	values := map[string][]int{
		"d": {0, 31, 9}, "n": {0, 31, 17}, "x": {0, 30, 17}, "m": {0, 31, 22}, "d2": {1, 30, 5}, "nm": {0, 31, 6},
		"i": {0, 3, 1, 2}, "q": {0, 3, 1, 2}, "to": {0, 3, 1}, "from": {0, 3, 2},
		"o1": {0, 4095, 5}, "o2": {0, 8190, 6}, "o4": {0, 16380, 12}, "o8": {0, 32760, 512}, "o16": {0, 65520, 48},
		"pair": {-1024, 1008, 32}, "post": {-256, 255, 16},
		"left32": {0, 31, 8}, "right32": {1, 32, 24}, "right8": {1, 8, 4}, "left64": {0, 63, 32}, "right64": {1, 64, 32}, "byte": {0, 255, 15},
	}
	var all []string
	for _, row := range table {
		for i := range 4 {
			n := -1
			all = append(all, placeholder.ReplaceAllStringFunc(row.text, func(name string) string {
				n++
				v := values[name[1:len(name)-1]]
				return strconv.Itoa(v[(i+n*i)%len(v)])
			}))
		}
	}
	return all
}

func TestEncodeAgainstAssembler(t *testing.T) {
	lines := examples()
	for i, want := range assemble(t, lines) {
		if got, err := Encode(lines[i]); err != nil || got != want {
			t.Errorf("%s: got %08x, %v, want %08x", lines[i], got, err, want)
		}
	}
}

// The words in the generated files encode the instructions beside them.
func TestGeneratedWords(t *testing.T) {
	files, err := filepath.Glob("../*/*_arm64.s")
	if err != nil || len(files) == 0 {
		t.Fatalf("no generated files: %v", err)
	}
	line := regexp.MustCompile(`WORD \$0x([0-9a-f]{8}) // (.*)`)
	words := map[string]uint32{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range line.FindAllStringSubmatch(string(text), -1) {
			w, err := strconv.ParseUint(m[1], 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			words[m[2]] = uint32(w)
		}
	}
	var lines []string
	for text := range words {
		lines = append(lines, text)
	}
	if len(lines) == 0 {
		t.Fatalf("no words in %v", files)
	}
	for i, want := range assemble(t, lines) {
		if got := words[lines[i]]; got != want {
			t.Errorf("%s: the file has %08x, the assembler %08x", lines[i], got, want)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	for _, text := range []string{
		"fmla v32.4s, v0.4s, v0.4s",
		"fmla v0.4s, v0.4s, v0.s[4]",
		"ldr q0, [x1, #8]",
		"ldr q0, [x1, #-16]",
		"ldr q0, [x1, #65536]",
		"ldp q0, q1, [x2, #1024]",
		"shl v0.4s, v1.4s, #32",
		"ushr v0.4s, v1.4s, #0",
		"fmla v0.8h, v1.8h, v2.8h",
		"",
	} {
		if w, err := Encode(text); err == nil {
			t.Errorf("%q: got %08x, want an error", text, w)
		}
	}
}

func ExampleWord() {
	fmt.Println(Word("fmla v0.4s, v1.4s, v2.s[3]"))
	// Output: WORD $0x4fa21820 // fmla v0.4s, v1.4s, v2.s[3]
}
