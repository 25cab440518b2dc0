package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/wrap"
)

// An Entry is a tensor to be written.
type Entry struct {
	Name  string
	DType string // the format's name: "F32"
	Shape []int
	Data  []byte // C order, little endian
}

// WriteFile makes or replaces the file at path. Readers find the old file or the whole new one: see package
// durable.
func WriteFile(path string, entries []Entry, metadata map[string]string) (err error) {
	entries, header, err := encodeHeader(entries, metadata)
	if err != nil {
		return err
	}
	defer wrap.Error(&err, "safetensors: "+path)
	return durable.WriteFile(path, func(w io.Writer) error { return write(w, header, entries) })
}

// Write writes a file's bytes to w.
func Write(w io.Writer, entries []Entry, metadata map[string]string) error {
	entries, header, err := encodeHeader(entries, metadata)
	if err != nil {
		return err
	}
	return write(w, header, entries)
}

func write(w io.Writer, header []byte, entries []Entry) error {
	var prefix [8]byte
	binary.LittleEndian.PutUint64(prefix[:], uint64(len(header)))
	if _, err := w.Write(prefix[:]); err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	for _, e := range entries {
		if _, err := w.Write(e.Data); err != nil {
			return err
		}
	}
	return nil
}

// encodeHeader sorts the entries (wide types first, then by name, as the format's own library does, so that
// every tensor is aligned) and makes the header, padded so that the data begins at a multiple of 8.
func encodeHeader(entries []Entry, metadata map[string]string) ([]Entry, []byte, error) {
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(typeBits[b.DType], typeBits[a.DType]), cmp.Compare(a.Name, b.Name))
	})
	var h bytes.Buffer
	h.WriteByte('{')
	if len(metadata) > 0 {
		text, err := metadataJSON(metadata)
		if err != nil {
			return nil, nil, err
		}
		fmt.Fprintf(&h, `"__metadata__":%s`, text)
	}
	seen := map[string]bool{"__metadata__": true}
	offset := int64(0)
	for _, e := range entries {
		if err := checkEntry(e, seen); err != nil {
			return nil, nil, err
		}
		if h.Len() > 1 {
			h.WriteByte(',')
		}
		name, _ := json.Marshal(e.Name)
		shape, _ := json.Marshal(append([]int{}, e.Shape...))
		end := offset + int64(len(e.Data))
		fmt.Fprintf(&h, `%s:{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}`, name, e.DType, shape, offset, end)
		offset = end
	}
	h.WriteByte('}')
	for h.Len()%8 != 0 {
		h.WriteByte(' ')
	}
	if h.Len() > maxHeader {
		return nil, nil, fmt.Errorf("safetensors: write: the header has %d bytes, want at most %d", h.Len(), maxHeader)
	}
	if problem := headerOutOfProportion(int64(h.Len()), offset); problem != "" {
		return nil, nil, fmt.Errorf("safetensors: write: %s", problem)
	}
	return entries, h.Bytes(), nil
}

func checkEntry(e Entry, seen map[string]bool) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("safetensors: write: tensor %q: %s", e.Name, fmt.Sprintf(format, args...))
	}
	if seen[e.Name] {
		return refuse("the name is taken")
	}
	seen[e.Name] = true
	if !utf8.ValidString(e.Name) {
		return refuse("the name is not UTF-8")
	}
	if typeBits[e.DType] == 0 {
		return refuse("got dtype %q, want one of the format's", e.DType)
	}
	if len(e.Shape) > maxRank {
		return refuse("got %d dimensions, want at most %d", len(e.Shape), maxRank)
	}
	if want, ok := sizeOf(e.DType, e.Shape); !ok || want != int64(len(e.Data)) {
		return refuse("got %d bytes for %s%v, want %d", len(e.Data), e.DType, e.Shape, want)
	}
	return nil
}

// metadataJSON writes the metadata in the order of its keys, so that equal files have equal bytes.
func metadataJSON(metadata map[string]string) ([]byte, error) {
	if len(metadata) > maxMetadata {
		return nil, fmt.Errorf("safetensors: write: got %d keys of metadata, want at most %d", len(metadata), maxMetadata)
	}
	for _, k := range slices.Sorted(maps.Keys(metadata)) {
		if !utf8.ValidString(k) || !utf8.ValidString(metadata[k]) {
			return nil, fmt.Errorf("safetensors: write: metadata %q is not UTF-8", k)
		}
	}
	return json.Marshal(metadata)
}
