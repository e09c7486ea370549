package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// play runs both plays in folders below work.
func play(ctx context.Context, p *proofs, source, work string) error {
	well, err := newStage(ctx, source, filepath.Join(work, "well"), &p.log)
	if err != nil {
		return err
	}
	defer well.net.close()
	asItShould(ctx, p, well)
	badly, err := newStage(ctx, source, filepath.Join(work, "badly"), &p.log)
	if err != nil {
		return err
	}
	defer badly.net.close()
	withFailures(ctx, p, badly)
	p.prove("release.yml asks nobody but GitHub", func() (string, error) {
		if s := append(well.net.strangers(), badly.net.strangers()...); len(s) > 0 {
			return "", fmt.Errorf("somebody asked for %v", s)
		}
		return fmt.Sprint(well.net.hosts), nil
	})
	return nil
}

// asItShould is a tag without a failure.
func asItShould(ctx context.Context, p *proofs, s *stage) {
	p.prove("release.yml takes the tag of package.json, and no other", func() (string, error) {
		step := func(title string) bool {
			return strings.HasPrefix(title, "actions/checkout") || strings.HasPrefix(title, "The tag is")
		}
		if _, err := s.job(ctx, "check", step); err != nil {
			return "", err
		}
		other := *s.runner
		other.values = map[string]string{"github.ref_name": "v99.0.0"}
		m, err := newMachine(filepath.Join(s.folder, "other"))
		if err != nil {
			return "", err
		}
		if err := os.CopyFS(m.dir, os.DirFS(other.source)); err != nil {
			return "", err
		}
		if err := other.play(ctx, "check", m, func(title string) bool { return strings.HasPrefix(title, "The tag is") }); err == nil {
			return "", errors.New("it took v99.0.0")
		}
		return "v" + s.version, nil
	})
	p.prove("release.yml releases", func() (string, error) {
		if _, err := s.job(ctx, "build", nil); err != nil {
			return "", err
		}
		if !s.kept("dist", "dist.tar") {
			return "", errors.New("the job left no dist.tar")
		}
		return s.released()
	})
	p.prove("each file of the release was uploaded once", s.once)
	p.prove("the notes are those of the changelog", s.notes)
	p.prove("the cask is in the tap", func() (string, error) { return s.tapped(ctx) })
	p.prove("the image has its tags and is signed", s.imaged)
	p.prove("release.yml attests the published checksums", func() (string, error) {
		_, err := s.job(ctx, "attest", nil)
		return "and the image's digests", err
	})
	p.prove("npm packages hold the released binaries", func() (string, error) { return s.npm(ctx) })
	p.prove("the registry's entry names the released bundle", func() (string, error) { return s.entry(ctx) })
}

// withFailures is a tag whose job breaks off twice, and is run again each time.
func withFailures(ctx context.Context, p *proofs, s *stage) {
	var last *machine
	s.breakAt = 4
	p.prove("an upload breaks off: nothing is out", func() (string, error) { return s.breaksOff(ctx) })
	s.breakAt, s.expired = 0, []string{s.tapToken}
	p.prove("run again with an expired token of the tap: the same draft is released whole, and the job fails", func() (string, error) {
		if err := s.fails(ctx); err != nil {
			return "", err
		}
		return s.released()
	})
	s.expired = nil
	p.prove("run again after publication: the files stay, the cask is written", func() (figure string, err error) {
		last, figure, err = s.again(ctx)
		return figure, err
	})
	p.prove("run again, the other jobs get the released binaries", func() (string, error) {
		_, err := s.job(ctx, "attest", nil)
		figure, more := s.npm(ctx)
		return figure, errors.Join(err, more)
	})
	p.prove("other bytes than the published ones stop the job", func() (string, error) { return s.differs(ctx, last) })
}

// fails runs the job, which must not get to its end, write a cask or leave the
// other jobs anything.
func (s *stage) fails(ctx context.Context) error {
	if _, err := s.job(ctx, "build", nil); err == nil {
		return errors.New("the job did not fail")
	}
	if len(s.commits) > 0 || s.kept("dist", "dist.tar") {
		return errors.New("there is a cask, or something for the other jobs")
	}
	return nil
}

func (s *stage) breaksOff(ctx context.Context) (string, error) {
	if err := s.fails(ctx); err != nil {
		return "", err
	}
	x, err := s.only()
	if err != nil {
		return "", err
	}
	if !x.Draft {
		return "", errors.New("the release is out")
	}
	return fmt.Sprintf("a draft with %d files, one of them half", len(x.Assets)), nil
}

// again runs the job for a release that is out, and gives the machine on which
// it ran.
func (s *stage) again(ctx context.Context) (*machine, string, error) {
	before, err := s.sums()
	if err != nil {
		return nil, "", err
	}
	m, err := s.job(ctx, "build", nil)
	if err != nil {
		return nil, "", err
	}
	if after, err := s.sums(); err != nil || string(after) != string(before) {
		return nil, "", errors.Join(errors.New("other files are published now"), err)
	}
	if !s.kept("dist", "dist.tar") {
		return nil, "", errors.New("the job left no dist.tar")
	}
	_, err = s.released()
	_, more := s.tapped(ctx)
	return m, "the same bytes were built", errors.Join(err, more)
}

// differs runs the step that compares, on the machine of a job, after a byte of
// the release has changed.
func (s *stage) differs(ctx context.Context, m *machine) (string, error) {
	const step = "What was built is what was released"
	x, err := s.only()
	if err != nil {
		return "", err
	}
	if m == nil {
		return "", errors.New("no job was run to its end")
	}
	for _, a := range x.Assets {
		if a.Name == "checksums.txt" {
			a.data = []byte(strings.Replace(string(a.data), ".deb", ".deb.other", 1))
		}
	}
	if err := os.RemoveAll(filepath.Join(m.temp, "released")); err != nil {
		return "", err
	}
	if err := s.runner.play(ctx, "build", m, func(title string) bool { return title == step }); err == nil {
		return "", errors.New("it did not")
	}
	return step, nil
}
