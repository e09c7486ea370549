package config

import (
	"cmp"
	"os"
	"path/filepath"
)

// Store writes a file that only the user can read, in place of an older one, which stays until the
// new one is complete.
func Store(path, data string) error {
	folder := filepath.Dir(path)
	err := os.MkdirAll(folder, 0o700)
	if err != nil {
		return err
	}
	temporary, err := os.CreateTemp(folder, filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}

	_, err = temporary.WriteString(data)
	err = cmp.Or(err, temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
	}
	return err
}
