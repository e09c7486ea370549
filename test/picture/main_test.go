package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

func TestPictureIsCurrent(t *testing.T) {
	t.Chdir("../..")
	switch err := run(t.Context(), true); {
	case errors.Is(err, errors.ErrUnsupported):
		t.Skip("no terminal for tests on this system")
	case err != nil:
		t.Error(err)
	}
}

func TestPictureIsXML(t *testing.T) {
	data, err := os.ReadFile("../../" + picture)
	if err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(strings.NewReader(string(data)))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(string(data), "prefers-color-scheme: dark") {
		t.Error("the picture has no dark side")
	}
}
