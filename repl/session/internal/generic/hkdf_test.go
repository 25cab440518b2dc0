package generic

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"testing"

	ourhkdf "github.com/mcs-notebook/mcs/repl/session/internal/generic/crypto/hkdf"
)

func TestHKDF(t *testing.T) {
	for _, salt := range [][]byte{nil, []byte("salt")} {
		for _, n := range []int{0, 1, 32, 33, 100, 255 * 32, 255*32 + 1} {
			want, wantErr := hkdf.Key(sha256.New, []byte("secret"), salt, "info", n)
			got, err := ourhkdf.Key(sha256.New, []byte("secret"), salt, "info", n)
			if !bytes.Equal(got, want) || (err == nil) != (wantErr == nil) {
				t.Errorf("%d bytes with salt %q: got %x, %v, want %x, %v", n, salt, got, err, want, wantErr)
			}
		}
	}
}
