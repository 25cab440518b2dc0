package regular

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("text"), 0o666); err != nil {
		t.Fatal(err)
	}
	if b, err := Read(file, 4); string(b) != "text" || err != nil {
		t.Errorf("got %q, %v, want the content", b, err)
	}
	if _, err := Read(file, 3); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("above the limit: got %v", err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("file", link); err == nil {
		if b, err := Read(link, 4); string(b) != "text" || err != nil {
			t.Errorf("through a link: got %q, %v, want the content", b, err)
		}
	}
	if _, err := Read(filepath.Join(dir, "none"), 4); !os.IsNotExist(err) {
		t.Errorf("no file: got %v", err)
	}
	if _, err := Read(dir, 4); err == nil || !strings.Contains(err.Error(), "is a folder, want a regular file") {
		t.Errorf("a folder: got %v", err)
	}
}

// Full takes memory for what is there, not for what is claimed.
func TestFull(t *testing.T) {
	for _, c := range []struct {
		n    int64
		want string
		err  error
	}{{0, "", nil}, {3, "abc", nil}, {4, "abcd", nil}, {5, "abcd", io.ErrUnexpectedEOF}, {1 << 60, "abcd", io.ErrUnexpectedEOF}} {
		if got, err := Full(strings.NewReader("abcd"), c.n, 4); string(got) != c.want || err != c.err {
			t.Errorf("%d bytes: got %q, error %v, want %q and %v", c.n, got, err, c.want, c.err)
		}
	}
}

func TestText(t *testing.T) {
	for _, test := range []struct{ content, want string }{
		{"", ""},
		{"größer 🙂 \ufffd\n", ""},
		{"ELF\x00", "is no text: got byte 0x00 at offset 3"},
		{"half a rune \xf0\x9f", "is no text: got byte 0xf0 at offset 12"},
		{"latin1 \xe9t\xe9", "is no text: got byte 0xe9 at offset 7"},
	} {
		_, err := CheckText([]byte(test.content), "a.mcs")
		if got := errorText(err); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.content, got, test.want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
