package ggufhub

import (
	"fmt"
	"strings"
)

// fileTypes are the types in which matrices can be written, and what general.file_type says of them.
var fileTypes = []struct {
	name   string
	number uint32
}{{"f32", 0}, {"f16", 1}, {"bf16", 32}, {"q8_0", 7}, {"q4_0", 2}, {"q6_k", 18}, {"q4_k_m", 15}}

// Types lists them.
func Types() []string {
	var names []string
	for _, t := range fileTypes {
		names = append(names, t.name)
	}
	return names
}

// finer are the matrices that llama.cpp gives more bits than others in Q4_K_M: in models of 8 experts, or
// others; in all layers, or some; by the last part of their name. The first row counts.
var finer = []struct {
	experts, some bool
	part, typ     string
}{
	{true, false, "attn_v", "Q8_0"},
	{true, false, "attn_k", "Q8_0"},
	{true, false, "attn_output", "Q5_K"},
	{false, true, "attn_v", "Q6_K"},
	{false, true, "ffn_down", "Q6_K"},
}

// coarser are the types of blocks of 32 for rows that are no whole blocks of 256.
var coarser = map[string]string{"Q4_K": "Q5_0", "Q5_K": "Q5_1", "Q6_K": "Q8_0"}

// typeOf chooses the type of a matrix of the file. typ is one of [Types], in capitals, or "".
func (f *folder) typeOf(typ, name string, columns int) string {
	switch {
	case name == "output.weight" && strings.Contains(typ, "_K"), name == "token_embd.weight" && f.tied && strings.Contains(typ, "_K"):
		typ = "Q6_K"
	case strings.Contains(typ, "_K"):
		typ = f.mixed(typ, name)
	}
	if other := coarser[typ]; other != "" && columns%256 != 0 {
		typ = other
	}
	if strings.HasPrefix(typ, "Q") && columns%32 != 0 {
		return "F16"
	}
	return typ
}

// mixed is the type of a matrix in Q4_K_M or Q6_K, the output matrix aside. In Q4_K_M a quarter of the layers
// at the ends of the model and every third of those between get more bits.
func (f *folder) mixed(typ, name string) string {
	layer, part := 0, ""
	fmt.Sscanf(strings.ReplaceAll(name, ".", " "), "blk %d %s", &layer, &part)
	if part == "attn_qkv" {
		part = "attn_v"
	}
	layers, _ := f.metadata[f.arch+".block_count"].(uint32)
	experts, _ := f.metadata[f.arch+".expert_count"].(uint32)
	n := int(layers)
	some := layer < n/8 || layer >= 7*n/8 || (layer-n/8)%3 == 2
	for _, row := range finer {
		same := part == row.part || row.part == "ffn_down" && strings.HasPrefix(part, row.part) // of experts, too
		if same && (experts == 8 || !row.experts) && (some || !row.some) && (typ == "Q4_K_M" || row.typ == "Q8_0") {
			return row.typ
		}
	}
	if typ == "Q6_K" {
		return typ
	}
	if part == "attn_v" && f.arch == "llama" && n == 80 {
		return "Q5_K" // 70B, whose heads share few values
	}
	return "Q4_K"
}
