package main

import (
	"context"
	"net"
	"net/url"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/clusters"
)

// far writes a kubeconfig in which every cluster is a round trip away, like clusters in other
// places, and returns its name. On one machine, clusters that are asked concurrently compete for
// the processors, so the benefit of asking them concurrently shows only with latency.
func far(ctx context.Context, set *clusters.Set, roundTrip time.Duration) (string, error) {
	config, err := clientcmd.LoadFromFile(set.Kubeconfig)
	if err != nil {
		return "", err
	}
	for _, cluster := range config.Clusters {
		server, err := url.Parse(cluster.Server)
		if err != nil {
			return "", err
		}
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		context.AfterFunc(ctx, func() { _ = listener.Close() })
		go forward(ctx, listener, server.Host, roundTrip/2)
		cluster.Server = "https://" + listener.Addr().String()
	}
	path := filepath.Join(filepath.Dir(set.Kubeconfig), "far")
	return path, clientcmd.WriteToFile(*config, path)
}

// forward forwards connections to an address, with a delay in both directions.
func forward(ctx context.Context, listener net.Listener, address string, delay time.Duration) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		server, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			_ = client.Close()
			continue
		}
		go pass(client, server, delay)
		go pass(server, client, delay)
	}
}

// pass copies from one connection to the other. Data is written after its delay; meanwhile more
// is read, so that the connection has latency but full bandwidth.
func pass(from, to net.Conn, delay time.Duration) {
	type packet struct {
		due  time.Time
		data []byte
	}
	packets := make(chan packet, 4096)
	go func() {
		defer close(packets)
		for {
			buffer := make([]byte, 64<<10)
			n, err := from.Read(buffer)
			if n > 0 {
				packets <- packet{time.Now().Add(delay), buffer[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	// The other side is gone, or will find out.
	defer func() { _ = to.Close() }()
	for p := range packets {
		<-time.After(time.Until(p.due))
		if _, err := to.Write(p.data); err != nil {
			_ = from.Close()
		}
	}
}
