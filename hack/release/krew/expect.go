package krew

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// maxShortDescription is the maximum length of a short description, in characters: it is one
// column in the output of kubectl krew search.
const maxShortDescription = 50

// kebab matches the names of plugins that the index accepts.
var kebab = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// Expectation describes the expected release.
type Expectation struct {
	// Name is the plugin's name, and Version the release's tag.
	Name, Version string
	// Homepage is the address of the repository. The bot and the index compare it with the
	// address of the release.
	Homepage string
	// Platforms are the expected platforms, as "os/arch", each of them once.
	Platforms []string
}

// Check returns everything that the krew index or its reviewers would reject beyond the checks of
// validate-krew-manifest: unknown fields, missing texts, platforms without an archive, archives
// of another release. It returns nil if there is nothing.
func (e Expectation) Check(text []byte) error {
	m, err := Parse(text)
	if err != nil {
		return err
	}
	errs := []error{e.checkTexts(m)}
	var platforms []string
	for _, p := range m.Spec.Platforms {
		name := p.Selector.MatchLabels["os"] + "/" + p.Selector.MatchLabels["arch"]
		if !slices.Contains(e.Platforms, name) {
			errs = append(errs, fmt.Errorf("platform %s is not in the release", name))
		}
		if slices.Contains(platforms, name) {
			errs = append(errs, fmt.Errorf("platform %s appears twice", name))
		}
		platforms = append(platforms, name)
		if err := e.checkPlatform(m, p); err != nil {
			errs = append(errs, fmt.Errorf("platform %s: %w", name, err))
		}
	}
	for _, name := range e.Platforms {
		if !slices.Contains(platforms, name) {
			errs = append(errs, fmt.Errorf("platform %s is missing", name))
		}
	}
	return errors.Join(errs...)
}

func (e Expectation) checkTexts(m *Manifest) error {
	var errs []error
	expect := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	short := m.Spec.ShortDescription
	expect(m.Metadata.Name == e.Name, "metadata.name is %q, expected %q", m.Metadata.Name, e.Name)
	expect(kebab.MatchString(m.Metadata.Name) && !strings.HasPrefix(m.Metadata.Name, "kube"),
		"metadata.name %q is not in kebab case, or begins with kube", m.Metadata.Name)
	expect(m.Spec.Version == e.Version, "spec.version is %q, but the release is %q", m.Spec.Version, e.Version)
	expect(m.Spec.Homepage == e.Homepage, "spec.homepage is %q, but the repository is %q", m.Spec.Homepage, e.Homepage)
	expect(short != "", "spec.shortDescription is missing")
	expect(len([]rune(short)) <= maxShortDescription, "spec.shortDescription has %d characters, more than %d", len([]rune(short)), maxShortDescription)
	expect(!strings.HasSuffix(short, "."), "spec.shortDescription ends with a full stop")
	expect(strings.TrimSpace(m.Spec.Description) != "", "spec.description is missing")
	return errors.Join(errs...)
}

func (e Expectation) checkPlatform(m *Manifest, p Platform) error {
	var errs []error
	expect := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	place := e.Homepage + "/releases/download/" + m.Spec.Version + "/"
	windows := p.Selector.MatchLabels["os"] == "windows"
	expect(len(p.Selector.MatchLabels) == 2, "the selector has more than os and arch")
	expect(strings.HasPrefix(p.URI, place), "uri %q is not in this release, which is at %s", p.URI, place)
	expect(strings.HasSuffix(p.URI, ".tar.gz") || strings.HasSuffix(p.URI, ".zip"), "uri %q is neither a .tar.gz nor a .zip", p.URI)
	expect(strings.HasSuffix(p.Bin, ".exe") == windows, "bin is %q. It must end with .exe on Windows only", p.Bin)
	expect(!path.IsAbs(p.Bin) && path.Clean(p.Bin) == p.Bin && !strings.HasPrefix(p.Bin, ".."), "bin %q is not a path below the plugin's directory", p.Bin)
	extracts := func(name string) bool {
		return slices.Contains(p.Files, File{From: name, To: "."})
	}
	expect(extracts(p.Bin), "files lack bin, %q", p.Bin)
	expect(extracts("LICENSE"), "files lack the LICENSE, which must be installed with the plugin")
	return errors.Join(errs...)
}
