// Package wire reads and writes the two framings of spec §2.1, strictly: what a
// client may get to read, to the letter. Only tests and tools use it.
package wire
