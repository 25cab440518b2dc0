package llm

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/chat"
	"github.com/mcs-notebook/mcs/internal/testing/mutate"
)

// Every file of a folder is damaged in 500 ways: an error that names the folder, or a
// model that works. Nothing panics, and memory stays near to what the files take.
func TestDamagedFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(chatFolder)); err != nil {
		t.Fatal(err)
	}
	index := `{"metadata": {"total_size": 1}, "weight_map": {` // of the one file that there is
	m := loaded(t, dir)
	params, _, err := m.stored()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range params {
		index += `"` + p.Name + `": "model.safetensors", `
	}
	if err := os.WriteFile(filepath.Join(dir, weightsFile+".index.json"), []byte(strings.TrimSuffix(index, ", ")+"}}"), 0o644); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	measured := func() (m *Model, allocated uint64, err error) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m, err = Load(context.Background(), dir)
		runtime.ReadMemStats(&after)
		return m, after.TotalAlloc - before.TotalAlloc, err
	}
	_, sound, err := measured()
	if err != nil {
		t.Fatal(err)
	}
	for seed, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		whole, err := os.ReadFile(path)
		if err != nil || entry.Name() == "chats.json" {
			continue
		}
		head := len(whole)
		if strings.HasSuffix(path, ".safetensors") {
			head = min(head, 4<<10) // what the header says
		}
		refused := 0
		mutate.Each(uint64(seed), 500, whole[:head], func(i int, mutant []byte) {
			if err := os.WriteFile(path, slices.Concat(mutant, whole[head:]), 0o644); err != nil {
				t.Fatal(err)
			}
			m, got, err := measured()
			if limit := 2*sound + 2<<20; got > limit {
				t.Errorf("%s, mutant %d: %d bytes allocated, want at most %d", entry.Name(), i, got, limit)
			}
			if err != nil {
				if refused++; !strings.Contains(err.Error(), dir) && !strings.Contains(err.Error(), entry.Name()) {
					t.Errorf("%s, mutant %d: %v does not name the file", entry.Name(), i, err)
				}
				return
			}
			m.ChatText([]chat.Message{{Role: "user", Content: "a"}}, chat.Options{AddGenerationPrompt: true}) // an error is fine
		})
		if refused == 0 && strings.HasSuffix(path, ".json") && !strings.HasPrefix(entry.Name(), "special_tokens") {
			t.Errorf("%s: none of 100 damaged files was refused", entry.Name())
		}
		if err := os.WriteFile(path, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
