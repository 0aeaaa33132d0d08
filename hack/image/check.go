package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// machines returns the ELF machine types by architecture.
func machines() map[string]elf.Machine {
	return map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
}

// check reads an OCI layout, as a registry or a node would, and runs the program of this
// machine's platform.
func check(dir string, platforms []v1.Platform) error {
	outer, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return err
	}
	if err := validate.Index(outer); err != nil {
		return err
	}
	manifest, err := outer.IndexManifest()
	if err != nil {
		return err
	}
	index, err := outer.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		return err
	}
	if manifest, err = index.IndexManifest(); err != nil {
		return err
	}
	if len(manifest.Manifests) != len(platforms) {
		return fmt.Errorf("the image has %d platforms, expected %d", len(manifest.Manifests), len(platforms))
	}
	for i, m := range manifest.Manifests {
		if !m.Platform.Equals(platforms[i]) {
			return fmt.Errorf("the image is for %s, expected %s", m.Platform, platforms[i])
		}
		image, err := index.Image(m.Digest)
		if err == nil {
			err = checkImage(image, platforms[i])
		}
		if err != nil {
			return fmt.Errorf("%s: %w", platforms[i], err)
		}
		fmt.Printf("ok  the image for %s is %s\n", platforms[i], m.Digest)
	}
	return nil
}

func checkImage(image v1.Image, p v1.Platform) error {
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	if config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, []string{"/kubectl-jobmanagedby"}) || config.Architecture != p.Architecture {
		return fmt.Errorf("unexpected configuration of the image: %+v", config.Config)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		return fmt.Errorf("the image has %d layers, expected 1: %w", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	files := map[string][]byte{}
	for r := tar.NewReader(content); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			return err
		}
		if h.Mode&0o6000 != 0 {
			return fmt.Errorf("%s has the setuid or setgid bit", h.Name)
		}
	}
	if !x509.NewCertPool().AppendCertsFromPEM(files["etc/ssl/certs/ca-certificates.crt"]) {
		return errors.New("the image has no certificates of authorities")
	}
	return checkProgram(files[program], p)
}

// checkProgram checks that a program is statically linked for a platform, and runs it on that
// platform.
func checkProgram(content []byte, p v1.Platform) error {
	f, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return err
	}
	if f.Machine != machines()[p.Architecture] {
		return fmt.Errorf("the program is for another machine: %s", f.Machine)
	}
	for _, section := range f.Progs {
		if section.Type == elf.PT_INTERP {
			return errors.New("the program needs a dynamic loader, but the image has none")
		}
	}
	if p.OS != runtime.GOOS || p.Architecture != runtime.GOARCH {
		return nil
	}
	dir, err := os.MkdirTemp("", "image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, program)
	if err := os.WriteFile(path, content, 0o755); err != nil {
		return err
	}
	out, err := exec.Command(path, "version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("cannot run the program: %w: %s", err, out)
	}
	return nil
}
