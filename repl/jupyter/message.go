package jupyter

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// protocol is the version of the messaging protocol.
const protocol = "5.4"

// A header says what a message is, and who has sent it.
type header struct {
	ID       string `json:"msg_id"`
	Session  string `json:"session"`
	Username string `json:"username"`
	Date     string `json:"date"`
	Type     string `json:"msg_type"`
	Version  string `json:"version"`
}

// A message is what a kernel and a client send each other.
type message struct {
	from    string // the identity of the client on the socket
	header  header
	raw     json.RawMessage // the header as it came: the parent of the answers
	content json.RawMessage
}

// delimiter stands between the identities of a message and its signature.
const delimiter = "<IDS|MSG>"

// maxSeen is how many signatures are remembered, so that no message counts twice.
const maxSeen = 1 << 16

// A signer writes and reads messages.
type signer struct {
	key     []byte
	session string

	mu   sync.Mutex
	seen map[string]bool // signatures of messages that have come
}

func newSigner(key string) *signer {
	return &signer{key: []byte(key), session: rand.Text(), seen: map[string]bool{}}
}

// sign returns the signature of the four parts of a message; "" without a key.
func (s *signer) sign(parts [][]byte) string {
	if len(s.key) == 0 {
		return ""
	}
	mac := hmac.New(sha256.New, s.key)
	for _, p := range parts {
		mac.Write(p)
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// read reads a message from the frames behind the client's identity.
func (s *signer) read(from string, frames [][]byte) (*message, error) {
	for len(frames) > 0 && string(frames[0]) != delimiter {
		frames = frames[1:]
	}
	if len(frames) < 6 {
		return nil, errors.New("message: got too few parts, want a signature, three dictionaries and the content")
	}
	signature, parts := string(frames[1]), frames[2:6]
	if want := s.sign(parts); !hmac.Equal([]byte(signature), []byte(want)) {
		return nil, errors.New("message: got a wrong signature, so it is not from a client that has the connection file")
	} else if want != "" && s.again(signature) {
		return nil, errors.New("message: got it twice")
	}
	m := &message{from: from, raw: bytes.Clone(parts[0]), content: parts[3]}
	if err := json.Unmarshal(parts[0], &m.header); err != nil {
		return nil, fmt.Errorf("message: header: %w", err)
	}
	return m, nil
}

// again says whether a signature was seen before, and remembers it.
func (s *signer) again(signature string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[signature] {
		return true
	}
	if len(s.seen) >= maxSeen {
		clear(s.seen)
	}
	s.seen[signature] = true
	return false
}

// write writes a message, the answer to parent, which may be nil, from the delimiter on.
func (s *signer) write(kind string, parent *message, content any) [][]byte {
	head, _ := json.Marshal(header{rand.Text(), s.session, "mcs", time.Now().UTC().Format(time.RFC3339Nano), kind, protocol})
	body, err := json.Marshal(content)
	if err != nil { // nothing that the kernel sends has values that JSON lacks
		body = []byte("{}")
	}
	from := json.RawMessage("{}")
	if parent != nil {
		from = parent.raw
	}
	parts := [][]byte{head, from, []byte("{}"), body}
	return append([][]byte{[]byte(delimiter), []byte(s.sign(parts))}, parts...)
}
