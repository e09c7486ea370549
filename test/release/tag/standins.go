package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// journal names the file in which stand-ins write down what they were asked.
const journal = "STAND_IN_JOURNAL"

// asked is a line of the journal.
type asked struct {
	Program string
	Args    []string
	Digest  string // of the image that was asked for
}

// standIn is what this program does when it is called docker or cosign: it
// looks at what it is given, answers as the real one would, and writes it down.
// Neither an engine nor a signing service is there where this runs.
func standIn(program string, args []string) error {
	a := asked{Program: program, Args: args}
	var err error
	switch command := strings.Join(args[:min(2, len(args))], " "); {
	case program == "docker" && command == "buildx inspect":
		fmt.Println("Driver: docker-container")
		return nil
	case program == "docker" && command == "buildx build":
		a.Digest, err = image(args)
	case program == "cosign" && args[0] == "sign-blob":
		err = signBlob(args)
	case program != "cosign" || args[0] != "sign":
		err = fmt.Errorf("this stand-in does not know %s %s", program, command)
	}
	if err != nil {
		return err
	}
	line, err := json.Marshal(a)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(os.Getenv(journal), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// image takes a context as the Dockerfile wants it and gives a digest of what
// is in it, into the file that --iidfile names.
func image(args []string) (string, error) {
	h := sha256.New()
	for _, name := range []string{"Dockerfile", "linux/amd64/openai-responses-mcp", "linux/arm64/openai-responses-mcp"} {
		b, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			return "", err
		}
		h.Write(b)
	}
	digest := "sha256:" + hex.EncodeToString(h.Sum(nil))
	return digest, os.WriteFile(flagged(args, "--iidfile="), []byte(digest), 0o644)
}

func signBlob(args []string) error {
	b, err := os.ReadFile(args[2])
	if err != nil {
		return err
	}
	return os.WriteFile(flagged(args, "--bundle="), fmt.Appendf(nil, "{\"standIn\": \"%x\"}\n", sha256.Sum256(b)), 0o644)
}

// flagged is the value of a flag that is written as one word.
func flagged(args []string, flag string) string {
	for _, a := range args {
		if v, ok := strings.CutPrefix(a, flag); ok {
			return v
		}
	}
	return ""
}

// requests reads the journal, without its file for a program that was not
// asked anything.
func requests(name string) ([]asked, error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var all []asked
	for line := range strings.Lines(string(b)) {
		var a asked
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, err
}
