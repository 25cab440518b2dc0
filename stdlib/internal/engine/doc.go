// Package engine holds the symbol tables of the engine's public packages. Everything but this file is
// generated.
package engine
