package tokenizer

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Kinds of a piece, and of a model, as SentencePiece numbers them.
const (
	pieceNormal, pieceUnknown, pieceControl, pieceUser, pieceUnused, pieceByte = 1, 2, 3, 4, 5, 6

	modelUnigram, modelBPE = 1, 2
)

// fields reads a message of protocol buffers: for each field its number, and its value as an integer or as
// bytes.
func fields(b []byte, field func(number int, value uint64, inner []byte) error) error {
	whole := len(b)
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		if n <= 0 {
			return fmt.Errorf("at byte %d: a field has no number", whole-len(b))
		}
		b = b[n:]
		var value uint64
		var inner []byte
		switch key & 7 {
		case 0:
			if value, n = binary.Uvarint(b); n <= 0 {
				return fmt.Errorf("at byte %d: an integer has no end", whole-len(b))
			}
		case 1, 5:
			if n = 8; key&7 == 5 {
				n = 4
			}
			if len(b) < n {
				return fmt.Errorf("at byte %d: a number has no end", whole-len(b))
			}
			inner = b[:n]
		case 2:
			length, size := binary.Uvarint(b)
			if size <= 0 || length > uint64(len(b)-size) {
				return fmt.Errorf("at byte %d: got a field of %d bytes, but only %d follow", whole-len(b), length, len(b))
			}
			n = size + int(length)
			inner = b[size:n]
		default:
			return fmt.Errorf("at byte %d: wire type %d is not known", whole-len(b), key&7)
		}
		if err := field(int(key>>3), value, inner); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// A spModel is what a SentencePiece file says, with the format's defaults.
type spModel struct {
	pieces   []string
	scores   []float64
	kinds    []int
	kind     int
	fallback bool
	chars    []byte // of the normal form
	prefix   bool   // a blank stands before the text
	squeeze  bool   // blanks side by side are one, and none stand at the ends
	escape   bool   // blanks are written as ▁
	surface  string // what the token for the unknown becomes in text
	begin    string // the piece that stands before a text
}

func (m *spModel) piece(b []byte) error {
	text, score, kind := "", 0.0, pieceNormal
	err := fields(b, func(number int, value uint64, inner []byte) error {
		switch {
		case number == 1:
			text = string(inner)
		case number == 2 && len(inner) == 4:
			score = float64(math.Float32frombits(binary.LittleEndian.Uint32(inner)))
		case number == 3:
			kind = int(value)
		}
		return nil
	})
	m.pieces, m.scores, m.kinds = append(m.pieces, text), append(m.scores, score), append(m.kinds, kind)
	return err
}

func (m *spModel) trainer(number int, value uint64, inner []byte) error {
	switch number {
	case 3:
		m.kind = int(value)
	case 35:
		m.fallback = value != 0
	case 44:
		m.surface = string(inner)
	case 46:
		m.begin = string(inner)
	}
	return nil
}

func (m *spModel) normalizer(number int, value uint64, inner []byte) error {
	switch number {
	case 2:
		m.chars = inner
	case 3:
		m.prefix = value != 0
	case 4:
		m.squeeze = value != 0
	case 5:
		m.escape = value != 0
	}
	return nil
}

// readPieces reads a ModelProto of SentencePiece.
func readPieces(text []byte) (*spModel, error) {
	m := &spModel{kind: modelUnigram, prefix: true, squeeze: true, escape: true, surface: " ⁇ ", begin: "<s>"}
	err := fields(text, func(number int, _ uint64, inner []byte) error {
		switch number {
		case 1:
			return m.piece(inner)
		case 2:
			return fields(inner, m.trainer)
		case 3:
			return fields(inner, m.normalizer)
		}
		return nil
	})
	if err == nil && len(m.pieces) == 0 {
		err = fmt.Errorf("there are no pieces")
	}
	return m, err
}

// A Piece is a token of a tokenizer.model. Kind is SentencePiece's number: 1 normal, 2 unknown, 3 control, 4
// user defined, 5 unused, 6 a byte.
type Piece struct {
	Text  string
	Score float64
	Kind  int
}

// A PieceModel is what a tokenizer.model says besides: whether it merges pairs (or else is a unigram model),
// and whether a blank stands before a text.
type PieceModel struct{ BPE, Prefix bool }

// Pieces reads the content of a tokenizer.model of SentencePiece, for those who write it in another format.
func Pieces(text []byte) ([]Piece, PieceModel, error) {
	m, err := readPieces(text)
	if err != nil {
		return nil, PieceModel{}, err
	}
	list := make([]Piece, len(m.pieces))
	for i := range list {
		list[i] = Piece{m.pieces[i], m.scores[i], m.kinds[i]}
	}
	return list, PieceModel{m.kind == modelBPE, m.prefix}, nil
}

// parseSentencePiece reads a tokenizer.model.
func parseSentencePiece(text []byte) (*Tokenizer, error) {
	m, err := readPieces(text)
	if err != nil {
		return nil, err
	}
	chars, err := newCharsMap(m.chars)
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{ids: map[string]int{}, special: map[int]bool{}, about: "SentencePiece"}
	unknown := -1
	for id, piece := range m.pieces {
		if err := t.name(id, piece, len(text)+1); err != nil {
			return nil, err
		}
		switch m.kinds[id] {
		case pieceUnknown:
			unknown = id
		case pieceControl:
			t.special[id] = true
		case pieceUser:
			t.later.add(addedToken{text: piece, id: id})
		}
	}
	var fallback []int
	if m.fallback {
		fallback = fallbackOf(t.ids)
	}
	t.normalize = func(s string) string { return m.normalized(chars, s) }
	t.model = m.model(unknown, fallback)
	if id, ok := t.ids[m.begin]; ok && m.kinds[id] == pieceControl {
		t.before = []int{id}
	}
	t.decoders = []decoder{bytesOfFallback, func(tokens []string) []string {
		for i, token := range tokens {
			if unknown >= 0 && token == m.pieces[unknown] {
				tokens[i] = m.surface
				continue
			}
			if tokens[i] = strings.ReplaceAll(token, "▁", " "); i == 0 && m.prefix {
				tokens[i] = strings.TrimPrefix(tokens[i], " ")
			}
		}
		return tokens
	}}
	return t, nil
}

func (m *spModel) normalized(chars *charsMap, s string) string {
	if len(chars.units) > 0 {
		s = chars.longest(s)
	}
	if m.squeeze {
		words := strings.FieldsFunc(s, func(r rune) bool { return r == ' ' })
		s = strings.Join(words, " ")
	}
	if s != "" && m.prefix {
		s = " " + s
	}
	if m.escape {
		s = strings.ReplaceAll(s, " ", "▁")
	}
	return s
}

func (m *spModel) model(unknown int, fallback []int) model {
	plain := func(id int) bool {
		return m.kinds[id] == pieceNormal || m.kinds[id] == pieceUnused || m.kinds[id] == pieceUser
	}
	if m.kind != modelBPE {
		return newUnigram(m.pieces, m.scores, unknown, fallback, func(id int) bool { return !plain(id) })
	}
	vocab := map[string]int{}
	order := make([]int, 0, len(m.pieces)) // the greatest score first
	for id, piece := range m.pieces {
		if plain(id) {
			vocab[piece] = id
			order = append(order, id)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case m.scores[a] > m.scores[b]:
			return -1
		case m.scores[a] < m.scores[b]:
			return 1
		}
		return 0
	})
	b := &bpe{vocab: vocab, unknown: unknown, fuse: true, fallback: fallback, ranks: make([]int32, len(m.pieces))}
	for i := range b.ranks {
		b.ranks[i] = -1
	}
	for rank, id := range order {
		if m.kinds[id] != pieceUser {
			b.ranks[id] = int32(rank)
		}
	}
	b.prepare()
	return b
}
