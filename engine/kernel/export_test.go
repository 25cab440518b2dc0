package kernel

// Text returns the complete text with these values of the template's parameters, and those that stand for
// others.
func (k *Kernel) Text(values map[string]string) (string, error) {
	all := k.provisional()
	for name, v := range values {
		all[name] = v
	}
	return k.text(all)
}
