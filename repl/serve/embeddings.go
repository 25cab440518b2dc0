package serve

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// mostInputs is how many texts a request may have.
const mostInputs = 2048

// embeddings answers with a vector for each text, one request at a time.
func (s *server) embeddings(w http.ResponseWriter, r *http.Request) error {
	var q struct {
		Model      string          `json:"model"`
		Input      json.RawMessage `json:"input"`
		Format     string          `json:"encoding_format"`
		Dimensions *int            `json:"dimensions"`
		User       any             `json:"user"`
		Task       string          `json:"task"` // beside OpenAI's, as Jina's own service has it
	}
	if err := read(w, r, &q); err != nil {
		return err
	}
	m := s.o.Embedder
	if m == nil || q.Model != s.o.EmbedName {
		var of []string
		if m != nil {
			of = []string{s.o.EmbedName}
		}
		return noModel(q.Model, of)
	}
	texts := make([]string, 1)
	if json.Unmarshal(q.Input, &texts[0]) != nil && json.Unmarshal(q.Input, &texts) != nil {
		return wrong("input", "got no text and no list of texts")
	}
	width := m.Width()
	switch {
	case len(texts) == 0 || len(texts) > mostInputs:
		return wrong("input", "got %d texts, want 1 to %d", len(texts), mostInputs)
	case q.Dimensions != nil && (*q.Dimensions < 1 || *q.Dimensions > width):
		return wrong("dimensions", "got %d, want 1 to %d", *q.Dimensions, width)
	case q.Format != "" && q.Format != "float" && q.Format != "base64":
		return wrong("encoding_format", "got %q, want float or base64", q.Format)
	}
	select {
	case s.inUse <- struct{}{}:
		defer func() { <-s.inUse }()
	case <-r.Context().Done():
		return s.whyEnded(r.Context())
	}
	used, err := 0, error(nil)
	if q.Task != "" && s.o.Task == nil {
		return wrong("task", "got %q, and the model has no tasks", q.Task)
	} else if q.Task != "" {
		if m, err = s.o.Task(q.Task); err != nil {
			return wrong("task", "%v", err)
		}
	}
	ids, err := m.Tokens(texts...)
	var vectors tensor.Tensor
	if err == nil {
		used = int(ids.Ge(0).Sum().Item())
		vectors, err = m.Encode(r.Context(), texts...)
	}
	if err != nil {
		return wrong("input", "%v", err)
	}
	if q.Dimensions != nil { // the first ones, as long as 1 again
		vectors = vectors.Slice(1, 0, *q.Dimensions)
		vectors = vectors.Div(vectors.Square().Sum(-1).Sqrt().Maximum(1e-12).Unsqueeze(-1))
		width = *q.Dimensions
	}
	all := vectors.Floats()
	data := make([]object, len(texts))
	for i := range texts {
		row := all[i*width : (i+1)*width]
		data[i] = object{"object": "embedding", "index": i, "embedding": row}
		if q.Format == "base64" {
			var b []byte // little-endian f32
			for _, x := range row {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
			}
			data[i]["embedding"] = base64.StdEncoding.EncodeToString(b)
		}
	}
	send(w, http.StatusOK, object{"object": "list", "model": q.Model, "data": data, "usage": object{"prompt_tokens": used, "total_tokens": used}})
	return nil
}
