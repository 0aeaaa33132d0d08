package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	// program is the name of the plugin in the image, and archivedProgram its name in archives.
	program         = "kubectl-jobmanagedby"
	archivedProgram = "kubectl-jobs_managedby"
	// user is a user ID other than root, which has no name on any node.
	user = "65532"
	repo = "https://github.com/jobmanagedby/kubectl-jobmanagedby"
)

// release is the output of goreleaser.
type release struct {
	dir string
	// Tag and Date are also those of the image.
	Tag    string    `json:"version"`
	Date   time.Time `json:"date"`
	Commit string    `json:"commit"`
	// platforms are the Linux platforms of the release.
	platforms []v1.Platform
}

// open reads the metadata of a release in dist.
func open(dir string) (*release, error) {
	text, err := os.ReadFile(filepath.Join(dir, "metadata.json"))
	if err != nil {
		return nil, fmt.Errorf("cannot read the version of the release: %w. Run make release-check, which writes this file", err)
	}
	r := &release{dir: dir}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, err
	}
	for _, arch := range []string{"amd64", "arm64"} {
		p := v1.Platform{OS: "linux", Architecture: arch}
		if _, err := os.Stat(r.archive(p)); err == nil {
			r.platforms = append(r.platforms, p)
		}
	}
	if len(r.platforms) == 0 {
		return nil, fmt.Errorf("there is no archive for Linux in %s", dir)
	}
	return r, nil
}

// archive returns the file for a platform.
func (r *release) archive(p v1.Platform) string {
	return filepath.Join(r.dir, "kubectl-jobmanagedby_v"+r.Tag+"_"+p.OS+"_"+p.Architecture+".tar.gz")
}

// index returns the image of all platforms.
func (r *release) index() (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range r.platforms {
		image, err := r.image(p)
		if err != nil {
			return nil, fmt.Errorf("%s/%s: %w", p.OS, p.Architecture, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &p}})
	}
	annotated, ok := mutate.Annotations(index, r.labels()).(v1.ImageIndex)
	if !ok {
		return nil, errors.New("the index cannot be annotated")
	}
	return annotated, nil
}

// labels returns the annotations that describe the image.
func (r *release) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":         program,
		"org.opencontainers.image.description":   "Finds Kubernetes Jobs that are handed to other controllers and stuck",
		"org.opencontainers.image.source":        repo,
		"org.opencontainers.image.documentation": repo + "/blob/main/docs/ci.md",
		"org.opencontainers.image.licenses":      "Apache-2.0",
		"org.opencontainers.image.version":       r.Tag,
		"org.opencontainers.image.revision":      r.Commit,
	}
}

// image returns the image of one platform. It is reproducible: all times are the release's.
func (r *release) image(p v1.Platform) (v1.Image, error) {
	files, err := r.files(p)
	if err != nil {
		return nil, err
	}
	content, err := pack(files, r.Date)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{Layer: layer, MediaType: types.OCILayer, History: v1.History{Created: v1.Time{Time: r.Date}, CreatedBy: "hack/image"}})
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, r.config(image, p))
}

func (r *release) config(image v1.Image, p v1.Platform) *v1.ConfigFile {
	config := &v1.ConfigFile{}
	// Keep the defaults of a new image.
	if defaults, err := image.ConfigFile(); err == nil {
		config = defaults.DeepCopy()
	}
	config.OS, config.Architecture, config.Created = p.OS, p.Architecture, v1.Time{Time: r.Date}
	config.Config = v1.Config{
		Entrypoint: []string{"/" + program}, User: user + ":" + user, WorkingDir: "/home/nonroot", Labels: r.labels(),
		Env: []string{"PATH=/", "HOME=/home/nonroot", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
	}
	return config
}

// file is one file or directory of the image.
type file struct {
	path    string
	content []byte
	mode    int64
	isOwned bool
}

// files returns the files of the image.
func (r *release) files(p v1.Platform) ([]file, error) {
	found, err := unpack(r.archive(p), archivedProgram, "LICENSE", "third-party-licences.txt")
	if err != nil {
		return nil, err
	}
	return []file{
		{path: "etc/"},
		{path: "etc/group", content: []byte("root:x:0:\nnonroot:x:" + user + ":\n"), mode: 0o644},
		{path: "etc/passwd", content: []byte("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:" + user + ":" + user + ":nonroot:/home/nonroot:/sbin/nologin\n"), mode: 0o644},
		{path: "etc/ssl/"},
		{path: "etc/ssl/certs/"},
		{path: "etc/ssl/certs/ca-certificates.crt", content: authorities(), mode: 0o644},
		{path: "home/"},
		{path: "home/nonroot/", isOwned: true},
		{path: program, content: found[archivedProgram], mode: 0o755},
		{path: "licenses/"},
		{path: "licenses/LICENSE", content: found["LICENSE"], mode: 0o644},
		{path: "licenses/third-party-licences.txt", content: found["third-party-licences.txt"], mode: 0o644},
		{path: "tmp/", mode: 0o1777},
	}, nil
}

// authorities returns the certificates of the public authorities that Mozilla trusts: API servers
// of clouds may use one of theirs. Authorities with restrictions are left out, since a file
// cannot express these.
func authorities() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return b.Bytes()
}

// pack returns an uncompressed tar archive of files.
func pack(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.path, Mode: f.mode, Size: int64(len(f.content)), ModTime: at.Truncate(time.Second), Typeflag: tar.TypeReg}
		if strings.HasSuffix(f.path, "/") {
			h.Typeflag = tar.TypeDir
			if h.Mode == 0 {
				h.Mode = 0o755
			}
		}
		if f.isOwned {
			h.Uid, h.Gid = 65532, 65532
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// unpack reads some files of a .tar.gz.
func unpack(archive string, names ...string) (map[string][]byte, error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	found := map[string][]byte{}
	for r := tar.NewReader(unzipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if found[h.Name], err = io.ReadAll(r); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		if len(found[name]) == 0 {
			return nil, fmt.Errorf("%s has no %s", archive, name)
		}
	}
	return found, nil
}
