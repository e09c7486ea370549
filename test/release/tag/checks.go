package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// only is the release, drafts included.
func (s *stage) only() (*release, error) {
	if len(s.releases) != 1 {
		return nil, fmt.Errorf("there are %d releases, want one", len(s.releases))
	}
	return s.releases[0], nil
}

// files is the release's files by name.
func (s *stage) files() (map[string][]byte, error) {
	x, err := s.only()
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	for _, a := range x.Assets {
		if a.State != "uploaded" || all[a.Name] != nil {
			return nil, fmt.Errorf("the file %s is %s, or there twice", a.Name, a.State)
		}
		all[a.Name] = a.data
	}
	return all, nil
}

func (s *stage) sums() ([]byte, error) {
	all, err := s.files()
	return all["checksums.txt"], err
}

// released holds the release to what a tag promises: it is out, and every file
// is there with the bytes that checksums.txt says.
func (s *stage) released() (string, error) {
	all, err := s.files()
	if err != nil {
		return "", err
	}
	x := s.releases[0]
	if x.Draft || x.Prerelease || x.Name != "v"+s.version || x.Tag != x.Name || x.PublishedAt == nil {
		return "", fmt.Errorf("the release is %q of %q, draft %t, prerelease %t", x.Name, x.Tag, x.Draft, x.Prerelease)
	}
	want := map[string]int{".tar.gz": 5, ".zip": 2, ".deb": 2, ".rpm": 2, ".apk": 2, ".pkg.tar.zst": 2, ".mcpb": 1, ".sbom.json": 7}
	for line := range strings.Lines(string(all["checksums.txt"])) {
		sum, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
		got := sha256.Sum256(all[file])
		if sum != hex.EncodeToString(got[:]) {
			return "", fmt.Errorf("%s has %d bytes that are not those of checksums.txt", file, len(all[file]))
		}
		for end := range want {
			if strings.HasSuffix(file, end) {
				want[end]--
			}
		}
		delete(all, file)
	}
	for end, n := range want {
		if n != 0 {
			return "", fmt.Errorf("checksums.txt names %d files %s too few", n, end)
		}
	}
	if len(all) != 2 || all["checksums.txt.sigstore.json"] == nil {
		return "", fmt.Errorf("besides the files of checksums.txt there are %d, want it and its signature", len(all))
	}
	return fmt.Sprintf("%d files", len(x.Assets)), nil
}

// once is about the whole life of the release.
func (s *stage) once() (string, error) {
	for file, n := range s.uploaded {
		if n != 1 {
			return "", fmt.Errorf("%s was uploaded %d times", file, n)
		}
	}
	all, err := s.files()
	if err != nil {
		return "", err
	}
	if len(s.uploaded) != len(all) {
		return "", fmt.Errorf("%d files were uploaded and %d are there", len(s.uploaded), len(all))
	}
	return fmt.Sprintf("%d files", len(s.uploaded)), nil
}

// notes compares with the text between two headings, found without the help of
// packaging/notes.
func (s *stage) notes() (string, error) {
	text, err := os.ReadFile(filepath.Join(s.runner.source, "docs", "changelog.md"))
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(string(text), "\n## v"+s.version+" ")
	_, rest, _ = strings.Cut(rest, "\n")
	want, _, _ := strings.Cut(rest, "\n## ")
	x, err := s.only()
	if err != nil {
		return "", err
	}
	if got := strings.TrimSpace(x.Body); got == "" || got != strings.TrimSpace(want) {
		return "", fmt.Errorf("the notes are\n%s\nwant\n%s", got, want)
	}
	return fmt.Sprintf("%d bytes", len(x.Body)), nil
}

// tapped evaluates the cask of the tap's only commit.
func (s *stage) tapped(ctx context.Context) (string, error) {
	all, err := s.files()
	if err != nil {
		return "", err
	}
	c := s.file(cask)
	if len(s.commits) != 1 || c == nil || c.message != name+" "+s.version {
		return "", fmt.Errorf("the tap has %d commits, want one of %s", len(s.commits), cask)
	}
	rb, sums := filepath.Join(s.folder, "cask.rb"), filepath.Join(s.folder, "checksums.txt")
	if err := errors.Join(os.WriteFile(rb, c.content, 0o644), os.WriteFile(sums, all["checksums.txt"], 0o644)); err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, "ruby", filepath.Join(s.runner.source, "test", "release", "cask.rb"), rb, s.version, sums).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return c.message, nil
}

