package hub

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// partial is the end of the name of a file that is not whole. Its hash is part of the name, so that a part of
// another version is never continued.
const partial = ".incomplete"

// get makes sure that the folder has the file. done is told how many bytes are there, more and more; they are
// taken back if they turn out to be wrong.
func (h *hub) get(ctx context.Context, dir, commit string, f file, done func(n int64)) error {
	to := filepath.Join(dir, filepath.FromSlash(f.name))
	switch stat, err := os.Lstat(to); {
	case err == nil && stat.Mode().IsRegular() && stat.Size() == f.size:
		done(f.size)
		return nil
	case err == nil:
		return fmt.Errorf("%s is there, but is not the file of %d bytes that the server has: remove it", to, f.size)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	part := fmt.Sprintf("%s.%.16s%s", to, f.sha256+f.sha1, partial)
	w, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := h.fill(ctx, w, commit, f, done); err != nil {
		return err
	}
	if err := w.Sync(); err != nil {
		return err
	}
	return os.Rename(part, to)
}

// fill brings what the file does not have yet. A wrong hash of what an earlier download began is no error:
// all is fetched again, once.
func (h *hub) fill(ctx context.Context, w *os.File, commit string, f file, done func(n int64)) error {
	for second := false; ; second = true {
		begun, err := w.Seek(0, io.SeekEnd)
		if err != nil {
			return err
		}
		if begun > f.size {
			begun = 0
		}
		if err := w.Truncate(begun); err != nil {
			return err
		}
		at := begun
		done(at)
		err = h.again(ctx, func() (int64, error) {
			got, err := h.transfer(ctx, w, commit, f, at, done)
			if errors.Is(err, errWhole) { // the server gives no parts: the file is written from its beginning
				done(-at)
				at, begun = 0, 0
				if err := w.Truncate(0); err != nil {
					return 0, err
				}
				got, err = h.transfer(ctx, w, commit, f, 0, done)
			}
			at += got
			return got, err
		})
		if err != nil {
			return err
		}
		wrong, err := f.verify(w)
		if err != nil || wrong == nil {
			return err
		}
		done(-f.size)
		if err := w.Truncate(0); err != nil {
			return err
		}
		if second || begun == 0 {
			return wrong
		}
	}
}

// verify compares the hash of a whole file with the one that the server said.
func (f file) verify(r io.ReadSeeker) (wrong, err error) {
	var sum hash.Hash
	want := f.sha256
	if want != "" {
		sum = sha256.New()
	} else {
		sum, want = sha1.New(), f.sha1
		fmt.Fprintf(sum, "blob %d\x00", f.size) // as git hashes
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	if _, err := io.Copy(sum, r); err != nil {
		return nil, err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return fmt.Errorf("got bytes with the hash %s, want %s as the server says: nothing is kept of them", got, want), nil
	}
	return nil, nil
}
