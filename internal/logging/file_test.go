package logging

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// A file that cannot be written any more is a warning, once.
func TestDebugFile(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "debug.log"))
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	w := &debugFile{File: file, log: slog.New(slog.NewTextHandler(&stderr, nil))}
	log := slog.New(slog.NewTextHandler(w, nil))
	log.Info("written")
	compare.Equal(t, "stderr", stderr.String(), "")

	_ = file.Close()
	log.Info("lost")
	log.Info("lost")
	compare.Equal(t, "warnings", strings.Count(stderr.String(), "the debug file cannot be written"), 1)
}
