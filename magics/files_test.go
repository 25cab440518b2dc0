package magics_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/magics"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session"
)

// sessionIn starts a session in a folder.
func sessionIn(t *testing.T, dir string) *session.Session {
	t.Helper()
	s, err := session.New(session.Options{Dir: dir, Commands: magics.Table{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// text is what a cell shows, or its error.
func text(t *testing.T, s *session.Session, cell string) string {
	t.Helper()
	r := s.Run(t.Context(), cell)
	if r.Err != nil {
		return r.Err.Error()
	}
	var b strings.Builder
	for _, v := range r.Shown {
		b.WriteString(display.Styled(v, 80, nil) + "\n")
	}
	return b.String()
}

// TestLoad: only text is shown, and not more of it than a person reads.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	s := sessionIn(t, dir)
	for name, content := range map[string]string{
		"binary.mcs":  "\x7fELF\x02\x01\x01\x00" + strings.Repeat("\x00\xff", 1<<20),
		"latin.mcs":   "// gr\xfc\xdfe\nx := 1\n",
		"long.mcs":    strings.Repeat("// %%\nx := 1\n", 10_000),
		"escapes.mcs": "x := 1 // \x1b[2J\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ command, want string }{
		{"%load binary.mcs", "binary.mcs is no text: got byte 0x00 at offset 7, want UTF-8"},
		{"%run binary.mcs", "is no text"},
		{"%load latin.mcs", "is no text: got byte 0xfc at offset 5"},
		{"%load long.mcs", "… 19,799 lines more; all 10,000 cells are in the history"},
		{"%load escapes.mcs", `x := 1 // \x1b[2J`},
		{"%load .", "is a folder, want a regular file"},
	} {
		got := text(t, s, tt.command)
		if !strings.Contains(got, tt.want) || len(got) > 10_000 {
			t.Errorf("%s: got %d bytes, %.200q, want %q", tt.command, len(got), got, tt.want)
		}
	}
	if runtime.GOOS != "windows" {
		if got := text(t, s, "%load /dev/zero"); !strings.Contains(got, "/dev/zero is a device, want a regular file") {
			t.Errorf("/dev/zero: got %.200q", got)
		}
	}
}

// TestSave: what is there keeps its mode and its link, and errors name the file that was asked for.
func TestSave(t *testing.T) {
	dir := t.TempDir()
	s := sessionIn(t, dir)
	text(t, s, "x := 1")
	if got := text(t, s, "%save none/a.mcs"); !strings.Contains(got, filepath.Join("none", "a.mcs")+": no such file or directory") && runtime.GOOS != "windows" {
		t.Errorf("a folder that is not there: got %q", got)
	}
	if runtime.GOOS == "windows" {
		t.Skip("windows has no such modes")
	}
	real, link := filepath.Join(dir, "real.mcs"), filepath.Join(dir, "link.mcs")
	if err := os.WriteFile(real, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.mcs", link); err != nil {
		t.Fatal(err)
	}
	if got := text(t, s, "%save link.mcs"); !strings.Contains(got, "exists; -f replaces it") {
		t.Errorf("got %q", got)
	}
	if got := text(t, s, "%save -f link.mcs"); !strings.Contains(got, "1 cell") {
		t.Errorf("got %q", got)
	}
	if to, err := os.Readlink(link); to != "real.mcs" {
		t.Errorf("the link is %q, %v", to, err)
	}
	if b, err := os.ReadFile(real); string(b) != "// %%\nx := 1\n" {
		t.Errorf("got %q, %v", b, err)
	}
	if stat, err := os.Stat(real); err != nil || stat.Mode() != 0o600 {
		t.Errorf("got mode %v, %v, want 0600", stat.Mode(), err)
	}
	if got := text(t, s, "%save -f /dev/null.mcs/x.mcs"); got == "" {
		t.Error("got no error")
	}
}

// TestSavedCellsMeanTheSame: a cell with a line that looks like a mark runs from the file as it ran in the
// session.
func TestSavedCellsMeanTheSame(t *testing.T) {
	dir := t.TempDir()
	s := sessionIn(t, dir)
	cells := []string{
		"s := `a\n// %%\nb\n// > c\n`",
		"func f() int {\n// %% half\nreturn 7\n}",
		"r := 0",
		"%%time\nr = len(`\n// %% x\n`)",
		"fmt.Sprintf(`%q %d %d`, s, f(), r)",
	}
	var want string
	for _, cell := range cells {
		want = text(t, s, cell)
	}
	if got := text(t, s, "%save all.mcs"); !strings.Contains(got, fmt.Sprint(len(cells), " cells")) {
		t.Fatalf("got %q", got)
	}
	again := sessionIn(t, dir)
	if got := text(t, again, "%run all.mcs"); !strings.Contains(got, strings.TrimSpace(want)) {
		file, _ := os.ReadFile(filepath.Join(dir, "all.mcs"))
		t.Errorf("got %q, want %q, from\n%s", got, want, file)
	}
}
