package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// sandbox is a separate home directory with kubectl and krew.
type sandbox struct {
	dir string
	// path is PATH: krew's directory of links, and that of kubectl and krew, before all others.
	path string
	// validator is the program validate-krew-manifest.
	validator string
}

func newSandbox(o options) (_ *sandbox, err error) {
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		return nil, err
	}
	s := &sandbox{dir: dir}
	defer func() {
		if err != nil {
			s.remove()
		}
	}()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return nil, err
	}
	links := map[string]string{
		"kubectl":                filepath.Join(o.programs, "kubectl"),
		"kubectl-krew":           filepath.Join(o.tools, "krew"),
		"validate-krew-manifest": filepath.Join(o.tools, "validate-krew-manifest"),
	}
	for link, file := range links {
		file, err := filepath.Abs(file)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("%w. Run make release-check, which installs the program", err)
		}
		if err := os.Symlink(file, filepath.Join(bin, link)); err != nil {
			return nil, err
		}
	}
	s.validator = filepath.Join(bin, "validate-krew-manifest")
	s.path = strings.Join([]string{filepath.Join(s.krewRoot(), "bin"), bin, os.Getenv("PATH")}, string(os.PathListSeparator))
	return s, nil
}

func (s *sandbox) remove() { _ = os.RemoveAll(s.dir) }

func (s *sandbox) krewRoot() string { return filepath.Join(s.dir, "krew") }

// run runs a program in the sandbox and returns its output.
func (s *sandbox) run(ctx context.Context, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = []string{
		"PATH=" + s.path, "HOME=" + s.dir, "TMPDIR=" + s.dir, "KREW_ROOT=" + s.krewRoot(),
		"KUBECONFIG=" + filepath.Join(s.dir, "kubeconfig"),
	}
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", strings.Join(cmd.Args, " "), err, &out, &errOut)
	}
	return out.String(), nil
}

func (s *sandbox) kubectl(ctx context.Context, args ...string) (string, error) {
	return s.run(ctx, filepath.Join(s.dir, "bin", "kubectl"), args...)
}

// validate validates the manifest like the index's CI: all its rules, and an installation of
// every platform from its address. A local server replaces the release's.
func (s *sandbox) validate(ctx context.Context, d *dist, manifest string) error {
	server := httptest.NewServer(http.FileServer(http.Dir(d.dir)))
	defer server.Close()
	text, err := os.ReadFile(manifest)
	if err != nil {
		return err
	}
	place := repository + "/releases/download/" + d.release()
	if n := strings.Count(string(text), place); n != len(d.platforms) {
		return fmt.Errorf("%s has %d archives at %s, expected %d", manifest, n, place, len(d.platforms))
	}
	local := filepath.Join(s.dir, filepath.Base(manifest))
	if err := os.WriteFile(local, []byte(strings.ReplaceAll(string(text), place, server.URL)), 0o644); err != nil {
		return err
	}
	_, err = s.run(ctx, s.validator, "-manifest", local)
	return err
}

// install installs this machine's platform from the manifest as published, and from its future
// archive.
func (s *sandbox) install(ctx context.Context, d *dist, manifest string) error {
	_, err := s.kubectl(ctx, "krew", "install", "--manifest", manifest, "--archive", d.archive(thisPlatform()))
	return err
}

// use calls the installed plugin through kubectl, as its users do.
func (s *sandbox) use(ctx context.Context, bundle string) error {
	list, err := s.kubectl(ctx, "plugin", "list", "--name-only")
	if err != nil {
		return err
	}
	if !slices.Contains(strings.Fields(list), binary) {
		return fmt.Errorf("kubectl finds no %s:\n%s", binary, list)
	}
	return errors.Join(s.useVersion(ctx), s.useList(ctx, bundle), s.useCompletion(ctx))
}

// useVersion checks the version in the plugin: the tag if the commit has one, otherwise a version
// with the first twelve digits of the commit. It asks git, since goreleaser finds no commits in a
// clone without a remote.
func (s *sandbox) useVersion(ctx context.Context) error {
	out, err := s.kubectl(ctx, name, "version")
	if err != nil {
		return err
	}
	commit, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return fmt.Errorf("ask git for the commit: %w", err)
	}
	tags, err := exec.CommandContext(ctx, "git", "tag", "--points-at", "HEAD").Output()
	if err != nil {
		return fmt.Errorf("ask git for the tags of the commit: %w", err)
	}
	version := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(out), "kubectl "+name+" "), "+dirty")
	if !slices.Contains(strings.Fields(string(tags)), version) && !strings.Contains(version, strings.TrimSpace(string(commit))) {
		return fmt.Errorf("the plugin's version is %q, but its commit is %s, with the tags %q", version, bytes.TrimSpace(commit), tags)
	}
	return nil
}

func (s *sandbox) useList(ctx context.Context, bundle string) error {
	list, err := s.kubectl(ctx, name, "ls", "-A", "--from", bundle)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(list, "CONTEXT ") || !strings.Contains(list, "\nkueue.x-k8s.io/multikueue: ") {
		return fmt.Errorf("kubectl %s ls does not list %s:\n%s", name, bundle, list)
	}
	return nil
}

// useCompletion follows the manifest's caveats, and presses TAB.
func (s *sandbox) useCompletion(ctx context.Context) error {
	if _, err := s.kubectl(ctx, name, "completion", "--install"); err != nil {
		return err
	}
	choices, err := s.kubectl(ctx, "__complete", name, "sna")
	if err != nil {
		return err
	}
	if !strings.HasPrefix(choices, "snapshot") {
		return fmt.Errorf("kubectl %s sna<TAB> completes to %q", name, choices)
	}
	return nil
}
