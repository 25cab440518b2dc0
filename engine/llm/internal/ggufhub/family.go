package ggufhub

import (
	"slices"
	"strings"
)

// A Family says how the files of a family of models differ from its folders.
type Family struct {
	Type         string            // model_type of the folder's config.json
	Architecture string            // general.architecture of the file; "": there are only folders
	Windowed     bool              // of several families with the architecture it is the one with a window
	Interleaved  bool              // the halves of each head of q and k are interleaved in the file
	Grouped      bool              // q, k and v of each head of keys stand together in folders, one after the other in files
	Second       Second            // a tensor that files call otherwise where there is one more
	PlusOne      bool              // the file has weights of norms plus 1
	Tells        Pairs             // settings that are true where the file has that tensor
	Keys         Pairs             // numbers and switches of the metadata, after the architecture, and settings that are the same
	Yarn         Pairs             // the same for settings of yarn
	Says         map[string]uint32 // numbers of the metadata, by which alone a file of the family is known; 0: any
	Changes      func() []Change   // tensors that files have in another form
	Lists        []List            // weights of one number, which files have as lists of the metadata
	Global       bool              // layers without a window have other heads than those with one, and each kind turns in its own way
	Fused        bool              // gate and up of all experts are one tensor
	Latent       bool              // keys and values are made of short vectors
	Untruncated  bool              // yarn's bounds are fractions
	Fixed        map[string]any    // metadata that all files of the family have, and folders have not
	Calls        Pairs             // parts of names of tensors, and what other folders of the architecture call them

	State         string // word of layer_types for layers that keep a state; "": there are none
	Kinds         string // the field of these words; "": layer_types
	Attentionless bool   // no layer has attention, nor a feed-forward layer
	Attending     string // the field that lists the layers with attention, in place of their kinds; "": there is none
	Interval      int    // files say which layers have one, and that every so many have none
	Finetuned     bool   // files say whether anything turns, as position_embedding_type does
	Width         string // the field of a state's head's width; "": states have none

	Sparse            bool           // mlp_layer_types says which layers have experts, whose weights add up to 1, and num_shared_experts how many all tokens go through
	Mixed             bool           // of several families with the architecture it is the one with experts
	MixedArchitecture string         // of files with experts; "": the same
	Knows             map[string]any // what llama.cpp knows without metadata

	Layers bool // the window is not that of all layers: the metadata say which have it, or else Every does
	Every  int  // every so many layers one has no window; 0: there is no such rule
	Always bool // layers have the window, though the metadata do not say its size

	Gemma   bool // llama.cpp knows of it, without metadata, its activation and the width by which scores are divided,
	Largest int  // which is another one in the model of so many layers

	Partial     float64 // partial_rotary_factor of a folder that does not say it; 0: 1
	Theta       float64 // rope_theta of a folder that does not say it; 0: 10000
	LocalTheta  float64 // rope_local_base_freq of a file that does not say it; 0: there is no such setting
	SaysWindow  bool    // a file says that there is no window: llama.cpp takes one that does not for an old converter's
	SaysContext bool    // a file says the original context also where it is the context
}

// Pairs are words and what stands for them.
type Pairs [][2]string

// Of is what stands for a word, of several the last, and "" where nothing does.
func (p Pairs) Of(word string) string {
	for _, pair := range slices.Backward(p) {
		if pair[0] == word {
			return pair[1]
		}
	}
	return ""
}

// A Second says that where a file has Tensor a folder calls Name what it otherwise calls Alone, and Setting
// is 2, not 1.
type Second struct{ Tensor, Alone, Name, Setting string }

// A List is a list of the metadata with a number of each layer, which is a tensor of the folder's layer.
type List struct {
	Key, End string // the key, and the end of the tensor's name
	Rank     int    // of the tensor, 0 or 1
}

// called is a name of a tensor as other folders of the architecture have it, or the family's own of that one.
func (f Family) called(name string, own bool) string {
	var list []string
	for _, p := range f.Calls {
		if own {
			p[0], p[1] = p[1], p[0]
		}
		list = append(list, p[:]...)
	}
	return strings.NewReplacer(list...).Replace(name)
}

// listed finds the list of a weight.
func (f Family) listed(name string) (List, bool) {
	i := slices.IndexFunc(f.Lists, func(l List) bool { return strings.HasSuffix(name, l.End) })
	if i < 0 {
		return List{}, false
	}
	return f.Lists[i], true
}

// ofHeads is the end of the keys of the heads' own lengths in files whose heads share the short vector.
func (f Family) ofHeads() string {
	if f.Changes == nil {
		return ""
	}
	return "_mla"
}

// Families are those that are known.
type Families []Family

// String lists those that files may have, by model_type.
func (list Families) String() string {
	var names []string
	for _, f := range list {
		if f.Architecture != "" {
			names = append(names, f.Type)
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// written finds the family of the files of a folder: of those of its type the first, or another one of which
// llama.cpp knows more, where all of that is so.
func (list Families) written(config object) (found Family) {
	for _, f := range list {
		first := found.Type == ""
		if f.Type != config["model_type"] || !first && len(f.Knows) <= len(found.Knows) {
			continue
		}
		so := true
		for field, x := range f.Knows {
			so = so && config[field] == x
		}
		if first || so {
			found = f
		}
	}
	return found
}

// of finds the family of an architecture: of those that a file may be of the one that is known by the most,
// and of several the first.
func (list Families) of(architecture string, windowed, mixed bool, number func(key string) float64) Family {
	found, most := Family{Type: architecture, Architecture: architecture}, -1
	for _, f := range list {
		says, n := true, len(f.Says)
		if f.Windowed {
			n++
		}
		if f.Mixed {
			n += 2
		}
		for key, x := range f.Says {
			says = says && number(key) != 0 && (x == 0 || number(key) == float64(x))
		}
		if (f.Architecture == architecture || f.MixedArchitecture == architecture) && (!f.Windowed || windowed) && (!f.Mixed || mixed) && says && n > most {
			found, most = f, n
		}
	}
	return found
}
