// Command release looks at what goreleaser has put into dist, before anybody else
// does: it checks what is in the archives and the packages, fills in the manifest
// for krew, has krew's own programs validate it and install every platform's
// archive, and calls what was installed through kubectl. And it builds the program once
// more, to see whether that gives the same.
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

// options are folders and files, from the root of the repository.
type options struct {
	dist, programs, tools, template, bundle, man string
	// here tells that dist has nothing for any platform but this machine's.
	here bool
	// anew tells that what is built once more shares nothing with what was released.
	anew bool
}

func main() {
	var o options
	flag.StringVar(&o.dist, "dist", "dist", "folder that goreleaser has filled")
	flag.StringVar(&o.programs, "programs", "bin/clusters", "folder with kubectl")
	flag.StringVar(&o.tools, "tools", "bin/tools", "folder with krew and validate-krew-manifest")
	flag.StringVar(&o.template, "template", "plugins.yaml", "template of the manifest for krew")
	flag.StringVar(&o.bundle, "bundle", "examples/fleet", "bundle to list with the installed plugin")
	flag.StringVar(&o.man, "man", "docs/man", "folder with the man pages that a release has")
	flag.BoolVar(&o.here, "here", false, "dist was filled for this machine's platform alone")
	flag.BoolVar(&o.anew, "anew", false, "build the program once more without anything that was compiled before; takes minutes")
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
	d, err := openDist(o.dist, o.here)
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
	if err := d.reproduce(ctx, o.anew); err != nil {
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
	return nil
}
