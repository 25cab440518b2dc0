// Package term is part of mcs's front end.
package term
