// Package expire has a map whose entries end.
package expire

// minSweep is how many entries a Map has before it is swept for the first time.
const minSweep = 64

// Map is a map whose entries end by a rule, which is asked when an entry is read: no goroutine and
// no timer is needed. Entries that have ended only take memory. Set sweeps them when the map has
// twice as many entries as after the last sweep. The zero value has no entries and needs Ended. A
// Map is not safe for concurrent use.
type Map[K comparable, V any] struct {
	Ended func(V) bool

	entries map[K]V
	sweep   int // with how many entries Set sweeps; at least minSweep
}

// Get returns the entry of a key, or the zero value if there is none that has not ended.
func (m *Map[K, V]) Get(key K) V {
	value, ok := m.entries[key]
	if ok && m.Ended(value) {
		return *new(V)
	}
	return value
}

// Set sets the entry of a key.
func (m *Map[K, V]) Set(key K, value V) {
	if m.entries == nil {
		m.entries = map[K]V{}
	}
	if len(m.entries) >= max(m.sweep, minSweep) {
		m.sweep = 2 * len(m.All())
	}
	m.entries[key] = value
}

// Delete deletes the entry of a key.
func (m *Map[K, V]) Delete(key K) { delete(m.entries, key) }

// Clear deletes all entries.
func (m *Map[K, V]) Clear() { clear(m.entries) }

// All sweeps, and returns the entries that have not ended. They may be read, and deleted, until the
// next Set.
func (m *Map[K, V]) All() map[K]V {
	for key, value := range m.entries {
		if m.Ended(value) {
			delete(m.entries, key)
		}
	}
	return m.entries
}
