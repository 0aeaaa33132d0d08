package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/dynamic"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/clusters"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/podlogs"
)

// addLogs writes logs of the last minutes: the Pods of training Jobs report their progress, all
// others that they work.
func addLogs(ctx context.Context, set *clusters.Set) error {
	folder, err := filepath.Abs(filepath.Join(*dir, "logs"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	training := []string{"loading 1,281,167 images from /data"}
	for epoch := 1; epoch <= 40; epoch++ {
		training = append(training, fmt.Sprintf("epoch %2d/90  loss %.3f  accuracy %.3f", epoch, 6.9/(1+0.12*float64(epoch)), 1-1/(1+0.06*float64(epoch))))
	}
	work := []string{"started", "reading from the queue", "working"}
	files := map[string]string{}
	for name, lines := range map[string][]string{"training": training, "work": work} {
		files[name] = filepath.Join(folder, name+".log")
		if err := podlogs.Append(files[name], time.Now().Add(-time.Duration(len(lines))*time.Second), lines...); err != nil {
			return err
		}
	}
	for cluster := range fleet {
		config, err := set.Config(cluster)
		if err != nil {
			return err
		}
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return err
		}
		for name, namespaces := range map[string][]string{"training": {"ml"}, "work": {"ci", "ops", "etl"}} {
			if err := podlogs.OfNamespaces(ctx, client, name, namespaces, podlogs.Log{File: files[name]}); err != nil {
				return fmt.Errorf("cluster %s: %w", cluster, err)
			}
		}
	}
	return nil
}
