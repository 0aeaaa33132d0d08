// Command image makes the container image of a release from dist: one static program, the
// certificates of public authorities, and a user other than root. It needs no daemon and no base
// image. It writes an OCI layout, or pushes to a registry with -push.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func main() {
	dist := flag.String("dist", "dist", "directory that goreleaser has filled")
	push := flag.String("push", "", "push to this `repository`, under the release's version, and print a line for each digest: index or the architecture, and the digest")
	flag.Parse()
	if err := run(*dist, *push); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(dist, push string) error {
	r, err := open(dist)
	if err != nil {
		return err
	}
	index, err := r.index()
	if err != nil {
		return err
	}
	if push != "" {
		return pushIndex(index, push, r.Tag)
	}
	dir := filepath.Join(dist, "image")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := path.AppendIndex(index); err != nil {
		return err
	}
	return check(dir, r.platforms)
}

// pushIndex pushes an image, and prints its address with its digest.
func pushIndex(index v1.ImageIndex, repository, tag string) error {
	target, err := name.NewTag(repository + ":" + tag)
	if err != nil {
		return err
	}
	if err := remote.WriteIndex(target, index, remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	fmt.Println("index", digest)
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, m := range manifest.Manifests {
		fmt.Println(m.Platform.Architecture, m.Digest)
	}
	return nil
}
