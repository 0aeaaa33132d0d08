package krew

import (
	"bytes"
	"fmt"
	"text/template"
)

// Render fills in a template as krew-release-bot does for a release with this tag
// (krew-release-bot: pkg/source/template.go). sum returns the SHA-256 of the file at a URI.
func Render(text []byte, tag string, sum func(uri string) (string, error)) ([]byte, error) {
	values := struct{ TagName string }{tag}
	t := template.New("manifest").Option("missingkey=error").Funcs(template.FuncMap{
		"addURIAndSha": func(uri, tag string) (string, error) {
			u, err := template.New("uri").Option("missingkey=error").Parse(uri)
			if err != nil {
				return "", err
			}
			var filled bytes.Buffer
			if err := u.Execute(&filled, struct{ TagName string }{tag}); err != nil {
				return "", err
			}
			digest, err := sum(filled.String())
			if err != nil {
				return "", err
			}
			// The bot, too, assumes an indentation of four.
			return fmt.Sprintf("uri: %s\n    sha256: %s", &filled, digest), nil
		},
	})
	if _, err := t.Parse(string(text)); err != nil {
		return nil, fmt.Errorf("parse the template of the manifest: %w", err)
	}
	var manifest bytes.Buffer
	if err := t.Execute(&manifest, values); err != nil {
		return nil, fmt.Errorf("fill in the template of the manifest: %w", err)
	}
	return manifest.Bytes(), nil
}
