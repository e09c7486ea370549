//go:build race

package compare

const race = true
