// Package krew makes the plugin's manifest for the krew index out of its template,
// and holds it to what the index expects beyond what krew's own
// validate-krew-manifest looks at.
package krew

import (
	"fmt"
	"path"
	"slices"

	"sigs.k8s.io/yaml"
)

// Manifest is what a manifest of the krew index may hold (krew:
// pkg/index/types.go), as far as this plugin's uses it.
type Manifest struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	Spec       Spec     `json:"spec"`
}

// Metadata has the plugin's name, which is also that of the manifest's file.
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

// Platform says what to install where the selector matches.
type Platform struct {
	Selector Selector `json:"selector"`
	URI      string   `json:"uri"`
	// Sha256 is the archive's, in lower-case hexadecimal digits.
	Sha256 string `json:"sha256"`
	// Bin is the program, below the folder that Files are put into.
	Bin string `json:"bin"`
	// Files are what is taken out of the archive.
	Files []File `json:"files"`
}

// Selector matches by "os" and "arch", in Go's words.
type Selector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

// File says where a file of the archive goes.
type File struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Parse reads a manifest. A field that is not known is an error: krew would take
// no notice of it.
func Parse(text []byte) (*Manifest, error) {
	m := &Manifest{}
	if err := yaml.UnmarshalStrict(text, m); err != nil {
		return nil, fmt.Errorf("the manifest is not one of krew's: %w", err)
	}
	return m, nil
}

// WithoutPlatforms returns a manifest without the platforms of the archives with
// these names.
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
