// Package hkdf is the generic part of the standard package crypto/hkdf.
package hkdf

import (
	"crypto/hmac"
	"errors"
	"hash"
)

// Extract makes a pseudorandom key of a secret (RFC 5869, section 2.2).
func Extract[H hash.Hash](h func() H, secret, salt []byte) ([]byte, error) {
	if salt == nil {
		salt = make([]byte, h().Size())
	}
	extractor := hmac.New(func() hash.Hash { return h() }, salt)
	extractor.Write(secret)
	return extractor.Sum(nil), nil
}

// Expand makes a key of keyLength bytes of a pseudorandom key (RFC 5869, section 2.3).
func Expand[H hash.Hash](h func() H, pseudorandomKey []byte, info string, keyLength int) ([]byte, error) {
	if limit := h().Size() * 255; keyLength > limit {
		return nil, errors.New("hkdf: requested key length too large")
	}
	expander := hmac.New(func() hash.Hash { return h() }, pseudorandomKey)
	var key, block []byte
	for i := byte(1); len(key) < keyLength; i++ {
		expander.Reset()
		expander.Write(block)
		expander.Write([]byte(info))
		expander.Write([]byte{i})
		block = expander.Sum(nil)
		key = append(key, block...)
	}
	return key[:keyLength], nil
}

// Key is Extract and Expand.
func Key[H hash.Hash](h func() H, secret, salt []byte, info string, keyLength int) ([]byte, error) {
	prk, err := Extract(h, secret, salt)
	if err != nil {
		return nil, err
	}
	return Expand(h, prk, info, keyLength)
}