// imaged asks the stand-ins what they were asked for.
func (s *stage) imaged() (string, error) {
	asked, err := requests(s.journal)
	if err != nil {
		return "", err
	}
	minor := s.version[:strings.LastIndexByte(s.version, '.')]
	image := "ghcr.io/" + owner + "/" + name
	want := []string{image + ":" + minor, image + ":" + s.version, image + ":latest"}
	var tags, signed []string
	var digest string
	for _, a := range asked {
		line := strings.Join(a.Args, " ")
		switch {
		case a.Program == "docker":
			if !strings.Contains(line, "--platform linux/amd64,linux/arm64 ") || !strings.Contains(line, " --push ") || !strings.Contains(line, "SOURCE=prebuilt") {
				return "", fmt.Errorf("docker was called with %s", line)
			}
			digest = a.Digest
			for i, arg := range a.Args {
				if arg == "-t" {
					tags = append(tags, a.Args[i+1])
				}
			}
		case a.Args[0] == "sign":
			ref, _, _ := strings.Cut(a.Args[1], "@")
			if a.Args[1] != ref+"@"+digest {
				return "", fmt.Errorf("cosign signed %s, and the image is %s", a.Args[1], digest)
			}
			signed = append(signed, ref)
		}
	}
	for _, got := range [][]string{tags, signed} {
		slices.Sort(got)
		if !slices.Equal(got, want) {
			return "", fmt.Errorf("pushed as %v and signed as %v, want %v", tags, signed, want)
		}
	}
	return fmt.Sprintf("%s, %s and latest", s.version, minor), nil
}

// npm runs the job up to where a registry is needed, and looks for the binary
// of every package in the archives that are published.
func (s *stage) npm(ctx context.Context) (string, error) {
	m, err := s.job(ctx, "npm", func(title string) bool {
		// Node 20 brings an older npm, which is enough for all but publishing.
		return !strings.Contains(title, "Trusted Publishing") && !strings.Contains(title, "packages:publish") && title != "npm shows all of them"
	})
	if err != nil {
		return "", err
	}
	released, err := s.binaries()
	if err != nil {
		return "", err
	}
	packed, err := filepath.Glob(filepath.Join(m.dir, "bin", "packages", "*", "bin", name+"*"))
	if err != nil {
		return "", err
	}
	if len(packed) != 6 {
		return "", fmt.Errorf("%d packages have a binary, want 6", len(packed))
	}
	for _, file := range packed {
		b, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if !released[sha256.Sum256(b)] {
			return "", fmt.Errorf("%s is in no archive of the release", file)
		}
	}
	return fmt.Sprintf("%d", len(packed)), nil
}

// binaries are the hashes of the programs in the released archives.
func (s *stage) binaries() (map[[sha256.Size]byte]bool, error) {
	all, err := s.files()
	if err != nil {
		return nil, err
	}
	found := map[[sha256.Size]byte]bool{}
	add := func(file string, r io.Reader) error {
		if base := path.Base(file); base != name && base != name+".exe" {
			return nil
		}
		b, err := io.ReadAll(r)
		found[sha256.Sum256(b)] = true
		return err
	}
	for file, data := range all {
		switch {
		case strings.HasSuffix(file, ".tar.gz"):
			err = errors.Join(err, untar(data, add))
		case strings.HasSuffix(file, ".zip"):
			err = errors.Join(err, unzip(data, add))
		}
	}
	return found, err
}

func untar(data []byte, each func(string, io.Reader) error) error {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = each(h.Name, t)
		}
		if err != nil {
			return err
		}
	}
}

func unzip(data []byte, each func(string, io.Reader) error) error {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return err
		}
		if err := errors.Join(each(f.Name, r), r.Close()); err != nil {
			return err
		}
	}
	return nil
}

// entry runs the step of the job that makes the entry.
func (s *stage) entry(ctx context.Context) (string, error) {
	m, err := s.job(ctx, "registry", func(title string) bool { return title != "Publish it" })
	if err != nil {
		return "", err
	}
	var doc struct {
		Packages []struct{ Identifier, FileSha256 string }
	}
	b, err := os.ReadFile(filepath.Join(m.dir, "entry.json"))
	if err == nil {
		err = json.Unmarshal(b, &doc)
	}
	all, more := s.files()
	if err = errors.Join(err, more); err != nil {
		return "", err
	}
	for _, p := range doc.Packages {
		file, ok := strings.CutPrefix(p.Identifier, "https://github.com/"+owner+"/"+name+"/releases/download/v"+s.version+"/")
		got := sha256.Sum256(all[file])
		if ok && all[file] != nil && p.FileSha256 == hex.EncodeToString(got[:]) {
			return file, nil
		}
	}
	return "", errors.New("no package of the entry is a file of the release")
}
