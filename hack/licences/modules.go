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

// allowed are licences under which a part of the plugin may stand: such as ask for no
// more than to be named.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "Unlicense"}

// platforms are those that .goreleaser.yaml builds for; their processors make no difference.
var platforms = []string{"linux", "darwin", "windows"}

// understood is how much of a file has to be of known licences, in per cent: there may be
// names and dates beside them.
const understood = 75

// notice is what names of files begin with that add to a licence.
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

// linked are the modules that packages of the plugin are from, by name.
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

// licenceName is what files with licences, and what comes with them, are called.
var licenceName = regexp.MustCompile(`(?i)^((un)?licen[cs]e|copying|notice|copyright)([-.].*)?$`)

// look reads the module's licences. Every file of that name counts, also in folders of
// code that was taken from elsewhere.
func (m *module) look() error {
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
			return fmt.Errorf("%s@%s stands under %s, which nobody has allowed: see allowed in hack/licences", m.Path, m.Version, licence)
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
	if scan.Percent < understood && !notice.MatchString(name) {
		return fmt.Errorf("%s@%s: only %.0f %% of %s is of a licence that is known", m.Path, m.Version, scan.Percent, name)
	}
	for _, match := range scan.Match {
		if !slices.Contains(m.licences, match.ID) && !match.IsURL {
			m.licences = append(m.licences, match.ID)
		}
	}
	return nil
}
