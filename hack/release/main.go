// Command release checks the output of goreleaser in dist before it is published: it checks the
// contents of archives and packages, fills in the manifest for krew, lets krew's own programs
// validate it and install every platform's archive, and calls the installed plugin through
// kubectl. It also builds the program again, to check that the build is reproducible.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// options are directories and files, relative to the root of the repository.
type options struct {
	dist, programs, tools, template, bundle, man string
	// onlyHere is set if dist has only this machine's platform.
	onlyHere bool
	// withoutCache is set if the second build shares no cache with the released one.
	withoutCache bool
}

func main() {
	var o options
	flag.StringVar(&o.dist, "dist", "dist", "output directory of goreleaser")
	flag.StringVar(&o.programs, "programs", "bin/clusters", "directory with kubectl")
	flag.StringVar(&o.tools, "tools", "bin/tools", "directory with krew and validate-krew-manifest")
	flag.StringVar(&o.template, "template", "plugins.yaml", "template of the manifest for krew")
	flag.StringVar(&o.bundle, "bundle", "examples/fleet", "snapshot to list with the installed plugin")
	flag.StringVar(&o.man, "man", "docs/man", "directory with the man pages of a release")
	flag.BoolVar(&o.onlyHere, "here", false, "dist has only this machine's platform")
	flag.BoolVar(&o.withoutCache, "anew", false, "build the program again with an empty build cache, which takes minutes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	d, err := openDist(o.dist, o.onlyHere)
	if err != nil {
		return err
	}
	if err := d.checkContents(o.man); err != nil {
		return err
	}
	fmt.Println("ok  archives, packages and cask are complete")
	if err := d.checkBill(); err != nil {
		return err
	}
	fmt.Println("ok  bills of materials list the linked modules")
	if err := d.reproduce(ctx, o.withoutCache); err != nil {
		return err
	}
	fmt.Println("ok  a build of the same commit in another directory has the same bytes")
	manifest, err := d.writeManifest(o.template)
	if err != nil {
		return err
	}
	fmt.Println("ok  " + manifest + " meets the rules of the krew index")
	s, err := newSandbox(o)
	if err != nil {
		return err
	}
	defer s.remove()
	if err := s.validate(ctx, d, manifest); err != nil {
		return err
	}
	fmt.Println("ok  krew validates it, and installs it for " + strings.Join(d.platforms, ", "))
	if err := s.install(ctx, d, manifest); err != nil {
		return err
	}
	if err := s.use(ctx, o.bundle); err != nil {
		return err
	}
	fmt.Println("ok  kubectl calls and completes what krew has installed")
	if err := d.runAction(ctx, o.bundle); err != nil {
		return err
	}
	fmt.Println("ok  the GitHub action's script reports check and doctor as SARIF")
	return nil
}
