package config

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
)

// WriteKeyFile writes a file that only its owner can read. An older file at path stays until the
// new file is complete.
func WriteKeyFile(path, data string) error {
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

// OpenFolderWarning returns a warning if other users can write to the folder of a stored key, and
// so could replace the key; else "". On Windows it is "", as folders have no modes there.
func OpenFolderWarning(path string) string {
	folder := filepath.Dir(path)
	info, err := os.Stat(folder)
	if err != nil || info.Mode()&0o022 == 0 || runtime.GOOS == "windows" {
		return ""
	}
	return "other users can replace the key: run chmod go-w " + folder
}
