package lora

import (
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/optim"
)

// Plus is LoRA+ (Hayou et al. 2024): a rule that changes B with ratio times the learning rate, and likewise
// vectors (biases, norms, the lengths of DoRA), as PEFT does. The authors recommend 16. A nil rule is
// optim.AdamW{}.
func (a *Adapter) Plus(rule optim.Rule, ratio float64) optim.Rule {
	var names []string
	for _, p := range a.Params() {
		if !strings.Contains(p.Name, ".lora_B") && p.Value().Rank() != 1 {
			continue
		}
		parts := strings.Split(p.Name, ".")
		from := max(0, len(parts)-2) // "norm.weight", "lora_B.french"
		if strings.HasPrefix(parts[len(parts)-1], "lora_") {
			from++
		}
		if name := strings.Join(parts[from:], "."); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return rule
	}
	return optim.Grouped{Rule: rule, Groups: []optim.Group{{Params: strings.Join(names, " "), Rate: ratio}}}
}
