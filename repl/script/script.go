// Package script is part of mcs's front end.
package script
