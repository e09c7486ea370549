// Package expire has a map whose entries expire.
package expire

// minSweep is how many entries a Map has before it is swept for the first time.
const minSweep = 64

// Map is a map whose entries expire. Whenever an entry is read, Expired decides about it, so a Map
// needs neither a goroutine nor a timer. Expired entries are never returned, but take memory until
// Set sweeps them: when the map has twice as many entries as after the last sweep. A Map without
// entries is a Map{Expired: f}. It is not safe for concurrent use.
type Map[K comparable, V any] struct {
	Expired func(V) bool // reports whether an entry has expired

	entries   map[K]V
	sweepSize int // how many entries make Set sweep, if more than minSweep
}

// Get returns the entry of a key, or the zero value if there is none or if it has expired.
func (m *Map[K, V]) Get(key K) V {
	value, ok := m.entries[key]
	if ok && m.Expired(value) {
		return *new(V)
	}
	return value
}

// Set sets the entry of a key. It may sweep the expired entries first.
func (m *Map[K, V]) Set(key K, value V) {
	if m.entries == nil {
		m.entries = map[K]V{}
	}
	if len(m.entries) >= max(m.sweepSize, minSweep) {
		m.sweepSize = 2 * len(m.Live())
	}
	m.entries[key] = value
}

// Delete deletes the entry of a key.
func (m *Map[K, V]) Delete(key K) { delete(m.entries, key) }

// Clear deletes all entries.
func (m *Map[K, V]) Clear() { clear(m.entries) }

// Live sweeps the expired entries, and returns the map of all others. Until the next Set, the
// caller may read it, and delete entries from it.
func (m *Map[K, V]) Live() map[K]V {
	for key, value := range m.entries {
		if m.Expired(value) {
			delete(m.entries, key)
		}
	}
	return m.entries
}
