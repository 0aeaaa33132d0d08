package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/hack/release/krew"
)

const (
	name       = "jobs-managedby"
	repository = "https://github.com/jobmanagedby/kubectl-jobmanagedby"
	binary     = "kubectl-jobs_managedby"
	completion = "kubectl_complete-jobs_managedby"
)

// allPlatforms returns the platforms of a release.
func allPlatforms() []string {
	return []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}
}

// dist is a directory with the output of goreleaser.
type dist struct {
	dir string
	// platforms are the platforms in it.
	platforms []string
	// Version is the version of the release, without a leading "v".
	Version string `json:"version"`
}

// thisPlatform returns this machine's platform.
func thisPlatform() string { return runtime.GOOS + "/" + runtime.GOARCH }

// openDist opens a directory with all platforms, or with only this machine's.
func openDist(dir string, onlyHere bool) (*dist, error) {
	d := &dist{dir: dir, platforms: allPlatforms()}
	if onlyHere {
		d.platforms = []string{thisPlatform()}
	}
	text, err := os.ReadFile(filepath.Join(dir, "metadata.json"))
	if err != nil {
		return nil, fmt.Errorf("cannot read the version of the release: %w. Run make release-check, which writes this file", err)
	}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("read %s/metadata.json: %w", dir, err)
	}
	return d, nil
}

// release returns the tag that it has, or would have.
func (d *dist) release() string { return "v" + d.Version }

// archive returns the file for a platform.
func (d *dist) archive(platform string) string {
	extension := ".tar.gz"
	if strings.HasPrefix(platform, "windows/") {
		extension = ".zip"
	}
	return filepath.Join(d.dir, "kubectl-jobmanagedby_"+d.release()+"_"+strings.ReplaceAll(platform, "/", "_")+extension)
}

// writeManifest fills in the template with the checksums of the archives here and their future
// addresses. It returns the file that it wrote, which has only the platforms that have archives.
func (d *dist) writeManifest(template string) (string, error) {
	text, err := os.ReadFile(template)
	if err != nil {
		return "", err
	}
	var absent []string
	for _, platform := range allPlatforms() {
		if !slices.Contains(d.platforms, platform) {
			absent = append(absent, filepath.Base(d.archive(platform)))
		}
	}
	text, err = krew.Render(text, d.release(), func(uri string) (string, error) {
		if slices.Contains(absent, path.Base(uri)) {
			return "", nil
		}
		return sum(filepath.Join(d.dir, path.Base(uri)))
	})
	if err != nil {
		return "", err
	}
	expectation := krew.Expectation{Name: name, Version: d.release(), Homepage: repository, Platforms: allPlatforms()}
	if err := expectation.Check(text); err != nil {
		return "", fmt.Errorf("the krew index would reject the manifest from %s: %w", template, err)
	}
	if len(absent) > 0 {
		if text, err = krew.WithoutPlatforms(text, absent); err != nil {
			return "", err
		}
	}
	file := filepath.Join(d.dir, "krew", name+".yaml")
	return file, errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, text, 0o644))
}

// sum returns the SHA-256 of a file, as in the manifest.
func sum(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
