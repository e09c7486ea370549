package config

import (
	"cmp"
	"io/fs"
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
// so could replace the key; else "".
func OpenFolderWarning(path string) string {
	folder := filepath.Dir(path)
	if !othersMay(0o022, folder) {
		return ""
	}
	return "other users can replace the key: run chmod go-w " + folder
}

// othersMay reports whether other users have one of the rights to a file or folder. On Windows,
// where there are no modes, it returns false.
func othersMay(rights fs.FileMode, path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&rights != 0 && runtime.GOOS != "windows"
}
