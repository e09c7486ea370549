package config

import (
	"cmp"
	"os"
	"path/filepath"
)

// Store writes a file that only the user can read, in place of an older one. Until it is complete it
// is next to its folder, so that a killed login leaves nothing in it; or in the folder, if that is a
// mount point.
func Store(path, data string) error {
	folder := filepath.Dir(path)
	err := os.MkdirAll(folder, 0o700)
	if err != nil {
		return err
	}

	for _, place := range []string{folder, path} {
		err = storeBeside(place, path, data)
		if err == nil {
			return nil
		}
	}
	return err
}

// storeBeside writes a new file next to a place, which no one else can have prepared, and moves it to
// path.
func storeBeside(place, path, data string) error {
	temporary, err := os.CreateTemp(filepath.Dir(place), filepath.Base(place)+"-*") // mode 0600
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
