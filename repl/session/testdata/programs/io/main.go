package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
)

type upper struct{ r io.Reader }

func (u upper) Read(b []byte) (int, error) {
	n, err := u.r.Read(b)
	copy(b, bytes.ToUpper(b[:n]))
	return n, err
}

type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) { c.n += int64(len(b)); return len(b), nil }

type header struct {
	Magic   [4]byte
	Version uint16
	Size    int32
}

type point struct{ X, Y int }

func main() {
	b, err := io.ReadAll(io.TeeReader(io.LimitReader(upper{strings.NewReader("hello world")}, 5), os.Stdout))
	fmt.Println("", string(b), err)
	var c counter
	w := io.MultiWriter(&c, io.Discard)
	fmt.Fprintf(w, "%05d", 42)
	n, err := io.Copy(w, strings.NewReader("abc"))
	fmt.Println(c.n, n, err)
	var z bytes.Buffer
	gz := gzip.NewWriter(&z)
	gz.Write([]byte(strings.Repeat("ab", 1000)))
	gz.Close()
	gr, _ := gzip.NewReader(&z)
	back, _ := io.ReadAll(gr)
	fmt.Println(len(back), z.Len())
	fmt.Printf("%x %08x\n", sha256.Sum256([]byte("x")), crc32.ChecksumIEEE([]byte("x")))
	fmt.Println(base64.StdEncoding.EncodeToString([]byte("any carnal pleas")))
	dir, err := os.MkdirTemp("", "prog")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "sub", "f.txt")
	os.MkdirAll(filepath.Dir(name), 0o755)
	fmt.Println(os.WriteFile(name, []byte("line 1\nline 2\n"), 0o644))
	f, _ := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	fmt.Fprintln(f, "line 3")
	f.Close()
	data, _ := os.ReadFile(name)
	fmt.Print(string(data))
	filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, p)
		fmt.Println(filepath.ToSlash(rel), d.IsDir())
		return err
	})
	_, err = os.Stat(filepath.Join(dir, "no"))
	fmt.Println(os.IsNotExist(err))
	var buf bytes.Buffer
	h := header{[4]byte{'m', 'c', 's', '1'}, 2, -5}
	fmt.Println(binary.Write(&buf, binary.LittleEndian, h), buf.Bytes())
	var g header
	fmt.Println(binary.Read(&buf, binary.LittleEndian, &g), g == h)
	var net bytes.Buffer
	gob.NewEncoder(&net).Encode([]point{{1, 2}, {3, 4}})
	var ps []point
	fmt.Println(gob.NewDecoder(&net).Decode(&ps), ps)
	var zb bytes.Buffer
	zw := zip.NewWriter(&zb)
	e, _ := zw.Create("a.txt")
	e.Write([]byte("zipped"))
	zw.Close()
	zr, _ := zip.NewReader(bytes.NewReader(zb.Bytes()), int64(zb.Len()))
	rc, _ := zr.File[0].Open()
	zd, _ := io.ReadAll(rc)
	fmt.Println(zr.File[0].Name, string(zd))
	pr, pw := io.Pipe()
	go func() { fmt.Fprint(pw, "through a pipe"); pw.Close() }()
	pd, _ := io.ReadAll(pr)
	fmt.Println(string(pd))
}
