//go:build !go1.27

package gotype

// mapGroups says where keys and elements lie in a group of a map.
type mapGroups struct{ size, slotSize, elem uintptr }
