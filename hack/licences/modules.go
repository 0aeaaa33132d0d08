package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/google/licensecheck"
)

// allowed are the licences that a part of the plugin may have: those that require no more than
// attribution.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "Unlicense"}

// platforms are the operating systems that .goreleaser.yaml builds for; the architectures make no
// difference.
var platforms = []string{"linux", "darwin", "windows"}

// minLicencePercent is the least percentage of a file that must be text of known licences: names
// and dates may come in addition.
const minLicencePercent = 75

// notice matches the names of files that add to a licence.
var notice = regexp.MustCompile(`(?i)^(notice|copyright)`)

type module struct {
	Path, Version, Dir string
	Main               bool

	licences []string
	files    []licenceFile
}

type licenceFile struct {
	name string
	text []byte
}

// linked returns the modules of the plugin's packages, sorted by name.
func linked() ([]module, error) {
	found := map[string]module{}
	for _, platform := range platforms {
		list := exec.CommandContext(context.Background(), "go", "list", "-deps", "-json=Module", "./cmd/...")
		list.Env = append(os.Environ(), "GOOS="+platform, "CGO_ENABLED=0")
		list.Stderr = os.Stderr
		out, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("list the plugin's packages on %s: %w", platform, err)
		}
		packages := json.NewDecoder(bytes.NewReader(out))
		for {
			var p struct{ Module *module }
			err := packages.Decode(&p)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, err
			}
			if p.Module != nil && !p.Module.Main {
				found[p.Module.Path] = *p.Module
			}
		}
	}
	var modules []module
	for _, m := range found {
		modules = append(modules, m)
	}
	slices.SortFunc(modules, func(a, b module) int { return cmp.Compare(a.Path, b.Path) })
	return modules, nil
}

// licenceName matches the names of files with licences and their additions.
var licenceName = regexp.MustCompile(`(?i)^((un)?licen[cs]e|copying|notice|copyright)([-.].*)?$`)

// readLicences reads the module's licences. Every file with such a name counts, also in
// directories of code that was copied from elsewhere.
func (m *module) readLicences() error {
	err := filepath.WalkDir(m.Dir, func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "vendor"):
			return filepath.SkipDir
		case entry.Type().IsRegular() && licenceName.MatchString(entry.Name()) && filepath.Ext(path) != ".go":
			return m.read(path)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(m.licences) == 0 {
		return fmt.Errorf("%s@%s: no licence was found in %s", m.Path, m.Version, m.Dir)
	}
	slices.Sort(m.licences)
	for _, licence := range m.licences {
		if !slices.Contains(allowed, licence) {
			return fmt.Errorf("%s@%s has the licence %s, which is not among the allowed ones in hack/licences", m.Path, m.Version, licence)
		}
	}
	return nil
}

// read finds the licences in a file.
func (m *module) read(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	name, err := filepath.Rel(m.Dir, path)
	if err != nil {
		return err
	}
	m.files = append(m.files, licenceFile{name, text})
	scan := licensecheck.Scan(text)
	if scan.Percent < minLicencePercent && !notice.MatchString(name) {
		return fmt.Errorf("%s@%s: only %.0f %% of %s is the text of a known licence", m.Path, m.Version, scan.Percent, name)
	}
	for _, match := range scan.Match {
		if !slices.Contains(m.licences, match.ID) && !match.IsURL {
			m.licences = append(m.licences, match.ID)
		}
	}
	return nil
}
