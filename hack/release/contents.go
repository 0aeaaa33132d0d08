package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// checkContents checks that every archive is complete, that there are packages, and that the cask
// installs everything.
func (d *dist) checkContents(manDir string) error {
	pages, err := filepath.Glob(filepath.Join(manDir, "*.1"))
	if err != nil || len(pages) == 0 {
		return fmt.Errorf("there are no man pages in %s: %w", manDir, err)
	}
	for i, page := range pages {
		pages[i] = "man/" + filepath.Base(page)
	}
	var errs []error
	var packages []string
	for _, platform := range d.platforms {
		errs = append(errs, d.checkArchive(platform, pages))
		switch platform {
		case "linux/amd64":
			packages = append(packages, "*_amd64.deb", "*.x86_64.rpm")
		case "linux/arm64":
			packages = append(packages, "*_arm64.deb", "*.aarch64.rpm")
		}
	}
	for _, pattern := range packages {
		if found, err := filepath.Glob(filepath.Join(d.dir, pattern)); err != nil || len(found) != 1 {
			errs = append(errs, fmt.Errorf("expected one package %s in %s, found %q", pattern, d.dir, found))
		}
	}
	// Homebrew does not support Windows.
	if !strings.HasPrefix(d.platforms[0], "windows/") {
		errs = append(errs, d.checkCask(pages))
	}
	return errors.Join(errs...)
}

func (d *dist) checkArchive(platform string, pages []string) error {
	program := binary
	if strings.HasPrefix(platform, "windows/") {
		program += ".exe"
	}
	want := map[string]fs.FileMode{program: 0o755, completion: 0o755, "LICENSE": 0o644, "README.md": 0o644, "third-party-licences.txt": 0o644}
	for _, page := range pages {
		want[page] = 0o644
	}
	file := d.archive(platform)
	list := listTar
	if strings.HasSuffix(file, ".zip") {
		list = listZip
	}
	found, err := list(file)
	if err != nil {
		return fmt.Errorf("cannot list %s: %w", file, err)
	}
	if !maps.Equal(found, want) {
		return fmt.Errorf("%s has %s, expected %s", file, modes(found), modes(want))
	}
	return nil
}

func modes(files map[string]fs.FileMode) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		words = append(words, fmt.Sprintf("%s (%o)", name, files[name]))
	}
	return strings.Join(words, ", ")
}

// listTar returns the files of a .tar.gz with their permissions.
func listTar(file string) (map[string]fs.FileMode, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	files := map[string]fs.FileMode{}
	for r := tar.NewReader(unzipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if h.FileInfo().Mode().IsRegular() {
			files[h.Name] = h.FileInfo().Mode().Perm()
		}
	}
}

// listZip is listTar for a .zip.
func listZip(file string) (map[string]fs.FileMode, error) {
	r, err := zip.OpenReader(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	files := map[string]fs.FileMode{}
	for _, f := range r.File {
		if f.Mode().IsRegular() {
			files[f.Name] = f.Mode().Perm()
		}
	}
	return files, nil
}

// checkCask checks that the Homebrew cask installs the program, kubectl's completion script for
// it, and all man pages.
func (d *dist) checkCask(pages []string) error {
	file := filepath.Join(d.dir, "homebrew", "Casks", "kubectl-jobmanagedby.rb")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	lines := []string{fmt.Sprintf("  binary %q\n", binary), fmt.Sprintf("  binary %q\n", completion)}
	for _, page := range pages {
		lines = append(lines, fmt.Sprintf("  manpage %q\n", page))
	}
	for _, line := range lines {
		if !strings.Contains(string(text), line) {
			return fmt.Errorf("%s lacks the line %s", file, strings.TrimSpace(line))
		}
	}
	return nil
}

// checkBill checks that there is a bill of materials for every platform.
func (d *dist) checkBill() error {
	for _, platform := range d.platforms {
		file := filepath.Join(d.dir, "kubectl-jobmanagedby_"+d.release()+"_"+strings.ReplaceAll(platform, "/", "_")+".cdx.json")
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var bill struct {
			BomFormat  string
			Components []struct{ Name, PURL string }
		}
		if err := json.Unmarshal(text, &bill); err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		var names []string
		for _, c := range bill.Components {
			names = append(names, c.Name)
		}
		if bill.BomFormat != "CycloneDX" || !slices.Contains(names, "k8s.io/client-go") {
			return fmt.Errorf("%s is not a bill of materials of the plugin: it has %q", file, names)
		}
	}
	return nil
}
