// Package krew renders the plugin's manifest for the krew index from its template, and checks
// what the index expects beyond the checks of krew's own validate-krew-manifest.
package krew

import (
	"fmt"
	"path"
	"slices"

	"sigs.k8s.io/yaml"
)

// Manifest has the fields of a manifest of the krew index (krew: pkg/index/types.go) that this
// plugin uses.
type Manifest struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	Spec       Spec     `json:"spec"`
}

// Metadata has the plugin's name, which is also the name of the manifest's file.
type Metadata struct {
	Name string `json:"name"`
}

// Spec describes a version of the plugin.
type Spec struct {
	Version          string     `json:"version"`
	Homepage         string     `json:"homepage"`
	ShortDescription string     `json:"shortDescription"`
	Description      string     `json:"description"`
	Caveats          string     `json:"caveats,omitempty"`
	Platforms        []Platform `json:"platforms"`
}

// Platform describes what to install on machines that match the selector.
type Platform struct {
	Selector Selector `json:"selector"`
	URI      string   `json:"uri"`
	// Sha256 is the checksum of the archive, in lower-case hexadecimal digits.
	Sha256 string `json:"sha256"`
	// Bin is the program, below the directory of Files.
	Bin string `json:"bin"`
	// Files are the files to extract from the archive.
	Files []File `json:"files"`
}

// Selector matches by "os" and "arch", with Go's names.
type Selector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

// File is a file of the archive with its destination.
type File struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Parse parses a manifest. An unknown field is an error, because krew would ignore it.
func Parse(text []byte) (*Manifest, error) {
	m := &Manifest{}
	if err := yaml.UnmarshalStrict(text, m); err != nil {
		return nil, fmt.Errorf("the manifest is not one of krew's: %w", err)
	}
	return m, nil
}

// WithoutPlatforms returns a manifest without the platforms of the named archives.
func WithoutPlatforms(text []byte, archives []string) ([]byte, error) {
	m, err := Parse(text)
	if err != nil {
		return nil, err
	}
	m.Spec.Platforms = slices.DeleteFunc(m.Spec.Platforms, func(p Platform) bool {
		return slices.Contains(archives, path.Base(p.URI))
	})
	return yaml.Marshal(m)
}
