package generic

import (
	"bytes"
	"crypto/pbkdf2"
	"crypto/sha256"
	"testing"

	ourpbkdf2 "github.com/mcs-notebook/mcs/repl/session/internal/generic/crypto/pbkdf2"
)

func TestPBKDF2(t *testing.T) {
	for _, iter := range []int{0, 1, 2, 10} {
		for _, n := range []int{0, 1, 32, 33, 100} {
			want, wantErr := pbkdf2.Key(sha256.New, "password", []byte("salt"), iter, n)
			got, err := ourpbkdf2.Key(sha256.New, "password", []byte("salt"), iter, n)
			if !bytes.Equal(got, want) || (err == nil) != (wantErr == nil) {
				t.Errorf("%d iterations, %d bytes: got %x, %v, want %x, %v", iter, n, got, err, want, wantErr)
			}
		}
	}
}
