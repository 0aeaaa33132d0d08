package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
)

// bill is a bill of materials in the form of CycloneDX 1.6, with the fields that are used here:
// https://cyclonedx.org/docs/1.6/json/.
type bill struct {
	Format      string      `json:"bomFormat"`
	SpecVersion string      `json:"specVersion"`
	Version     int         `json:"version"`
	Metadata    metadata    `json:"metadata"`
	Components  []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Licences   []choice   `json:"licenses,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type choice struct {
	Licence struct {
		ID string `json:"id"`
	} `json:"license"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// writeBill writes what a program was built from: the modules that Go has recorded in it, with
// their sums in go.sum.
func writeBill(program, file string, modules []module) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("cannot read the modules of %s: %w", program, err)
	}
	licences := map[string][]string{}
	for _, m := range modules {
		licences[m.Path] = m.licences
	}
	own := newComponent("application", info.Main.Path, info.Main.Version)
	for _, s := range info.Settings {
		own.Properties = append(own.Properties, property{"go:build:" + s.Key, s.Value})
	}
	b := bill{Format: "CycloneDX", SpecVersion: "1.6", Version: 1, Metadata: metadata{Component: own}}
	b.Components = append(b.Components, newComponent("library", "std", info.GoVersion))
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		c := newComponent("library", dep.Path, dep.Version)
		if len(licences[dep.Path]) == 0 {
			return fmt.Errorf("module %s of %s is not among the packages of ./cmd, so its licence is unknown", dep.Path, program)
		}
		for _, id := range licences[dep.Path] {
			var licence choice
			licence.Licence.ID = id
			c.Licences = append(c.Licences, licence)
		}
		c.Properties = []property{{"go:sum", dep.Sum}}
		b.Components = append(b.Components, c)
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// newComponent returns a component with its package URL
// (https://github.com/package-url/purl-spec/blob/main/types-doc/golang-definition.md).
func newComponent(kind, path, version string) component {
	return component{Type: kind, Name: path, Version: version, PURL: "pkg:golang/" + strings.ToLower(path) + "@" + url.QueryEscape(version)}
}
