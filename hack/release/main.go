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
	// isFresh is set if the second build shares no cache with the released one.
	isFresh bool
}

func main() {
	var o options
	flag.StringVar(&o.dist, "dist", "dist", "folder that goreleaser has filled")
	flag.StringVar(&o.programs, "programs", "bin/clusters", "folder with kubectl")
	flag.StringVar(&o.tools, "tools", "bin/tools", "folder with krew and validate-krew-manifest")
	flag.StringVar(&o.template, "template", "plugins.yaml", "template of the manifest for krew")
	flag.StringVar(&o.bundle, "bundle", "examples/fleet", "bundle to list with the installed plugin")
	flag.StringVar(&o.man, "man", "docs/man", "folder with the man pages that a release has")
	flag.BoolVar(&o.onlyHere, "here", false, "dist was filled for this machine's platform alone")
	flag.BoolVar(&o.isFresh, "anew", false, "build the program once more without anything that was compiled before; takes minutes")
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
	fmt.Println("ok  archives, packages and cask have all that belongs into them")
	if err := d.checkBill(); err != nil {
		return err
	}
	fmt.Println("ok  bills of materials name what was linked")
	if err := d.reproduce(ctx, o.isFresh); err != nil {
		return err
	}
	fmt.Println("ok  the same commit gives the same bytes in another folder")
	manifest, err := d.writeManifest(o.template)
	if err != nil {
		return err
	}
	fmt.Println("ok  " + manifest + " is what the krew index expects")
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
