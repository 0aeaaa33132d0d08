package main

import (
	"bufio"
	"fmt"
	"math"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/bench/figures"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/bench/measure"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/clusters"
)

const (
	// narrow is the rate of a line of 20 Mbit/s, in kB per second; wide is unlimited.
	narrow, wide = 2500, 0
	// distance is its round-trip time.
	distance = 80 * time.Millisecond
	// longDistance is a round-trip time next to which computing does not matter.
	longDistance = time.Second
)

// line is a kubeconfig whose first context is behind a slow line; the line has to be stopped.
type line struct {
	kubeconfig string
	proxy      *toxiproxy.Proxy
}

func (b *bench) newLine(set *clusters.Set, rate int64, there time.Duration) (*line, error) {
	config, err := clientcmd.LoadFromFile(set.Kubeconfig)
	if err != nil {
		return nil, err
	}
	entry := config.Clusters[config.Contexts["one"].Cluster]
	server, err := url.Parse(entry.Server)
	if err != nil {
		return nil, err
	}
	quiet := zerolog.Nop()
	l := &line{kubeconfig: filepath.Join(filepath.Dir(set.Kubeconfig), "slow-"+there.String())}
	l.proxy = toxiproxy.NewProxy(toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), quiet), "line", "127.0.0.1:0", server.Host)
	if err := l.proxy.Start(); err != nil {
		return nil, err
	}
	for _, direction := range []string{"upstream", "downstream"} {
		attributes := []string{fmt.Sprintf(`{"name":"far-%s","type":"latency","stream":%q,"attributes":{"latency":%d}}`, direction, direction, there.Milliseconds()/2)}
		if rate > 0 {
			attributes = append(attributes, fmt.Sprintf(`{"name":"narrow-%s","type":"bandwidth","stream":%q,"attributes":{"rate":%d}}`, direction, direction, rate))
		}
		for _, toxic := range attributes {
			if _, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
				return nil, err
			}
		}
	}
	entry.Server, entry.TLSServerName = "https://"+l.proxy.Listen, server.Hostname()
	return l, clientcmd.WriteToFile(*config, l.kubeconfig)
}

// slowly measures ls over a slow line, compared to a compressed download over the same line, and
// the number of round trips before the first output.
func (b *bench) slowly(set *clusters.Set, plugin string) ([]figures.Figure, error) {
	slow, err := b.newLine(set, narrow, distance)
	if err != nil {
		return nil, err
	}
	defer slow.proxy.Stop()
	far, err := b.newLine(set, wide, longDistance)
	if err != nil {
		return nil, err
	}
	defer far.proxy.Stop()
	config, err := clientcmd.BuildConfigFromFlags("", slow.kubeconfig)
	if err != nil {
		return nil, err
	}
	over := &bench{ctx: b.ctx, kubeconfig: slow.kubeconfig, runs: b.runs}
	const packed = "gzip'd raw download"
	fmt.Printf("over a line of 20 Mbit/s, %s there and back\n\n", distance)
	medians, err := measure.Compare(over.runs,
		measure.Measurement{Name: table, Run: over.command(plugin, "ls", "-A")},
		measure.Measurement{Name: packed, Run: func() (measure.Sample, error) {
			return measure.Download(b.ctx, config, measure.Protobuf, "gzip", allJobs)
		}},
	)
	if err != nil {
		return nil, err
	}
	whole := timed(table+", 20 Mbit/s and 80 ms away", medians[table], packed, medians[packed], 1.2)
	whole.Why = "the first page costs a round trip more than the download, and the rows are laid out after the last one; the layout by tablewriter takes about 0.1 s."
	figs := []figures.Figure{whole}
	took, err := b.untilFirst(plugin, "ls", "-A", "-o", "name", "--no-headers", "--kubeconfig", far.kubeconfig)
	if err != nil {
		return nil, err
	}
	// toxiproxy accepts connections at once, and delays only their data.
	return append(figs, figures.Figure{
		What: "ls -A -o name --no-headers: until the first row, without TCP's handshake", Value: fmt.Sprintf("%.2f s", took.Seconds()),
		Baseline: fmt.Sprintf("a round trip: %.2f s", longDistance.Seconds()), Is: math.Floor(took.Seconds() / longDistance.Seconds()), Unit: "round trips", Goal: 3,
	}), nil
}

// untilFirst returns the time until the first output of a program.
func (b *bench) untilFirst(program string, args ...string) (time.Duration, error) {
	cmd := exec.CommandContext(b.ctx, program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	_, err = bufio.NewReader(out).ReadString('\n')
	took := time.Since(start)
	// The rest does not matter.
	_, _ = cmd.Process.Kill(), cmd.Wait()
	if err != nil {
		return 0, fmt.Errorf("%s has printed nothing: %w", cmd, err)
	}
	return took, nil
}
