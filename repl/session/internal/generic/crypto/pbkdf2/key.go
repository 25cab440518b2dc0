// Package pbkdf2 is the generic part of the standard package crypto/pbkdf2.
package pbkdf2

import (
	"crypto/hmac"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"hash"
)

// Key derives a key of keyLength bytes from a password (RFC 8018, section 5.2).
func Key[H hash.Hash](h func() H, password string, salt []byte, iter, keyLength int) ([]byte, error) {
	if keyLength <= 0 {
		return nil, errors.New("pkbdf2: keyLength must be larger than 0")
	}
	prf := hmac.New(func() hash.Hash { return h() }, []byte(password))
	var key []byte
	for block := uint32(1); len(key) < keyLength; block++ {
		prf.Reset()
		prf.Write(salt)
		prf.Write(binary.BigEndian.AppendUint32(nil, block))
		u := prf.Sum(nil)
		t := append([]byte(nil), u...)
		for n := 2; n <= iter; n++ {
			prf.Reset()
			prf.Write(u)
			u = prf.Sum(u[:0])
			subtle.XORBytes(t, t, u)
		}
		key = append(key, t...)
	}
	return key[:keyLength], nil
}
