// Package regular opens files that a person names, and refuses devices, pipes, sockets and folders.
//
// A device, a named pipe or a socket in place of a file can block for good or never end, and a folder can
// be opened but not read. So mcs opens all its input with [Open]: it follows links, and refuses anything
// but a regular file before it waits. [Read] and [Text] also limit the number of bytes.
package regular

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"
)

// MaxSource is how large a file of cells, or of Go, may be.
const MaxSource = 64 << 20

// Open opens a regular file for reading. It never waits for the other end of a pipe.
func Open(path string) (*os.File, error) {
	f, _, err := OpenSized(path)
	return f, err
}

// OpenSized is Open that says how many bytes the file has.
func OpenSized(path string) (*os.File, int64, error) {
	stat, err := os.Stat(path) // opening a device can do something, so ask first
	if err != nil {
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			err = &fs.PathError{Op: "open", Path: path, Err: p.Err}
		}
		return nil, 0, err
	}
	if err := check(path, stat); err != nil {
		return nil, 0, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|OpenNonblock, 0)
	if err != nil {
		return nil, 0, err
	}
	if stat, err = f.Stat(); err == nil {
		err = check(path, stat) // it may have been replaced in between
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, stat.Size(), nil
}

func check(path string, stat fs.FileInfo) error {
	if stat.Mode().IsRegular() {
		return nil
	}
	return fmt.Errorf("%s is a %s, want a regular file", path, Kind(stat.Mode()))
}

// Size is how many bytes a regular file has, or those below a folder.
func Size(path string) (size int64) {
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil
	})
	return size
}

var kinds = map[fs.FileMode]string{
	0: "regular file", fs.ModeDir: "folder", fs.ModeSymlink: "link", fs.ModeNamedPipe: "named pipe", fs.ModeSocket: "socket",
	fs.ModeDevice: "device", fs.ModeDevice | fs.ModeCharDevice: "device",
}

// Kind names the kind of a file with this mode.
func Kind(mode fs.FileMode) string { return cmp.Or(kinds[mode.Type()], "special file") }

// Read returns a file's content. More than limit bytes are an error.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if stat, err := f.Stat(); err == nil && stat.Size() > limit {
		return nil, tooLarge(path, limit)
	}
	return ReadFrom(f, path, limit)
}

// ReadFrom returns all bytes of r. More than limit bytes are an error; errors call r by name.
func ReadFrom(r io.Reader, name string, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = tooLarge(name, limit)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Full reads n bytes, of which a file says that they follow. At first it allocates for no more than room, the
// bytes that the file has, and for more only as they arrive: a compressed file may claim what it has not.
// After an error it returns what it has read; bytes that are missing are an io.ErrUnexpectedEOF.
func Full(r io.Reader, n, room int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(min(n, room)) + bytes.MinRead)
	_, err := io.CopyN(&b, r, n)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return b.Bytes(), err
}

// ReadAt reads all of b at an offset; bytes that are missing are an io.ErrUnexpectedEOF.
func ReadAt(r io.ReaderAt, b []byte, offset int64) error {
	n, err := r.ReadAt(b, offset)
	if n == len(b) {
		return nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF // the file became shorter meanwhile
	}
	return err
}

func tooLarge(name string, limit int64) error {
	return fmt.Errorf("%s is too large: it has more than %d MiB", name, limit>>20)
}

// Text returns the content of a file that must be text: UTF-8 without zero bytes.
func Text(path string, limit int64) (string, error) {
	b, err := Read(path, limit)
	if err != nil {
		return "", err
	}
	return CheckText(b, path)
}

// CheckText returns b as a string if it is text. The error gives the place of the first byte that is not
// text.
func CheckText(b []byte, name string) (string, error) {
	if at := NotText(b); at >= 0 {
		return "", fmt.Errorf("%s is no text: got byte %#02x at offset %d, want UTF-8", name, b[at], at)
	}
	return string(b), nil
}

// NotText is the place of a byte that is not text, the first one or a zero byte, or −1.
func NotText(b []byte) int {
	if at := bytes.IndexByte(b, 0); at >= 0 || utf8.Valid(b) {
		return at
	}
	for at := 0; ; {
		r, n := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
}
