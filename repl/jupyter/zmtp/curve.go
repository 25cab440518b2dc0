package zmtp

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/nacl/box"
)

// Keys are the server's long-term keys of CURVE.
type Keys struct{ Public, Secret [32]byte }

// ParseKeys reads keys as ZeroMQ writes them: 40 characters of Z85 (rfc.zeromq.org/spec/32) each.
func ParseKeys(public, secret string) (*Keys, error) {
	k := new(Keys)
	if err := decodeZ85(k.Public[:], public); err != nil {
		return nil, fmt.Errorf("zmtp: public key: %w", err)
	}
	if err := decodeZ85(k.Secret[:], secret); err != nil {
		return nil, fmt.Errorf("zmtp: secret key: %w", err)
	}
	return k, nil
}

const z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"

// decodeZ85 decodes five characters for each four bytes of dst.
func decodeZ85(dst []byte, text string) error {
	if len(text) != len(dst)/4*5 {
		return fmt.Errorf("got %d characters, want %d", len(text), len(dst)/4*5)
	}
	for i := range len(dst) / 4 {
		n := uint64(0)
		for _, c := range []byte(text[5*i : 5*i+5]) {
			at := strings.IndexByte(z85, c)
			if at < 0 {
				return errors.New("got a character that is not one of Z85")
			}
			n = 85*n + uint64(at)
		}
		binary.BigEndian.PutUint32(dst[4*i:], uint32(n))
	}
	return nil
}

// A cipher is one side of an encrypted connection.
type cipher struct {
	key          [32]byte // made of one side's secret and the other's public key
	send, expect string   // the first 16 bytes of the nonces of either direction
	sent, seen   uint64   // the counters in the newest nonces
}

// nonce joins the words that a kind of message has and what counts it.
func nonce(words string, count []byte) *[24]byte {
	n := new([24]byte)
	copy(n[copy(n[:], words):], count)
	return n
}

// next is the counter of the next message to the peer.
func (b *cipher) next() []byte {
	b.sent++
	return binary.BigEndian.AppendUint64(nil, b.sent)
}

// take checks a counter of the peer's, which must be greater than all before: no message comes twice.
func (b *cipher) take(count []byte) error {
	n := binary.BigEndian.Uint64(count)
	if n <= b.seen {
		return errors.New("zmtp: got an encrypted message twice, or out of order")
	}
	b.seen = n
	return nil
}

// seal encrypts a frame. The flags inside have the bit of a command in another place than those of frames.
func (b *cipher) seal(f frame) frame {
	plain := append([]byte{f.flags&flagMore | f.flags&flagCommand>>1}, f.body...)
	count := b.next()
	body := append([]byte("\x07MESSAGE"), count...)
	return frame{body: box.SealAfterPrecomputation(body, plain, nonce(b.send, count), &b.key)}
}

// open decrypts a frame.
func (b *cipher) open(f frame) (frame, error) {
	name, data, err := parseCommand(f.body)
	if err != nil || name != "MESSAGE" || len(data) < 8 {
		return f, errors.New("zmtp: got a frame that is not encrypted")
	}
	plain, ok := box.OpenAfterPrecomputation(nil, data[8:], nonce(b.expect, data[:8]), &b.key)
	if !ok || len(plain) == 0 {
		return f, errors.New("zmtp: got a frame that does not decrypt")
	}
	return frame{plain[0]&flagMore | plain[0]&2<<1, plain[1:]}, b.take(data[:8])
}

// acceptCurve shakes hands as CURVE's server: HELLO, WELCOME, INITIATE, READY. It returns the client's
// metadata. The cookie of WELCOME is random, as this server keeps its state.
func (w *wire) acceptCurve(keys *Keys, own []byte) (metadata []byte, err error) {
	if err := w.greet("CURVE", true); err != nil {
		return nil, err
	}
	hello, err := w.expect("HELLO")
	if err != nil {
		return nil, err
	}
	if len(hello) != 194 || hello[0] != 1 {
		return nil, errors.New("zmtp: got a HELLO of another version, want CURVE's first")
	}
	client := (*[32]byte)(hello[74:106])
	if _, ok := box.Open(nil, hello[114:], nonce("CurveZMQHELLO---", hello[106:114]), client, &keys.Secret); !ok {
		return nil, errors.New("zmtp: got a client that has another key of this server")
	}
	public, secret, err := box.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	random := make([]byte, 16+96)
	_, _ = rand.Read(random) // it never fails
	cookie := random[16:]
	welcome := box.Seal(bytes.Clone(random[:16]), append(public[:], cookie...), nonce("WELCOME-", random[:16]), client, &keys.Secret)
	if err := w.writeFrames(command("WELCOME", welcome)); err != nil {
		return nil, err
	}
	initiate, err := w.expect("INITIATE")
	if err != nil {
		return nil, err
	}
	w.box = &cipher{send: "CurveZMQMESSAGES", expect: "CurveZMQMESSAGEC"}
	box.Precompute(&w.box.key, client, secret)
	if metadata, err = w.box.initiated(initiate, cookie, client, &keys.Public, secret); err != nil {
		return nil, err
	}
	count := w.box.next()
	ready := box.SealAfterPrecomputation(bytes.Clone(count), own, nonce("CurveZMQREADY---", count), &w.box.key)
	return metadata, w.writeFrames(command("READY", ready))
}

// initiated checks an INITIATE: the cookie, and the vouch, by which the client's long-term key says that the
// connection's is its own. It returns the metadata.
func (b *cipher) initiated(initiate, cookie []byte, client, server, secret *[32]byte) ([]byte, error) {
	if len(initiate) < 96+8+box.Overhead+32+96 || !bytes.Equal(initiate[:96], cookie) {
		return nil, errors.New("zmtp: got an INITIATE without the cookie")
	}
	count := initiate[96:104]
	plain, ok := box.OpenAfterPrecomputation(nil, initiate[104:], nonce("CurveZMQINITIATE", count), &b.key)
	if !ok {
		return nil, errors.New("zmtp: got an INITIATE that does not decrypt")
	}
	long, vouch := (*[32]byte)(plain[:32]), plain[32:128]
	vouched, ok := box.Open(nil, vouch[16:], nonce("VOUCH---", vouch[:16]), long, secret)
	if !ok || !bytes.Equal(vouched, append(bytes.Clone(client[:]), server[:]...)) {
		return nil, errors.New("zmtp: got a client whose key does not vouch for it")
	}
	return plain[128:], b.take(count)
}
