// Package unread says how much may be read from a terminal or a pipe without waiting.
package unread
