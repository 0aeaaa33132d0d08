package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// reproduce builds the program for this machine's platform again, from the same commit in another
// directory, and compares the two byte by byte. withoutCache shares no cache with the first
// build, and so takes minutes.
func (d *dist) reproduce(ctx context.Context, withoutCache bool) error {
	released, err := d.program(thisPlatform())
	if err != nil {
		return err
	}
	directory, err := os.MkdirTemp("", "jobmanagedby-reproduce-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(directory) }()
	source, built := filepath.Join(directory, "source"), filepath.Join(directory, "built")
	env := append(os.Environ(), "CGO_ENABLED=0")
	if withoutCache {
		env = append(env, "GOCACHE="+filepath.Join(directory, "cache"))
	}
	for _, step := range []struct {
		dir   string
		words []string
	}{
		{".", []string{"git", "clone", "--quiet", "--no-hardlinks", ".", source}},
		{source, []string{"go", "build", "-trimpath", "-buildvcs=true", "-ldflags", "-s -w", "-o", built, "./cmd/kubectl-jobmanagedby"}},
	} {
		cmd := exec.CommandContext(ctx, step.words[0], step.words[1:]...)
		cmd.Dir, cmd.Env = step.dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("cannot build the program again: %s: %w: %s", step.words[0], err, out)
		}
	}
	first, err := sum(released)
	if err != nil {
		return err
	}
	second, err := sum(built)
	if err != nil {
		return err
	}
	if first != second {
		return fmt.Errorf("%s differs from a build of its commit in another directory: %s and %s. Commit all changes first", released, first, second)
	}
	return nil
}

// program returns the program that goreleaser has built for a platform.
func (d *dist) program(platform string) (string, error) {
	text, err := os.ReadFile(filepath.Join(d.dir, "artifacts.json"))
	if err != nil {
		return "", err
	}
	var artifacts []struct{ Type, Goos, Goarch, Path string }
	if err := json.Unmarshal(text, &artifacts); err != nil {
		return "", fmt.Errorf("read %s/artifacts.json: %w", d.dir, err)
	}
	for _, a := range artifacts {
		if a.Type == "Binary" && a.Goos+"/"+a.Goarch == platform {
			return a.Path, nil
		}
	}
	return "", fmt.Errorf("%s/artifacts.json has no program for %s", d.dir, platform)
}
